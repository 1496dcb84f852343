/**
 * Mail by a webhook: a signed POST in the format of Standard Webhooks to a service that sends it.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */

import type { Mail, Mailer } from "../../lib/base/outbound/outbound.ts";
import { webhookHeaders } from "../../lib/base/outbound/outbound.ts";
import { checkMail, type DelayTimer, Deliveries, MailError, processTimer } from "./deliveries.ts";

const secretBytesMin = 24;
const secretBytesMax = 64;

/** Options of {@linkcode createWebhookMailer}. */
export interface WebhookMailerOptions {
  /** An http or https URL without credentials. */
  readonly url: string;
  /** `whsec_` and 24 to 64 random bytes in Base64; the receiver verifies mails with it. */
  readonly secret: string;
  /** Generates the id of a mail, the same in both attempts. @default crypto.randomUUID */
  readonly newId?: () => string;
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** @default the timer of the process */
  readonly timer?: DelayTimer;
}

/**
 * Creates a mailer that posts `{type: "mail.<kind>", timestamp, data: {to, kind, subject, text, html?, code?, link?, project?, sender?, locale?}}`, signed with
 * HMAC-SHA-256 over `id.timestamp.body` in the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Any 2xx
 * accepts the mail. Redirects are not followed. 429, 5xx and a lost connection are retried once under the same id.
 * `send` rejects with a {@linkcode MailError}.
 *
 * @throws {TypeError} The URL or the secret is invalid.
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
  const { newId = () => crypto.randomUUID(), clock = Date.now, timer = processTimer } = options;
  const deliveries = new Deliveries(timer);
  return {
    async send(mail) {
      checkMail(mail);
      const id = `msg_${newId()}`;
      const body = bodyOf(mail, clock());
      await deliveries.run(async signal => {
        const timestamp = Math.floor(clock() / 1000);
        const headers = await webhookHeaders([secret], { id, timestamp, body });
        await post(url, { method: "POST", headers, body, redirect: "manual", signal });
      });
    },
  };
}

/**
 * Checks the URL of a webhook.
 *
 * @throws {TypeError} It is not an http or https URL, or has credentials. The message does not repeat it.
 */
export function parseWebhookUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new TypeError(
      "Cannot use the URL of the webhook: expected an http or https URL without credentials",
    );
  }
  return url.href;
}

/**
 * Decodes the secret of a webhook.
 *
 * @throws {TypeError} It is not in the format of Standard Webhooks. The message does not repeat it.
 */
export function parseWebhookSecret(text: string): Uint8Array<ArrayBuffer> {
  const encoded = text.replace(/^whsec_/, "");
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded);
  const bytes = Uint8Array.from(isBase64 ? atob(encoded) : "", char => char.charCodeAt(0));
  if (bytes.length < secretBytesMin || bytes.length > secretBytesMax) {
    const range = `${secretBytesMin} to ${secretBytesMax}`;
    throw new TypeError(`Cannot use the secret of the webhook: expected whsec_ and ${range} bytes in Base64`);
  }
  return bytes;
}

function bodyOf(mail: Mail, now: number): string {
  const timestamp = new Date(now).toISOString();
  const { to, kind, subject, text, html, code, link, project, sender, locale } = mail;
  const data = { to, kind, subject, text, html, code, link, project, sender, locale };
  return JSON.stringify({ type: `mail.${kind}`, timestamp, data });
}

async function post(url: string, init: RequestInit): Promise<void> {
  const response = await fetch(url, init).catch(lostConnection);
  // Only the status matters.
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
