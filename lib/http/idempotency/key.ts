import { AppError } from "../../errors/mod.ts";

/** Longest idempotency key, in characters. */
export const idempotencyKeyCharsMax = 255;

/** A string of structured fields (RFC 9651, section 3.3.3). */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
/** What clients send that write no structured field. */
const bare = /^[!#-+\--:<-~]+$/;

/**
 * The key that a request names in `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07), or null where it names
 * none. The draft writes it in quotes; without them the same key is meant.
 *
 * @throws {AppError} `validation_failed`: the field holds no key of 1 to {@linkcode idempotencyKeyCharsMax} characters of
 *   visible ASCII and, in quotes, spaces.
 */
export function idempotencyKeyOf({ headers }: Request): string | null {
  const field = headers.get("idempotency-key");
  if (field === null) return null;
  const text = field.trim();
  const key = quoted.exec(text)?.[1]?.replace(/\\(.)/g, "$1") ?? (bare.test(text) ? text : "");
  if (key.length >= 1 && key.length <= idempotencyKeyCharsMax) return key;
  const detail = `Expected 1 to ${idempotencyKeyCharsMax} characters of visible ASCII, in quotes`;
  throw new AppError("validation_failed", "Cannot use the idempotency key", {
    fields: [{ pointer: "Idempotency-Key", detail }],
  });
}
