import type { Outbox } from "../adapters/mail/mod.ts";
import type { Logger } from "../lib/http/mod.ts";
import type { Mailer } from "../lib/outbound/mailer.ts";
import { outboxPath } from "./_outbox.ts";
import type { Config } from "./config.ts";

/** Which way mail goes. */
export interface MailWay {
  /** Null where mail goes nowhere. */
  readonly mailer: Mailer | null;
  /** The mailer, where it is the outbox of a demo. */
  readonly outbox: Outbox | null;
  /** Closes what is open. */
  close(): Promise<void>;
}

/** Opens the way that the settings name; a demo without one keeps its mail. The adapter is loaded only where it is used. */
export async function openMail(
  { smtp, mailFrom, mailWebhook, mailWebhookSecret }: Config,
  { demo, logger }: { readonly demo: boolean; readonly logger: Logger },
): Promise<MailWay> {
  const nothingOpen = async (): Promise<void> => {};
  const nowhere: MailWay = { mailer: null, outbox: null, close: nothingOpen };
  if (smtp === undefined && mailWebhook === undefined && !demo) return nowhere;
  const { createOutboxMailer, createSmtpMailer, createWebhookMailer } = await import(
    "../adapters/mail/mod.ts"
  );
  if (smtp !== undefined && mailFrom !== undefined) {
    const mailer = createSmtpMailer({ url: smtp, from: mailFrom });
    return { mailer, outbox: null, close: async () => await mailer[Symbol.asyncDispose]() };
  }
  if (mailWebhook !== undefined && mailWebhookSecret !== undefined) {
    const mailer = createWebhookMailer({ url: mailWebhook, secret: mailWebhookSecret });
    return { ...nowhere, mailer };
  }
  const outbox = createOutboxMailer({
    onMail: ({ kind }) => logger.log("info", "mail_kept", { kind, path: outboxPath }),
  });
  return { mailer: outbox, outbox, close: nothingOpen };
}
