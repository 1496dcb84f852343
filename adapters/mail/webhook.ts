/**
 * Mail for a service that sends it: a signed POST in the Standard Webhooks format.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 *
 * @module
 */

import type { Mail, Mailer } from "../../lib/outbound/mailer.ts";
import { webhookHeaders } from "../../lib/outbound/webhook_signature.ts";
import { type After, Deliveries, processTimer } from "./deliveries.ts";
import { MailError } from "./mail_error.ts";
import { checkMail } from "./mailbox.ts";
import { parseWebhookSecret, parseWebhookUrl } from "./webhook_target.ts";

/** How mail is handed to a webhook. */
export interface WebhookMailerOptions {
  /** An http or https URL without credentials. */
  readonly url: string;
  /** `whsec_` and 24 to 64 random bytes in Base64; whoever receives the mails verifies them with it. */
  readonly secret: string;
  /** Makes the id of a mail, the same in both attempts. @default crypto.randomUUID */
  readonly newId?: () => string;
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** @default the timer of the process */
  readonly after?: After;
}

/**
 * Creates a mailer that posts `{type: "mail.<kind>", timestamp, data: {to, kind, subject, text}}`, signed with
 * HMAC-SHA-256 over `id.timestamp.body` in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Any 2xx
 * accepts the mail, redirects are not followed; 429, 5xx and a lost connection are tried once more under the same id.
 * `send` rejects with a {@linkcode MailError}.
 *
 * @throws {TypeError} The URL or the secret is not usable.
 *
 * @example
 * ```ts
 * const mailer = createWebhookMailer({ url: "https://mail.example.org/hook", secret: "whsec_…" });
 * const platform = await createPlatform({ store, secret, mailer });
 * ```
 */
export function createWebhookMailer(options: WebhookMailerOptions): Mailer {
  const url = parseWebhookUrl(options.url);
  const secret = parseWebhookSecret(options.secret);
  const { newId = () => crypto.randomUUID(), clock = Date.now, after = processTimer } = options;
  const deliveries = new Deliveries(after);
  return {
    async send(mail) {
      checkMail(mail);
      const id = `msg_${newId()}`;
      const body = bodyOf(mail, clock());
      await deliveries.run(async signal => {
        const timestamp = Math.floor(clock() / 1000);
        const headers = await webhookHeaders(secret, { id, timestamp, body });
        await post(url, { method: "POST", headers, body, redirect: "manual", signal });
      });
    },
  };
}

function bodyOf({ to, kind, subject, text }: Mail, now: number): string {
  const timestamp = new Date(now).toISOString();
  return JSON.stringify({ type: `mail.${kind}`, timestamp, data: { to, kind, subject, text } });
}

async function post(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init).catch(lostConnection);
  // The status decides; what becomes of the rest of the answer does not.
  await response.body?.cancel().catch(() => {});
  const { ok, status } = response;
  if (ok) return;
  throw new MailError("refused", `the webhook answered ${status}`, {
    retryable: status === 429 || status >= 500,
  });
}

function lostConnection(error: unknown): never {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "no connection";
  throw new MailError("unreachable", `the webhook cannot be reached: ${code}`, { retryable: true });
}
