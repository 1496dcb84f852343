/**
 * Delivery of mails by any transport: one time limit, a second attempt after a transient failure, and a bound on pending
 * mails.
 */

import { clearTimeout, setTimeout } from "node:timers";
import type { Mail, Mailer } from "../../lib/base/outbound/outbound.ts";

/** Longest time that a mail may take, with both attempts, in ms. */
const sendMsMax = 20_000;
/** Pause before the second attempt, in ms. */
const retryPauseMs = 3_000;
/** Most mails that a mailer sends at the same time; one more is refused as `busy`. */
const pendingMax = 1_000;

/**
 * Reason why a mail was not accepted: the mail itself (`invalid_mail`), no connection (`unreachable`), the answer of the server
 * (`refused`), no answer in time (`timeout`), or too many pending mails (`busy`).
 */
export type MailErrorCode = "invalid_mail" | "unreachable" | "refused" | "timeout" | "busy";

/** A mail that was not accepted. The message has no addresses, contents or credentials, so it can be logged. */
export class MailError extends Error {
  override readonly name = "MailError";
  readonly code: MailErrorCode;
  /** True if sending the same mail again may succeed and delivers it once. */
  readonly retryable: boolean;

  constructor(code: MailErrorCode, reason: string, options: { readonly retryable?: boolean } = {}) {
    super(`Cannot send mail: ${reason}`);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** Calls a function after a time in ms. Returns the function that cancels the call. */
export type DelayTimer = (ms: number, act: () => void) => () => void;

export function processTimer(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

export class Deliveries {
  readonly #timer: DelayTimer;
  #pending = 0;

  constructor(timer: DelayTimer) {
    this.#timer = timer;
  }

  /**
   * Attempts a delivery, and once more after a transient failure. The attempt must end when the signal is aborted.
   *
   * @throws {MailError} The error of the last attempt, `timeout` or `busy`.
   */
  async run(attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#pending >= pendingMax) {
      throw new MailError("busy", `${pendingMax} mails are pending`);
    }
    this.#pending++;
    const limit = new AbortController();
    const stopTimer = this.#timer(sendMsMax, () => limit.abort());
    try {
      await this.#attempt(attempt, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      throw new MailError("timeout", `it was not accepted within ${sendMsMax} ms`);
    } finally {
      stopTimer();
      this.#pending--;
    }
  }

  async #attempt(attempt: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      return await attempt(signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof MailError && error.retryable)) throw error;
    }
    await this.#pause(signal);
    await attempt(signal);
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopTimer = this.#timer(retryPauseMs, resolve);
      signal.addEventListener("abort", () => {
        stopTimer();
        reject(signal.reason);
      });
    });
  }
}

/** Longest e-mail address, in UTF-16 units (RFC 5321, section 4.5.3.1.3). */
const addressUnitsMax = 254;
const senderNameUnitsMax = 200;

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
export function checkMail({ to, subject, sender = "" }: Mail): void {
  if (!isOneAddress(to)) throw new MailError("invalid_mail", "the recipient is not one plain address");
  if (hasControls(subject)) throw new MailError("invalid_mail", "the subject holds control characters");
  if (hasControls(sender) || sender.length > senderNameUnitsMax)
    throw new MailError("invalid_mail", "the name of the sender is too long or holds control characters");
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

interface KeptMail extends Mail {
  /** Unix seconds. */
  readonly at: number;
}

/** Keeps mails for developers and sends none. */
export interface Outbox extends Mailer {
  /** Lists the mails, newest first. */
  list(): readonly KeptMail[];
}

/** Most mails; a further one replaces the oldest. */
const mailsMax = 100;

/** Options of {@linkcode createOutboxMailer}. */
export interface OutboxOptions {
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** Called with every mail, without its content. */
  readonly onMail?: (mail: Pick<KeptMail, "at" | "kind">) => void;
}

/** Creates an outbox in memory. Mails contain codes, so it is for development only. */
export function createOutboxMailer(options: OutboxOptions = {}): Outbox {
  const { clock = Date.now, onMail } = options;
  const mails: KeptMail[] = [];
  return {
    async send(mail) {
      const { kind } = mail;
      const at = Math.floor(clock() / 1000);
      mails.unshift({ at, ...mail });
      mails.splice(mailsMax);
      onMail?.({ at, kind });
    },
    list: () => [...mails],
  };
}
