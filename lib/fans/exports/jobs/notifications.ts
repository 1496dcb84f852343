/**
 * Notifications about finished and failed exports: mails to people, an event with the link to the service that the organisation's
 * settings name, and an event without link and password to the webhooks of the space.
 *
 * A notification is removed from the job after it was sent, so each is delivered at least once. A process remembers what it has
 * sent in case that removal fails.
 */

import type { Clock, Keys } from "../../../auth/mod.ts";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Announcer, Mail, Mailer, WebhookSender } from "../../../base/outbound/outbound.ts";
import type { Logger } from "../../../http/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import type { ExportLease } from "./export_lease.ts";
import { type ExportFault, type ExportJob, type ExportNotification, publicFault } from "./job.ts";
import type { ExportRecipients, ExportSettings } from "./settings.ts";

const triesMax = 8;
/** Pause after the first attempt, in ms; it doubles with each. */
const firstPauseMs = 60_000;
/** Most sent notifications that a process remembers. */
const rememberedMax = 10_000;

interface NotifierOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined: no mail is sent. */
  readonly mailer?: Mailer | undefined;
  /** Undefined: no event is sent to the service of the settings. */
  readonly webhooks?: WebhookSender | undefined;
  /** Undefined: no event is sent to the webhooks of spaces. */
  readonly announcer?: Announcer | undefined;
  /** Returns the key that signs an organisation's events. */
  readonly webhookKeys: (organisationId: string) => Keys;
  readonly settings: (organisationId: string) => Promise<ExportSettings>;
  /** Returns the link to a file, valid until the export expires. */
  readonly linkOf: (job: ExportJob) => string;
}

/** A notification about a job. The password is null if there is none. */
interface Outgoing {
  readonly job: ExportJob;
  readonly notification: ExportNotification;
  readonly password: string | null;
}

export class Notifier {
  readonly #options: NotifierOptions;
  readonly #sent = new Cache<true>({ entriesMax: rememberedMax });

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** Lists the notifications that a job is to send. */
  async notificationsFor(
    { organisationId, request }: ExportJob,
    { hasPassword }: { readonly hasPassword: boolean },
  ): Promise<readonly ExportNotification[]> {
    const { mailer, webhooks, announcer } = this.#options;
    const { notify, webhook } = await this.#options.settings(organisationId);
    const event = { to: "", hasPassword: false, tries: 0 } as const;
    return [
      ...(mailer === undefined ? [] : mailsFor(request.notify ?? notify, hasPassword)),
      ...(webhook === null || webhooks === undefined ? [] : [{ kind: "webhook", ...event } as const]),
      ...(announcer === undefined ? [] : [{ kind: "announcement", ...event } as const]),
    ];
  }

  /** Attempts each pending notification once, and stores which are still pending. @throws {LeaseLost} */
  async send(lease: ExportLease, password: string | null): Promise<void> {
    for (const notification of lease.job.messages) {
      const isSent = await this.#attempt({ job: lease.job, notification, password });
      const tries = notification.tries + 1;
      const others = lease.job.messages.filter(({ kind }) => kind !== notification.kind);
      await lease.save({
        messages: isSent || tries >= triesMax ? others : [{ ...notification, tries }, ...others],
        nextAt: this.#options.clock() + firstPauseMs * 2 ** notification.tries,
      });
    }
  }

