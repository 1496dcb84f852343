/** The mailer that the settings name, and the outbox of a demo. */

import * as v from "valibot";
import type { Outbox } from "../../adapters/mail/mod.ts";
import type { Mailer } from "../../lib/base/outbound/outbound.ts";
import { type Area, json, type Logger, named, open, route } from "../../lib/http/mod.ts";
import type { Config } from "../config.ts";

export const outboxPath = "/_outbox";

export interface MailService {
  readonly mailer: Mailer | null;
  /** The mailer of a demo without mail settings. */
  readonly outbox: Outbox | null;
  close(): Promise<void>;
}

/**
 * Opens the mailer that the settings name; a demo without one keeps its mails. The adapter is loaded only if it is used.
 *
 * @throws {Error} The package that SMTP needs is not installed.
 */
export async function openMail(
  { smtp, mailFrom, mailWebhook, mailWebhookSecret }: Config,
  { demo, logger }: { readonly demo: boolean; readonly logger: Logger },
): Promise<MailService> {
  const none: MailService = { mailer: null, outbox: null, close: async () => {} };
  if (smtp !== undefined && mailFrom !== undefined) {
    const { createSmtpMailer, requireNodemailer } = await import("../../adapters/mail/smtp.ts");
    await requireNodemailer();
    const mailer = createSmtpMailer({ url: smtp, from: mailFrom });
    return { ...none, mailer, close: async () => await mailer[Symbol.asyncDispose]() };
  }
  if (mailWebhook !== undefined && mailWebhookSecret !== undefined) {
    const { createWebhookMailer } = await import("../../adapters/mail/webhook.ts");
    return { ...none, mailer: createWebhookMailer({ url: mailWebhook, secret: mailWebhookSecret }) };
  }
  if (!demo) return none;
  const { createOutboxMailer } = await import("../../adapters/mail/deliveries.ts");
  const outbox = createOutboxMailer({
    onMail: ({ kind }) => logger.log("info", "mail_kept", { kind, path: outboxPath }),
  });
  return { ...none, mailer: outbox, outbox };
}

const KeptMailsSchema = v.object({
  mails: v.array(
    named(
      "KeptMail",
      v.object({
        at: v.pipe(v.number(), v.integer(), v.description("Unix seconds")),
        to: v.string(),
        kind: v.picklist([
          "passwordCode",
          "emailCode",
          "loginCode",
          "alreadyRegistered",
          "passwordChanged",
          "emailChanged",
          "exportCompleted",
          "exportPassword",
          "exportFailed",
          "authorCode",
        ]),
        subject: v.string(),
        text: v.string(),
        html: v.exactOptional(v.string()),
        code: v.exactOptional(v.pipe(v.string(), v.description("One-time code of the text"))),
        link: v.exactOptional(v.pipe(v.string(), v.description("Page that takes the code"))),
        project: v.exactOptional(v.object({ id: v.string(), name: v.string() })),
        locale: v.exactOptional(v.pipe(v.string(), v.description("Language that the client prefers"))),
      }),
    ),
  ),
});

/** Creates the area that shows the kept mails to everyone. Mails contain codes, so it is for demos only. */
export function outboxArea(outbox: Outbox): Area {
  const list = route({
    method: "GET",
    path: outboxPath,
    operation: "listOutbox",
    summary: "List the mails that the demo kept",
    description: "The newest mail comes first.",
    auth: open,
    responses: { 200: { description: "The mails", schema: KeptMailsSchema } },
    handle: () => json(200, { mails: outbox.list() }),
  });
  return { name: "outbox", family: "problem", routes: [list] };
}
