/**
 * The port through which mail leaves the platform.
 *
 * @module
 */

/** One message to one person. */
export interface Mail {
  /** The address as the user entered it. */
  readonly to: string;
  /** The reason for the mail, by which an adapter can choose a template. */
  readonly kind:
    | "passwordCode"
    | "emailCode"
    | "alreadyRegistered"
    | "passwordChanged"
    | "emailChanged"
    | "exportCompleted"
    | "exportPassword"
    | "exportFailed"
    | "authorCode";
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** The one-time code of the text, for a template of your own. */
  readonly code?: string;
  /** The project of the user. */
  readonly project?: { readonly id: string; readonly name: string };
  /** The language that the client of the request prefers, a BCP 47 tag such as `es-ES`. */
  readonly locale?: string;
}

/** Sends mail. */
export interface Mailer {
  /** Resolves once the message is accepted for delivery; rejects if it is not. */
  send(mail: Mail): Promise<void>;
}
