/**
 * What is told when a file is there, or could not be made: mails to people, an event with the link to the service of the
 * organisation's settings, and an announcement without it to the webhooks of the space.
 *
 * A message is marked as sent after it was sent, so it comes at least once; a process remembers what it has sent in case that
 * mark could not be written.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Announcer } from "../../outbound/announcer.ts";
import type { Mail, Mailer } from "../../outbound/mailer.ts";
import type { WebhookSender } from "../../outbound/webhook_sender.ts";
import type { HeldJob } from "./export_lease.ts";
import { toldFault } from "./faults.ts";
import type { ExportJob, ExportNotice, Message } from "./job.ts";
import { failedMail, linkMail, passwordMail } from "./mails.ts";
import type { ExportAddress } from "./partitions.ts";
import type { ExportSettings } from "./settings.ts";

/** How often a message is tried. */
export const messageTriesMax = 8;
/** Pause after the first try, in ms; each further one is twice as long. */
export const messagePauseMs = 60_000;
/** Most sent messages that a process remembers. */
export const sentMessagesMax = 10_000;

/** What telling needs. */
export interface MessengerOptions {
  readonly clock: Clock;
  /** Undefined: mail goes nowhere, and nobody is promised any. */
  readonly mailer?: Mailer | undefined;
  readonly webhooks?: WebhookSender | undefined;
  /** Tells the webhooks of spaces. Undefined: they are told nothing. */
  readonly announcer?: Announcer | undefined;
  /** The bytes that an organisation's messages are signed with. */
  readonly webhookKey: (organisationId: string) => Uint8Array;
  readonly settings: (organisationId: string) => Promise<ExportSettings>;
  /** The link that is good for as long as the export. */
  readonly linkOf: (job: ExportJob) => string;
  /** Told of a message that was not taken. */
  readonly onFailed: (address: ExportAddress, kind: Message["kind"], error: unknown) => void;
}

/** Tells that files are there, or will not be. */
export interface Messenger {
  /** Who is to be told of an export. */
  messagesFor(
    organisationId: string,
    notice: ExportNotice | null,
    isEncrypted: boolean,
  ): Promise<readonly Message[]>;
  /** Tries every message that waits once, and stores which ones still do. @throws {LeaseLost} */
  send(held: Pick<HeldJob, "job" | "save">, password: string | null): Promise<void>;
}

/** Creates the messenger of a process. */
export function createMessenger(options: MessengerOptions): Messenger {
  const sent = new Set<string>();

  async function trySend(job: ExportJob, message: Message, password: string | null): Promise<boolean> {
    const name = `${job.exportId} ${message.kind}`;
    if (sent.has(name)) return true;
    try {
      await deliver(options, { job, message, password });
    } catch (error) {
      options.onFailed(job, message.kind, error);
      return false;
    }
    sent.add(name);
    const [oldest] = sent;
    if (oldest !== undefined && sent.size > sentMessagesMax) sent.delete(oldest);
    return true;
  }

  return {
    async messagesFor(organisationId, notice, isEncrypted) {
      const { notify, webhook } = await options.settings(organisationId);
      const mails = options.mailer === undefined ? [] : mailsFor(notice ?? notify, isEncrypted);
      const event = { to: "", hasPassword: false, tries: 0 } as const;
      const isToldService = webhook !== null && options.webhooks !== undefined;
      return [
        ...mails,
        ...(isToldService ? [{ kind: "webhook", ...event } as const] : []),
        ...(options.announcer === undefined ? [] : [{ kind: "announcement", ...event } as const]),
      ];
    },
    async send(held, password) {
      for (const one of held.job.messages) {
        const isDone = (await trySend(held.job, one, password)) || one.tries + 1 >= messageTriesMax;
        const rest = held.job.messages.filter(({ kind }) => kind !== one.kind);
        const tried = isDone ? [] : [{ ...one, tries: one.tries + 1 }];
        await held.save({
          messages: [...tried, ...rest],
          nextAt: options.clock() + messagePauseMs * 2 ** one.tries,
        });
      }
    },
  };
}

function mailsFor(notice: ExportNotice | null, isEncrypted: boolean): readonly Message[] {
  if (notice === null) return [];
  const { email, passwordEmail } = notice;
  const link: Message = {
    kind: "mail",
    to: email,
    hasPassword: isEncrypted && passwordEmail === undefined,
    tries: 0,
  };
  if (!isEncrypted || typeof passwordEmail !== "string") return [link];
  return [link, { kind: "password", to: passwordEmail, hasPassword: true, tries: 0 }];
}

interface Delivery {
  readonly job: ExportJob;
  readonly message: Message;
  readonly password: string | null;
}

async function deliver(options: MessengerOptions, delivery: Delivery): Promise<void> {
  const { job, message } = delivery;
  if (message.kind === "webhook") return await sendEvent(options, delivery);
  if (message.kind === "announcement") return await announce(options, job);
  if (options.mailer === undefined) throw new AppError("not_available", "Cannot send mail without a mailer");
  await options.mailer.send(mailOf(options, delivery));
}

function mailOf({ linkOf }: MessengerOptions, { job, message, password }: Delivery): Mail {
  const { to, kind, hasPassword } = message;
  if (job.error !== null) return failedMail(to, job.exportId, job.error);
  if (kind === "password") return passwordMail(to, job, password ?? "");
  return linkMail(to, job, { link: linkOf(job), password: hasPassword ? password : null });
}

/** What happened to an export, as services are told it. */
interface ExportEvent {
  /** The same in every try. */
  readonly id: string;
  readonly event: "exportCompleted" | "exportFailed";
  /** Unix ms. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The event, which the organisation's settings of now decide about. */
async function sendEvent(options: MessengerOptions, { job, password }: Delivery): Promise<void> {
  const { organisationId } = job;
  const { webhook } = await options.settings(organisationId);
  const happened = eventOf(job);
  if (webhook === null || options.webhooks === undefined || happened === null) return;
  const { id, event, at, data } = happened;
  const secrets = {
    downloadUrl: options.linkOf(job),
    ...(webhook.includePassword && password !== null ? { password } : {}),
  };
  await options.webhooks.send({
    url: webhook.url,
    key: options.webhookKey(organisationId),
    id,
    type: `audience.${event}`,
    at,
    data: { organisationId, ...data, ...(event === "exportCompleted" ? secrets : {}) },
  });
}

/** What is announced may be kept by others for weeks: neither link nor password is a part of it. */
async function announce({ announcer }: MessengerOptions, job: ExportJob): Promise<void> {
  const { organisationId, request } = job;
  const happened = eventOf(job);
  if (happened !== null) {
    await announcer?.announce({ organisationId, spaceId: request.spaceId, ...happened });
  }
}

/** Null while the export is neither completed nor failed. */
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
    data: { ...facts, failedAt: isoTime(failedAt), error: toldFault(error) },
  };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
