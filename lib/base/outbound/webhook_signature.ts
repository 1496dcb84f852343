/**
 * Signatures of webhooks.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 *
 * @module
 */

/** The parts of a webhook that its signature covers. */
export interface SignedWebhook {
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the headers of a webhook in the Standard Webhooks format, signed with HMAC-SHA-256. */
export async function webhookHeaders(
  key: Uint8Array,
  { id, timestamp, body }: SignedWebhook,
): Promise<Record<string, string>> {
  const imported = await crypto.subtle.importKey(
    "raw",
    Uint8Array.from(key),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", imported, signed));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": `v1,${btoa(String.fromCharCode(...signature))}`,
  };
}

/** Formats a key for the receivers of webhooks: `whsec_` and the bytes in Base64. */
export function webhookSecretText(key: Uint8Array): string {
  return `whsec_${btoa(String.fromCharCode(...key))}`;
}
