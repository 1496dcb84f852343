/**
 * The entity tag of a profile: its version, and what else the document shows.
 *
 * A profile shows more than is changed through it: points, challenges, unread notifications. So the tag has two parts. A
 * client that has the document is sent nothing where both are the same. A change with `If-Match` asks for the version alone,
 * because points that came in meanwhile are no reason to refuse another name.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, utf8 } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { preconditionCharsMax } from "../../http/mod.ts";

/** How much of the digest a tag has, in bytes. */
const digestBytes = 12;

/** The tag of a profile of that version that is shown as this text. */
export function profileTag(version: string, text: string): string {
  return `"v${version}-${base64url(sha256(utf8(text)).subarray(0, digestBytes))}"`;
}

/** Admits a request's change where it has no `If-Match`, or one that names the version or is `*`. */
export function versionAdmission(request: Request): ((version: number) => void) | undefined {
  const list = request.headers.get("if-match");
  if (list === null || list.trim() === "*") return undefined;
  const tags = list.length > preconditionCharsMax ? [] : (list.match(/(?:W\/)?"[^"]*"/g) ?? []);
  return version => {
    if (tags.some(tag => /^"v(\d+)[-"]/.exec(tag)?.[1] === String(version))) return;
    throw new AppError("precondition_failed", "Cannot change the profile: it has changed since it was read");
  };
}
