import { randomUUID } from "node:crypto";
import type { NodemailerError, SMTPPoolOptions, Transporter } from "nodemailer";
import type { Mail, Mailer } from "../../lib/outbound/mailer.ts";
import { type After, Deliveries, processTimer } from "./deliveries.ts";
import { MailError } from "./mail_error.ts";
import { checkMail, type Mailbox, parseMailbox } from "./mailbox.ts";
import { parseSmtpUrl, type SmtpServer } from "./smtp_url.ts";

/** Most connections to the mail server that are open at once. */
export const smtpConnectionsMax = 5;
/** Mails after which a connection is closed and replaced. */
export const mailsPerConnectionMax = 100;

/** How mail is handed to a mail server. */
export interface SmtpMailerOptions {
  /** `smtp://user:password@host:587`, `smtps://…`, or `smtp://host?tls=off`; see {@linkcode parseSmtpUrl}. */
  readonly url: string;
  /** The sender: an address, or `Name <address>`. */
  readonly from: string;
  /** Certificates in PEM form that are trusted in place of those of the runtime. */
  readonly ca?: string;
  /** Makes the part of a Message-ID before the `@`. @default randomUUID */
  readonly newId?: () => string;
  /** @default the timer of the process */
  readonly after?: After;
}

/** Sends mail through a mail server; dispose it to close its connections. */
export interface SmtpMailer extends Mailer, AsyncDisposable {}

/**
 * Creates a mailer over SMTP: connections are pooled, TLS is demanded unless the URL says otherwise, and what the server
 * puts off (4xx) is tried once more. Nothing connects before the first mail. `send` rejects with a {@linkcode MailError}.
 *
 * @throws {TypeError} The URL or the sender is not usable.
 *
 * @example
 * ```ts
 * const mailer = createSmtpMailer({ url: "smtp://user:password@mail.example.org", from: "Club <no-reply@example.org>" });
 * const platform = await createPlatform({ store, secret, mailer });
 * ```
 */
export function createSmtpMailer(options: SmtpMailerOptions): SmtpMailer {
  return new PooledMailer(parseSmtpUrl(options.url), parseMailbox(options.from), options);
}

class PooledMailer implements SmtpMailer {
  readonly #pool: SMTPPoolOptions & { readonly pool: true };
  readonly #from: Mailbox;
  readonly #newId: () => string;
  readonly #deliveries: Deliveries;
  #transport: Promise<Transporter> | null = null;

  constructor(server: SmtpServer, from: Mailbox, options: SmtpMailerOptions) {
    this.#pool = poolOptions(server, options.ca);
    this.#from = from;
    this.#newId = options.newId ?? randomUUID;
    this.#deliveries = new Deliveries(options.after ?? processTimer);
  }

  async send(mail: Mail): Promise<void> {
    checkMail(mail);
    const { address } = this.#from;
    const message = {
      from: this.#from,
      // An object is taken as one address; a text would be parsed as a list.
      to: { name: "", address: mail.to },
      envelope: { from: address, to: [mail.to] },
      subject: mail.subject,
      text: mail.text,
      // The same for both attempts, so that a server that took the first can tell.
      messageId: `<${this.#newId()}@${address.slice(address.indexOf("@") + 1)}>`,
      headers: { "Auto-Submitted": "auto-generated" },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    await this.#deliveries.run(async signal => {
      const transport = await this.#open();
      try {
        await transport.sendMail({ ...message, signal });
      } catch (error) {
        throw mailErrorOf(error);
      }
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const transport = await this.#transport;
    transport?.close();
  }

  #open(): Promise<Transporter> {
    this.#transport ??= import("nodemailer").then(({ createTransport }) => createTransport(this.#pool));
    return this.#transport;
  }
}

function poolOptions(
  { host, port, security, credentials }: SmtpServer,
  ca: string | undefined,
): SMTPPoolOptions & { readonly pool: true } {
  return {
    pool: true,
    maxConnections: smtpConnectionsMax,
    maxMessages: mailsPerConnectionMax,
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...(ca === undefined ? {} : { tls: { ca } }),
    // Forced, because a server that offers no authentication would otherwise be handed the mail without it.
    ...(credentials === null ? {} : { auth: { ...credentials }, forceAuth: true }),
    logger: false,
  };
}

/** Kinds of failures whose description comes from the connection, and holds nothing of the mail. */
const connectionFailures = ["ECONNECTION", "ESOCKET", "EDNS", "ETLS", "ETIMEDOUT"];

/** Servers repeat addresses, and whatever else they like, in their answers: only the codes are kept. */
function mailErrorOf(error: unknown): MailError {
  const { code = "unknown", responseCode, response, command, message } = error as NodemailerError;
  if (responseCode !== undefined) {
    const enhanced = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? "")?.[1];
    const reply = enhanced === undefined ? `${responseCode}` : `${responseCode} ${enhanced}`;
    const retryable = responseCode >= 400 && responseCode < 500;
    return new MailError("refused", `the server answered ${reply} to ${command ?? "the mail"}`, {
      retryable,
    });
  }
  const reason = connectionFailures.includes(code) ? `${code}: ${message}` : code;
  return new MailError("unreachable", `the server cannot be used: ${reason}`);
}