  async #attempt(outgoing: Outgoing): Promise<boolean> {
    const { exportId } = outgoing.job;
    const { kind } = outgoing.notification;
    const name = `${exportId} ${kind}`;
    if (this.#sent.get(name) === true) return true;
    try {
      await this.#deliver(outgoing);
    } catch (error) {
      this.#options.logger.log("warn", "export_notification_failed", {
        exportId,
        kind,
        error: String(error),
      });
      return false;
    }
    this.#sent.set(name, true);
    return true;
  }

  async #deliver(outgoing: Outgoing): Promise<void> {
    const { kind } = outgoing.notification;
    if (kind === "webhook") return await this.#sendEvent(outgoing);
    if (kind === "announcement") return await this.#announce(outgoing.job);
    const { mailer } = this.#options;
    if (mailer === undefined) throw new AppError("not_available", "Cannot send mail without a mailer");
    await mailer.send(this.#mail(outgoing));
  }

  #mail({ job, notification: { to, kind, hasPassword }, password }: Outgoing): Mail {
    if (job.error !== null) return failedMail(to, job.exportId, job.error);
    if (kind === "password") return passwordMail(to, job, password ?? "");
    return linkMail(to, job, { link: this.#options.linkOf(job), password: hasPassword ? password : null });
  }

  /** Sends the event with the link to the service that the settings name now. */
  async #sendEvent({ job, password }: Outgoing): Promise<void> {
    const { settings, webhooks, webhookKeys, linkOf } = this.#options;
    const { organisationId } = job;
    const { webhook } = await settings(organisationId);
    const event = eventOf(job);
    if (webhook === null || webhooks === undefined || event === null) return;
    const [key, ...otherKeys] = webhookKeys(organisationId);
    const secrets = {
      downloadUrl: linkOf(job),
      ...(webhook.includePassword && password !== null ? { password } : {}),
    };
    await webhooks.send({
      url: webhook.url,
      key,
      otherKeys,
      id: event.id,
      type: `audience.${event.event}`,
      at: event.at,
      data: { organisationId, ...event.data, ...(event.event === "exportCompleted" ? secrets : {}) },
    });
  }

  /** Sends the event to the webhooks of the space, which may keep it for weeks: it has neither link nor password. */
  async #announce(job: ExportJob): Promise<void> {
    const event = eventOf(job);
    if (event === null) return;
    const { organisationId, request } = job;
    await this.#options.announcer?.announce({
      organisationId,
      spaceId: request.spaceId,
      area: "audience",
      ...event,
    });
  }
}

function mailsFor(recipients: ExportRecipients | null, hasPassword: boolean): readonly ExportNotification[] {
  if (recipients === null) return [];
  const { email, passwordEmail } = recipients;
  const mail: ExportNotification = {
    kind: "mail",
    to: email,
    hasPassword: hasPassword && passwordEmail === undefined,
    tries: 0,
  };
  if (!hasPassword || typeof passwordEmail !== "string") return [mail];
  return [mail, { kind: "password", to: passwordEmail, hasPassword: true, tries: 0 }];
}

/** An event for services. Its id is the same in every attempt. */
interface ExportEvent {
  readonly id: string;
  readonly event: "exportCompleted" | "exportFailed";
  /** Unix ms. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Returns the event of a job; null while it is neither completed nor failed. */
function eventOf({ exportId, request, result, error, failedAt, expiresAt }: ExportJob): ExportEvent | null {
  const facts = { exportId, format: request.format, encrypted: request.encrypt };
  if (result !== null) {
    const { completedAt: at, ...file } = result;
    const times = { completedAt: isoTime(at), expiresAt: isoTime(expiresAt) };
    return {
      id: `${exportId}:completed`,
      event: "exportCompleted",
      at,
      data: { ...facts, ...file, ...times },
    };
  }
  if (error === null || failedAt === undefined) return null;
  return {
    id: `${exportId}:failed`,
    event: "exportFailed",
    at: failedAt,
    data: { ...facts, failedAt: isoTime(failedAt), error: publicFault(error) },
  };
}

/** Writes the mail about a finished file. Its password is null if the mail must not contain it. */
function linkMail(
  to: string,
  { exportId, result, request, expiresAt }: ExportJob,
  { link, password }: { readonly link: string; readonly password: string | null },
): Mail {
  return {
    to,
    kind: "exportCompleted",
    subject: "Your export is ready",
    text: paragraphs([
      `The export ${exportId} is ready: ${result?.rowCount ?? 0} users, ${result?.fileSize ?? 0} bytes.`,
      `Download it until ${isoTime(expiresAt)}:\n${link}`,
      passwordLine(request.encrypt, password),
      "Anyone with this link can download the file: do not forward it.",
    ]),
  };
}

function passwordLine(isEncrypted: boolean, password: string | null): string {
  if (!isEncrypted) return "The file is not encrypted.";
  return password === null ? "Its password is sent separately." : `Its password is ${password}`;
}

/** Writes the mail with the password only. */
function passwordMail(to: string, { exportId }: ExportJob, password: string): Mail {
  return {
    to,
    kind: "exportPassword",
    subject: "The password of an export",
    text: paragraphs([
      `The password of the export ${exportId} is ${password}`,
      "The link to the file was sent in another mail.",
    ]),
  };
}

function failedMail(to: string, exportId: string, fault: ExportFault): Mail {
  return {
    to,
    kind: "exportFailed",
    subject: "Your export failed",
    text: paragraphs([
      `The export ${exportId} failed: there is no file.`,
      `The reason: ${publicFault(fault).message}`,
    ]),
  };
}

function paragraphs(texts: readonly string[]): string {
  return `${texts.join("\n\n")}\n`;
}
