import type { Mail, Mailer } from "../../lib/base/outbound/mailer.ts";

export interface KeptMail extends Mail {
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
