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

export { createOutboxMailer, MailError, type Outbox, type OutboxOptions } from "./deliveries.ts";
export { createSmtpMailer, type SmtpMailer, type SmtpMailerOptions } from "./smtp.ts";
export { createWebhookMailer, type WebhookMailerOptions } from "./webhook.ts";
