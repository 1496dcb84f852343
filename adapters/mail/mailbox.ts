/**
 * Unambiguous addresses and subjects: an address is one mailbox, and a subject cannot end its header.
 *
 * @module
 */

import type { Mail } from "../../lib/base/outbound/mailer.ts";
import { MailError } from "./deliveries.ts";

/** Longest e-mail address, in UTF-16 units (RFC 5321, section 4.5.3.1.3). */
const addressUnitsMax = 254;
/** Longest name of a sender, in UTF-16 units. */
const senderNameUnitsMax = 200;

/** A sender, as mail programs show it. */
export interface Mailbox {
  /** Empty if there is none. */
  readonly name: string;
  readonly address: string;
}

/**
 * Parses `Name <address>` and `address`.
 *
 * @throws {TypeError} The text is neither.
 */
export function parseMailbox(text: string): Mailbox {
  const [, name = "", bracketed, bare] = /^(?:([^<>]*)<([^<>]*)>|([^<>]*))$/.exec(text.trim()) ?? [];
  const address = bracketed ?? bare ?? "";
  const shownName = name.trim().replace(/^"(.*)"$/, "$1");
  if (!isOneAddress(address) || hasControls(shownName) || shownName.length > senderNameUnitsMax) {
    throw new TypeError("Cannot send mail from there: expected an address, or Name <address>");
  }
  return { name: shownName, address };
}

/**
 * Refuses mails that a server could read as having several recipients or further headers.
 *
 * @throws {MailError} `invalid_mail`.
 */
export function checkMail({ to, subject }: Mail): void {
  if (!isOneAddress(to)) throw new MailError("invalid_mail", "the recipient is not one plain address");
  if (hasControls(subject)) throw new MailError("invalid_mail", "the subject holds control characters");
}

/** Returns true for one address without name, comment, quotes or list. */
function isOneAddress(text: string): boolean {
  return (
    text.length <= addressUnitsMax &&
    text.isWellFormed() &&
    !hasControls(text) &&
    /^[^\s@<>()[\]\\,;:"]+@[^\s@<>()[\]\\,;:"]+$/u.test(text)
  );
}

function hasControls(text: string): boolean {
  return /[\p{Cc}\u2028\u2029]/u.test(text);
}
