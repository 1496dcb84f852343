/// <reference lib="esnext.disposable" preserve="true" />
import { randomUUID } from "node:crypto";
import type { NodemailerError, SMTPPoolOptions, Transporter } from "nodemailer";
import type { Mail, Mailer } from "../../lib/base/outbound/outbound.ts";
import {
  checkMail,
  type DelayTimer,
  Deliveries,
  type Mailbox,
  MailError,
  parseMailbox,
  processTimer,
} from "./deliveries.ts";

/** Port of mail submission with STARTTLS (RFC 6409). */
const submissionPort = 587;
/** Port of mail submission over TLS from the first byte (RFC 8314). */
const implicitTlsPort = 465;

const connectionsMax = 5;
/** Mails after which a connection is replaced. */
const mailsPerConnectionMax = 100;

/** Options of {@linkcode createSmtpMailer}. */
export interface SmtpMailerOptions {
  /** `smtp://user:password@host:587`, `smtps://…`, or `smtp://host?tls=off`. */
  readonly url: string;
  /** The sender: an address, or `Name <address>`. */
  readonly from: string;
  /** Certificates in PEM form that replace those that the runtime trusts. */
  readonly ca?: string;
  /** Generates the part of a Message-ID before the `@`. @default randomUUID */
  readonly newId?: () => string;
  /** @default the timer of the process */
  readonly timer?: DelayTimer;
}

/** Sends mail through a mail server; dispose it to close its connections. */
export interface SmtpMailer extends Mailer, AsyncDisposable {
  /** Connects and logs in without sending anything. @throws {MailError} The server refuses, or there is none. */
  verify(): Promise<void>;
}

/**
 * Creates a mailer over SMTP with pooled connections. It requires TLS unless the URL turns it off, and retries a temporary
 * failure (4xx) once. It connects with the first mail. `send` rejects with a {@linkcode MailError}. Needs the package `nodemailer`.
 *
 * @throws {TypeError} The URL or the sender is invalid.
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
    this.#deliveries = new Deliveries(options.timer ?? processTimer);
  }

  async send(mail: Mail): Promise<void> {
    checkMail(mail);
    const { address } = this.#from;
    const message = {
      from: { name: mail.sender ?? this.#from.name, address },
      // An object is one address; a text would be parsed as a list.
      to: { name: "", address: mail.to },
      envelope: { from: address, to: [mail.to] },
      subject: mail.subject,
      text: mail.text,
      ...(mail.html === undefined ? {} : { html: mail.html }),
      // The same in both attempts, so that the server can recognize a duplicate.
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

  async verify(): Promise<void> {
    const transport = await this.#open();
    try {
      await transport.verify();
    } catch (error) {
      throw mailErrorOf(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const transport = await this.#transport;
    transport?.close();
  }

  #open(): Promise<Transporter> {
    this.#transport ??= loadNodemailer().then(({ createTransport }) => createTransport(this.#pool));
    return this.#transport;
  }
}

/** Checks that the optional peer dependency is installed. @throws {Error} It is not; the message names it. */
export async function requireNodemailer(): Promise<void> {
  await loadNodemailer();
}

async function loadNodemailer(): Promise<typeof import("nodemailer")> {
  try {
    return await import("nodemailer");
  } catch (cause) {
    const message = "Cannot send mail over SMTP without the package nodemailer: run npm i nodemailer";
    throw new Error(message, { cause });
  }
}

function poolOptions(
  { host, port, security, credentials }: SmtpServer,
  ca: string | undefined,
): SMTPPoolOptions & { readonly pool: true } {
  return {
    pool: true,
    maxConnections: connectionsMax,
    maxMessages: mailsPerConnectionMax,
    host,
    port,
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    ...(ca === undefined ? {} : { tls: { ca } }),
    // Otherwise a server that offers no authentication would get the mail without it.
    ...(credentials === null ? {} : { auth: { ...credentials }, forceAuth: true }),
    logger: false,
  };
}

/** Failures whose description comes from the connection and contains nothing of the mail. */
const connectionFailures = ["ECONNECTION", "ESOCKET", "EDNS", "ETLS", "ETIMEDOUT"];

/** Converts an error. Servers repeat addresses in their answers, so only the codes are kept. */
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

interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte, required STARTTLS, or none. */
  readonly security: "tls" | "starttls" | "none";
  readonly credentials: { readonly user: string; readonly pass: string } | null;
}

/**
 * Parses `smtp://host` (requires STARTTLS), `smtps://host` (TLS from the first byte) and `smtp://host?tls=off` (plain text, only
 * without credentials). User and password precede the host, percent-encoded. Strict, so that a typing error never turns
 * encryption off.
 *
 * @throws {TypeError} The URL is another one. The message does not repeat it, because it may contain a password.
 */
export function parseSmtpUrl(text: string): SmtpServer {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || url.hostname === "") {
    throw unusable("expected smtp://host or smtps://host");
  }
  if (!/^\/?$/.test(url.pathname) || url.hash !== "") throw unusable("expected nothing after host and port");
  const isTls = url.protocol === "smtps:";
  const security = isTls ? "tls" : url.search === "?tls=off" ? "none" : "starttls";
  if (url.search !== "" && security !== "none") throw unusable("the only parameter is tls=off, with smtp://");
  const credentials = credentialsOf(url);
  if (credentials !== null && security === "none") throw unusable("credentials are not sent without TLS");
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (isTls ? implicitTlsPort : submissionPort) : Number(url.port),
    security,
    credentials,
  };
}

function credentialsOf({ username, password }: URL): SmtpServer["credentials"] {
  if (username === "" && password === "") return null;
  if (username === "" || password === "") throw unusable("expected both user and password, or neither");
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    throw unusable("user and password must be percent-encoded");
  }
}

function unusable(expectation: string): TypeError {
  return new TypeError(`Cannot use the SMTP URL: ${expectation}`);
}
