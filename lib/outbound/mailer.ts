/**
 * The port through which mail leaves the platform.
 *
 * @module
 */

/** One message to one person. */
export interface Mail {
  /** The address, as its owner wrote it. */
  readonly to: string;
  /** Why it is sent, so that an adapter may choose a template of its own. */
  readonly kind:
    | "passwordCode"
    | "alreadyRegistered"
    | "passwordChanged"
    | "emailChanged"
    | "exportCompleted"
    | "exportPassword"
    | "exportFailed";
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

/** Sends mail. */
export interface Mailer {
  /** Resolves once the message was accepted for delivery, rejects where it was not. */
  send(mail: Mail): Promise<void>;
}
