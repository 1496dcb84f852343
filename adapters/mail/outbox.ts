import type { Mail, Mailer } from "../../lib/outbound/mailer.ts";

/** Mails that an outbox keeps where nothing else is said. */
export const outboxMailsMaxDefault = 100;

/** A mail that was kept. */
export interface KeptMail extends Mail {
  /** When, in Unix seconds. */
  readonly at: number;
}

/** Keeps mails for developers, and sends none. */
export interface Outbox extends Mailer {
  /** The newest mail first. */
  list(): readonly KeptMail[];
}

/** How an outbox keeps mails. */
export interface OutboxOptions {
  /** Mails that are kept; an older one gives way to each further one. @default {@linkcode outboxMailsMaxDefault} */
  readonly mailsMax?: number;
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
  /** Told of every mail, but not what it says. */
  readonly onMail?: (mail: Pick<KeptMail, "at" | "kind">) => void;
}

/** Creates an outbox in memory: mails hold codes, so it is for development only. */
export function createOutboxMailer(options: OutboxOptions = {}): Outbox {
  const { mailsMax = outboxMailsMaxDefault, clock = Date.now, onMail } = options;
  const mails: KeptMail[] = [];
  return {
    async send({ to, kind, subject, text }) {
      const at = Math.floor(clock() / 1000);
      mails.unshift({ at, to, kind, subject, text });
      mails.splice(mailsMax);
      onMail?.({ at, kind });
    },
    list: () => [...mails],
  };
}
