/** A real mail server on a free loopback port that stores its mails. */

import { once } from "node:events";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { type Certificate, selfSigned } from "./certificate.ts";

/** The one account of the server; its password holds what must be encoded in URLs. */
export const account = { user: "post@example.org", pass: "p@ss:/?#word" } as const;

/** A mail as the server was given it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** Behind the headers, as it was transferred. */
  readonly body: string;
  readonly isEncrypted: boolean;
  readonly user: unknown;
}

/** Answer of the server at a step; nothing to accept. */
export type Refusal = { readonly code: number; readonly text: string } | null;

/** Behaviour of the server. Members may be replaced while it runs. */
export interface SmtpBehaviour {
  onRecipient: (address: string) => Refusal;
  /** Runs before the mail is accepted; the answer waits for it. */
  onMail: (mail: ReceivedMail) => Promise<Refusal> | Refusal;
}

let shared: Certificate | undefined;

/** A running server. */
export class TestSmtpServer implements AsyncDisposable {
  readonly mails: ReceivedMail[] = [];
  /** Passwords that were tried. */
  readonly passwords: unknown[] = [];
  readonly behaviour: SmtpBehaviour = { onRecipient: () => null, onMail: () => null };
  readonly ca: string;
  /** Connections so far, and those open now. */
  connections = 0;
  openConnections = 0;
  /** Most connections that were open at once. */
  openConnectionsMax = 0;
  readonly #server: SMTPServer;

  private constructor(options: SMTPServerOptions, certificate: Certificate) {
    this.ca = certificate.cert;
    this.#server = new SMTPServer({
      ...certificate,
      logger: false,
      disableReverseLookup: true,
      closeTimeout: 1,
      onConnect: (_, done) => {
        this.connections++;
        this.openConnections++;
        this.openConnectionsMax = Math.max(this.openConnectionsMax, this.openConnections);
        done();
      },
      onClose: () => {
        this.openConnections--;
        this.#server.emit("left");
      },
      onAuth: ({ username, password }, _, done) => {
        this.passwords.push(password);
        if (username === account.user && password === account.pass) return done(null, { user: username });
        done(refusal({ code: 535, text: `5.7.8 wrong: ${username} ${password}` }));
      },
      onRcptTo: ({ address }, _, done) => done(refusal(this.behaviour.onRecipient(address))),
      onData: async (stream, session, done) => {
        const { envelope, secure, user } = session;
        const text = Buffer.concat(await stream.toArray()).toString();
        const mail: ReceivedMail = {
          ...parse(text),
          from: envelope.mailFrom === false ? "" : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          isEncrypted: secure,
          user,
        };
        const refused = await this.behaviour.onMail(mail);
        if (refused === null) this.mails.push(mail);
        done(refusal(refused));
      },
      ...options,
    });
    // Clients that refuse a certificate end the connection in the middle of it.
    this.#server.on("error", () => {});
  }

  /** Starts a server: STARTTLS and authentication are offered unless the options say otherwise. */
  static async start(options: SMTPServerOptions = {}, certificate?: Certificate): Promise<TestSmtpServer> {
    shared ??= selfSigned();
    const started = new TestSmtpServer(options, certificate ?? shared);
    started.#server.listen(0, "127.0.0.1");
    await once(started.#server.server, "listening");
    return started;
  }

  get port(): number {
    const address = this.#server.server.address();
    if (typeof address !== "object" || address === null) throw new Error("The mail server does not listen");
    return address.port;
  }

  /** Its URL, with credentials. */
  url(scheme: "smtp" | "smtps" = "smtp", pass: string = account.pass): string {
    const credentials = `${encodeURIComponent(account.user)}:${encodeURIComponent(pass)}`;
    return `${scheme}://${credentials}@127.0.0.1:${this.port}`;
  }

  /** Resolves once all connections are closed. */
  async deserted(): Promise<void> {
    while (this.openConnections > 0) await once(this.#server, "left");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise(resolve => this.#server.close(() => resolve()));
  }
}

function refusal(refused: Refusal): Error | null {
  return refused === null ? null : Object.assign(new Error(refused.text), { responseCode: refused.code });
}

function parse(text: string): Pick<ReceivedMail, "headers" | "body"> {
  const end = text.indexOf("\r\n\r\n");
  const lines = text
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, " ")
    .split("\r\n");
  const headers = lines.map(line => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { headers: Object.fromEntries(headers), body: text.slice(end + 4) };
}
