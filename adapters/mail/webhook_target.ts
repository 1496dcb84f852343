/**
 * Where a webhook is, and what it is signed with.
 *
 * @module
 */

/** Shortest secret of a webhook, in bytes behind its Base64. */
export const webhookSecretBytesMin = 24;
/** Longest secret of a webhook, in bytes behind its Base64. */
export const webhookSecretBytesMax = 64;

/**
 * Checks where mails are posted to.
 *
 * @throws {TypeError} It is no http or https URL, or it holds credentials. The message does not repeat it.
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
 * The bytes of a webhook's secret.
 *
 * @throws {TypeError} It is not in the format of Standard Webhooks. The message does not repeat it.
 */
export function parseWebhookSecret(text: string): Uint8Array<ArrayBuffer> {
  const encoded = text.replace(/^whsec_/, "");
  const isBase64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(encoded);
  const bytes = Uint8Array.from(isBase64 ? atob(encoded) : "", char => char.charCodeAt(0));
  if (bytes.length < webhookSecretBytesMin || bytes.length > webhookSecretBytesMax) {
    const range = `${webhookSecretBytesMin} to ${webhookSecretBytesMax}`;
    throw new TypeError(`Cannot use the secret of the webhook: expected whsec_ and ${range} bytes in Base64`);
  }
  return bytes;
}
