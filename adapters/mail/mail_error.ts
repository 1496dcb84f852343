/**
 * Why a mail was not accepted: the mail itself (`invalid_mail`), no connection to the server or hook (`unreachable`), its
 * answer (`refused`), no answer in time (`timeout`), or too many mails waiting (`busy`).
 */
export type MailErrorCode = "invalid_mail" | "unreachable" | "refused" | "timeout" | "busy";

/** A mail that was not accepted. The message holds neither addresses nor contents nor credentials, so that it can be logged. */
export class MailError extends Error {
  override readonly name = "MailError";
  readonly code: MailErrorCode;
  /** Whether the same mail may be accepted a moment later, and sending it again delivers it once. */
  readonly retryable: boolean;

  constructor(code: MailErrorCode, reason: string, options: { readonly retryable?: boolean } = {}) {
    super(`Cannot send mail: ${reason}`);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}
