/**
 * Addresses and subjects that mean one thing only: an address is one mailbox, and nothing ends a header.
 *
 * @module
 */

import type { Mail } from "../../lib/outbound/mailer.ts";
import { MailError } from "./mail_error.ts";

/** Longest e-mail address, in UTF-16 units (RFC 5321, section 4.5.3.1.3). */
export const addressUnitsMax = 254;
/** Longest name of a sender, in UTF-16 units. */
export const senderNameUnitsMax = 200;

/** Whose mail it is, as a reader's mail program shows it. */
export interface Mailbox {
  /** Empty where there is none. */
  readonly name: string;
  readonly address: string;
}

/**
 * Understands `Name <address>` and `address`.
 *
 * @throws {TypeError} It is neither.
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
 * Refuses what a mail server, or whoever is behind a hook, could read as several addresses or headers.
 *
 * @throws {MailError} `invalid_mail`.
 */
export function checkMail({ to, subject }: Mail): void {
  if (!isOneAddress(to)) throw new MailError("invalid_mail", "the recipient is not one plain address");
  if (hasControls(subject)) throw new MailError("invalid_mail", "the subject holds control characters");
}

/** Whether a text is one address without a name, comments, quotes and lists, whatever reads it. */
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
