/**
 * Mailers: over SMTP, to a signed webhook, and an outbox for development.
 *
 * ```ts
 * const mailer = createSmtpMailer({ url: "smtps://user:password@mail.example.org", from: "no-reply@example.org" });
 * const platform = await createPlatform({ store, secret, mailer });
 * ```
 *
 * @module
 */

export type { Mail, Mailer } from "../../lib/outbound/mailer.ts";
export { type After, mailsUnderWayMax, retryPauseMs, sendMsMax } from "./deliveries.ts";
export { MailError, type MailErrorCode } from "./mail_error.ts";
export { addressUnitsMax, type Mailbox, parseMailbox, senderNameUnitsMax } from "./mailbox.ts";
export {
  createOutboxMailer,
  type KeptMail,
  type Outbox,
  type OutboxOptions,
  outboxMailsMaxDefault,
} from "./outbox.ts";
export {
  createSmtpMailer,
  mailsPerConnectionMax,
  type SmtpMailer,
  type SmtpMailerOptions,
  smtpConnectionsMax,
} from "./smtp.ts";
export { implicitTlsPort, parseSmtpUrl, type SmtpServer, submissionPort } from "./smtp_url.ts";
export { createWebhookMailer, type WebhookMailerOptions } from "./webhook.ts";
export {
  parseWebhookSecret,
  parseWebhookUrl,
  webhookSecretBytesMax,
  webhookSecretBytesMin,
} from "./webhook_target.ts";
