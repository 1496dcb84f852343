/** The mail that a platform sends in a test. */

import type { Mail, Mailer } from "../base/outbound/mailer.ts";

/** Keeps mail instead of sending it. */
export class Mailbox implements Mailer {
  #mails: Mail[] = [];

  async send(mail: Mail): Promise<void> {
    this.#mails.push(mail);
  }

  /** Mail in the order in which it was sent. */
  get mails(): readonly Mail[] {
    return this.#mails;
  }

  /** Returns the newest mail, to an address where one is named. @throws {Error} There is none. */
  last(to?: string): Mail {
    const mail = this.#mails.findLast(each => to === undefined || each.to === to);
    if (mail !== undefined) return mail;
    const sent = this.#mails.map(each => `${each.kind} to ${each.to}`).join(", ");
    throw new Error(
      `There is no mail${to === undefined ? "" : ` to ${to}`}: ${sent === "" ? "none was sent" : `sent were ${sent}`}. Mail leaves in the background: await kit.settle() first`,
    );
  }

  /** Returns the one-time code of the newest mail that has one, to an address where one is named. @throws {Error} None has. */
  code(to?: string): string {
    const coded = this.#mails.findLast(mail => mail.code !== undefined && (to ?? mail.to) === mail.to);
    if (coded?.code !== undefined) return coded.code;
    throw new Error(`Expected a mail with a code; the newest is: ${this.last(to).subject}`);
  }

  /** Returns the addresses in the text of the newest mail. @throws {Error} There is no mail. */
  links(to?: string): readonly string[] {
    return this.last(to).text.match(/https?:\/\/[^\s<>"]+[^\s<>".,;:!?)]/g) ?? [];
  }

  /** Forgets all mail so far. */
  clear(): void {
    this.#mails = [];
  }
}
