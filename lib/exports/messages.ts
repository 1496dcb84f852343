/**
 * What is told when a file is there: mails to people, an event with the link to the service of the organisation's settings, and an
 * announcement without it to the webhooks of the space.
 *
 * A message is marked as sent after it was sent, so it comes at least once; a process remembers what it has sent in case that
 * mark could not be written.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { Announcer } from "../ports/announcer.ts";
import type { Mail, Mailer } from "../ports/mailer.ts";
import type { WebhookSender } from "../ports/webhook_sender.ts";
import type { HeldJob } from "./held_job.ts";
import type { ExportJob, ExportNotice, Message } from "./job.ts";
import type { ExportAddress } from "./places.ts";
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

/** Tells that files are there. */
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
  const { job, message, password } = delivery;
  if (message.kind === "webhook") return await sendEvent(options, delivery);
  if (message.kind === "announcement") return await announce(options, job);
  if (options.mailer === undefined) throw new AppError("not_available", "Cannot send mail without a mailer");
  const mail =
    message.kind === "password"
      ? passwordMail(message.to, job, password ?? "")
      : linkMail(message.to, job, {
          link: options.linkOf(job),
          password: message.hasPassword ? password : null,
        });
  await options.mailer.send(mail);
}

/** The name of the event. */
const completedEvent = "exportCompleted";

/** The event, which the organisation's settings of now decide about. */
async function sendEvent(options: MessengerOptions, { job, password }: Delivery): Promise<void> {
  const { organisationId, result } = job;
  const { webhook } = await options.settings(organisationId);
  if (webhook === null || options.webhooks === undefined || result === null) return;
  await options.webhooks.send({
    url: webhook.url,
    key: options.webhookKey(organisationId),
    id: eventId(job),
    type: `audience.${completedEvent}`,
    at: result.completedAt,
    data: {
      organisationId,
      ...factsOf(job),
      downloadUrl: options.linkOf(job),
      ...(webhook.includePassword && password !== null ? { password } : {}),
    },
  });
}

/** What is announced may be kept by others for weeks: neither link nor password is a part of it. */
async function announce({ announcer }: MessengerOptions, job: ExportJob): Promise<void> {
  const { organisationId, request, result } = job;
  if (result === null) return;
  await announcer?.announce({
    organisationId,
    spaceId: request.spaceId,
    id: eventId(job),
    event: completedEvent,
    at: result.completedAt,
    data: factsOf(job),
  });
}

function eventId({ exportId }: ExportJob): string {
  return `${exportId}:completed`;
}

function factsOf({ exportId, request, result, expiresAt }: ExportJob): Readonly<Record<string, unknown>> {
  const { completedAt = 0, ...file } = result ?? {};
  return {
    exportId,
    format: request.format,
    encrypted: request.encrypt,
    ...file,
    completedAt: new Date(completedAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
  };
}

interface Link {
  readonly link: string;
  readonly password: string | null;
}

function linkMail(to: string, job: ExportJob, { link, password }: Link): Mail {
  const { exportId, result, request, expiresAt } = job;
  return {
    to,
    kind: "exportCompleted",
    subject: "Your export is ready",
    text: lines([
      `The export ${exportId} is ready: ${result?.rowCount ?? 0} users, ${result?.fileSize ?? 0} bytes.`,
      `Download it until ${new Date(expiresAt).toISOString()}:\n${link}`,
      passwordLine(request.encrypt, password),
      "Whoever has this link can download the file: do not pass it on.",
    ]),
  };
}

function passwordLine(isEncrypted: boolean, password: string | null): string {
  if (!isEncrypted) return "The file is not encrypted.";
  return password === null ? "Its password comes another way." : `Its password is ${password}`;
}

function passwordMail(to: string, { exportId }: ExportJob, password: string): Mail {
  return {
    to,
    kind: "exportPassword",
    subject: "The password of an export",
    text: lines([
      `The password of the export ${exportId} is ${password}`,
      "The link to the file was sent to whoever asked for it.",
    ]),
  };
}

function lines(paragraphs: readonly string[]): string {
  return `${paragraphs.join("\n\n")}\n`;
}
