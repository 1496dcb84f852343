/** Mail over SMTP, against a real server. */

import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createServer, type Server } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import type { MailErrorCode } from "../../../adapters/mail/deliveries.ts";
import {
  createSmtpMailer,
  MailError,
  type SmtpMailer,
  type SmtpMailerOptions,
} from "../../../adapters/mail/mod.ts";
import type { Mail } from "../../../lib/base/outbound/outbound.ts";
import { selfSigned } from "../../support/certificate.ts";
import { account, TestSmtpServer } from "../../support/smtp.ts";
import { ManualTimer } from "./_timer.ts";

const from = "Club Grünwald <no-reply@club.example>";
const mail: Mail = {
  to: "fan@example.org",
  kind: "passwordCode",
  subject: "Club: Your code for a new password",
  text: "Your code is 12345678.\n",
};

/** Texts that an error of a mailer must not contain. */
const secrets = [mail.to, mail.subject, "12345678", account.pass, encodeURIComponent(account.pass)];

/** Checks that a mail is not accepted, and that the reason tells codes only. */
async function refused(sent: Promise<void>, code: MailErrorCode, message: RegExp): Promise<void> {
  await assert.rejects(sent, (error: unknown) => {
    assert.ok(error instanceof MailError);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.equal(error.cause, undefined);
    for (const secret of secrets) assert.ok(!`${error.stack}`.includes(secret), error.message);
    return true;
  });
}

/** Accepts connections and says nothing. */
async function silentServer(): Promise<readonly [server: Server, url: string]> {
  const server = createServer(socket => {
    socket.on("error", () => {});
    socket.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return [server, `smtp://127.0.0.1:${address.port}`];
}

describe("a mailer over SMTP", { timeout: 60_000 }, () => {
  let server: TestSmtpServer;
  let mailer: SmtpMailer;
  let timer: ManualTimer;
  before(async () => {
    server = await TestSmtpServer.start();
  });
  after(async () => {
    await mailer[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await mailer?.[Symbol.asyncDispose]();
    await server.deserted();
    server.mails.length = 0;
    server.passwords.length = 0;
    server.connections = 0;
    server.openConnectionsMax = 0;
    server.behaviour.onRecipient = () => null;
    server.behaviour.onMail = () => null;
    mailer = open();
  });

  function open(options: Partial<SmtpMailerOptions> = {}): SmtpMailer {
    timer = new ManualTimer();
    return createSmtpMailer({ url: server.url(), from, ca: server.ca, timer: timer.start, ...options });
  }

  it("delivers over STARTTLS with authentication", async () => {
    mailer = open({ newId: () => "id-1" });
    await mailer.send(mail);
    const [received, ...more] = server.mails;
    assert.deepEqual(more, []);
    assert.ok(received !== undefined);
    const { headers, body, ...facts } = received;
    assert.deepEqual(facts, {
      from: "no-reply@club.example",
      to: [mail.to],
      isEncrypted: true,
      user: account.user,
    });
    assert.equal(headers.to, mail.to);
    assert.match(headers.from ?? "", /^=\?UTF-8\?\S+\?= <no-reply@club\.example>$/);
    assert.equal(headers.subject, mail.subject);
    assert.equal(headers["message-id"], "<id-1@club.example>");
    assert.equal(headers["auto-submitted"], "auto-generated");
    await mailer.send({ ...mail, sender: 'FC "Süd" <all@example.org>' });
    const shown = server.mails.at(-1)?.headers.from ?? "";
    assert.match(shown, /^(=\?UTF-8\?\S+\?= )+<no-reply@club\.example>$/);
    assert.notEqual(shown, headers.from);
    await assert.rejects(mailer.send({ ...mail, sender: "FC\r\nBcc: all@example.org" }), MailError);
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    assert.equal(body.trimEnd(), mail.text.trimEnd());
    assert.equal(timer.size, 0);
  });

  it("delivers text as it is, with nothing in it that could end the mail", async () => {
    const text = "Grüße 🎉\n.\n..\nMAIL FROM:<a@example.org>\r\n.\r\nRCPT TO:<b@example.org>\n";
    await mailer.send({ ...mail, text });
    const [received, ...more] = server.mails;
    assert.deepEqual(more, []);
    assert.ok(received !== undefined);
    const { headers, body } = received;
    assert.equal(headers["content-transfer-encoding"], "quoted-printable");
    const bytes = body
      .replace(/=\r\n/g, "")
      .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    const decoded = Buffer.from(bytes, "latin1").toString();
    assert.equal(decoded.replaceAll("\r\n", "\n").trimEnd(), text.replaceAll("\r\n", "\n").trimEnd());
  });

  it("delivers to addresses and under subjects beyond ASCII", async () => {
    await mailer.send({ ...mail, to: "jürgen@exämple.org", subject: "Grüße 🎉" });
    const [received] = server.mails;
    assert.equal(received?.to.length, 1);
    assert.match(received?.to[0] ?? "", /^jürgen@(exämple|xn--exmple-cua)\.org$/);
    assert.match(received?.headers.subject ?? "", /^=\?UTF-8\?[BQ]\?\S+\?=/);
  });

  it("reuses its connections, and has few of them", async () => {
    await Promise.all(Array.from({ length: 20 }, () => mailer.send(mail)));
    assert.equal(server.mails.length, 20);
    assert.equal(server.openConnectionsMax, 5);
    assert.equal(server.connections, 5);
  });

  it("replaces a connection that carried its share", async () => {
    for (let count = 0; count < 100; count++) await mailer.send(mail);
    assert.equal(server.connections, 1);
    await mailer.send(mail);
    assert.equal(server.connections, 2);
  });

  it("closes its connections when it is disposed", async () => {
    await mailer.send(mail);
    assert.equal(server.openConnections, 1);
    await mailer[Symbol.asyncDispose]();
    await server.deserted();
    await refused(mailer.send(mail), "unreachable", /ECONNECTION: Connection pool was closed/);
  });

  it("distinguishes a wrong password from other errors, and tries it once", async () => {
    mailer = open({ url: server.url("smtp", "wr0ng-secret") });
    await refused(mailer.send(mail), "refused", /^Cannot send mail: the server answered 535 5\.7\.8 to AUTH/);
    assert.deepEqual(server.passwords, ["wr0ng-secret"]);
  });

  it("reports a refused recipient without naming it, does not retry, and continues", async () => {
    let asked = 0;
    server.behaviour.onRecipient = address => {
      asked++;
      return address === mail.to ? { code: 550, text: `5.1.1 <${address}> is unknown here` } : null;
    };
    const message = /^Cannot send mail: the server answered 550 5\.1\.1 to RCPT TO$/;
    await refused(mailer.send(mail), "refused", message);
    assert.equal(asked, 1);
    await mailer.send({ ...mail, to: "other@example.org" });
    assert.deepEqual(server.mails[0]?.to, ["other@example.org"]);
  });

  for (const [step, code] of [
    ["recipient", 450],
    ["mail", 451],
  ] as const) {
    it(`retries a message once, unchanged, after a temporary failure at the ${step}`, async () => {
      const ids: unknown[] = [];
      let isFirst = true;
      const putOff = (): { code: number; text: string } | null => {
        const answer = isFirst ? { code, text: "4.2.1 later" } : null;
        isFirst = false;
        return answer;
      };
      if (step === "recipient") server.behaviour.onRecipient = putOff;
      else {
        server.behaviour.onMail = ({ headers }) => {
          ids.push(headers["message-id"]);
          return putOff();
        };
      }
      const sent = mailer.send(mail);
      await timer.expire(3_000);
      await sent;
      assert.equal(server.mails.length, 1);
      assert.equal(new Set(ids).size, step === "mail" ? 1 : 0);
      assert.equal(timer.size, 0);
    });
  }

  it("gives up after the second attempt", async () => {
    let asked = 0;
    server.behaviour.onRecipient = () => {
      asked++;
      return { code: 451, text: "4.3.0 later" };
    };
    const sent = refused(mailer.send(mail), "refused", /answered 451 4\.3\.0 to RCPT TO$/);
    await timer.expire(3_000);
    await sent;
    assert.equal(asked, 2);
    assert.equal(timer.size, 0);
  });

  it("gives up on a server that does not answer in time, and uses it again later", async () => {
    const reached = new EventEmitter();
    server.behaviour.onMail = async () => {
      reached.emit("mail");
      await once(reached, "never");
      return null;
    };
    const sent = refused(mailer.send(mail), "timeout", /within 20000 ms$/);
    await once(reached, "mail");
    await timer.expire(20_000);
    await sent;
    assert.equal(timer.size, 0);
    server.behaviour.onMail = () => null;
    await mailer.send(mail);
    assert.equal(server.mails.length, 1);
  });

  it("gives up in the pause before the second attempt as well", async () => {
    server.behaviour.onRecipient = () => ({ code: 450, text: "4.2.1 later" });
    const sent = refused(mailer.send(mail), "timeout", /was not accepted/);
    while (timer.size < 2) await new Promise(setImmediate);
    await timer.expire(20_000);
    await sent;
    assert.equal(timer.size, 0);
  });

  it("gives up on a server that does not even greet", async () => {
    const [silent, url] = await silentServer();
    mailer = open({ url });
    const connected = once(silent, "connection");
    const sent = refused(mailer.send(mail), "timeout", /was not accepted/);
    const [socket] = await connected;
    const closed = once(socket, "close");
    await timer.expire(20_000);
    await sent;
    await closed;
    silent.close();
  });

  it("reports that the server is down", async () => {
    const gone = await TestSmtpServer.start();
    const url = gone.url();
    await gone[Symbol.asyncDispose]();
    mailer = open({ url });
    await refused(mailer.send(mail), "unreachable", /ECONNREFUSED/);
  });

  it("sends at most 1,000 mails at the same time", async () => {
    const [silent, url] = await silentServer();
    mailer = open({ url });
    const sent = Array.from({ length: 1_000 }, () => mailer.send(mail));
    const all = Promise.allSettled(sent);
    await refused(mailer.send(mail), "busy", new RegExp(`${1_000} mails are pending`));
    for (const _ of sent) await timer.expire(20_000);
    await all;
    await Promise.all([refused(mailer.send(mail), "timeout", /was not accepted/), timer.expire(20_000)]);
    silent.close();
  });

  it("refuses texts that contain another header or recipient, before it connects", async () => {
    const recipients = [
      "fan@example.org\r\nBcc: all@example.org",
      "fan@example.org\n",
      "fan@example.org, other@example.org",
      "fan@example.org;other@example.org",
      "Fan <fan@example.org>",
      "<fan@example.org>",
      "fan@example.org>\r\nRCPT TO:<other@example.org",
      "group:fan@example.org",
      '"fan other"@example.org',
      "fan(comment)@example.org",
      "fan@example.org@example.org",
      "fan\u0000@example.org",
      "fan\u2028@example.org",
      "fan@[127.0.0.1]",
      "fan",
      "",
      `${"f".repeat(250)}@example.org`,
    ];
    for (const to of recipients) {
      await refused(mailer.send({ ...mail, to }), "invalid_mail", /the recipient is not one plain address$/);
    }
    for (const subject of ["Hi\r\nBcc: all@example.org", "Hi\nX: y", "Hi\r", "Hi\u0000", "Hi\u0085"]) {
      await refused(mailer.send({ ...mail, subject }), "invalid_mail", /control characters$/);
    }
    assert.equal(server.connections, 0);
  });
});

describe("encryption of mail", { timeout: 60_000 }, () => {
  async function attempt(
    options: Parameters<typeof TestSmtpServer.start>[0],
    mailerOptions: (server: TestSmtpServer) => Partial<SmtpMailerOptions>,
    check: (sent: Promise<void>, server: TestSmtpServer) => Promise<void>,
  ): Promise<void> {
    await using server = await TestSmtpServer.start(options);
    await using mailer = createSmtpMailer({
      url: server.url(),
      from,
      ca: server.ca,
      ...mailerOptions(server),
    });
    await check(mailer.send(mail), server);
  }

  it("begins with the first byte where the URL is smtps://", async () => {
    await attempt(
      { secure: true },
      server => ({ url: server.url("smtps") }),
      async (sent, server) => {
        await sent;
        assert.equal(server.mails[0]?.isEncrypted, true);
        assert.equal(server.mails[0]?.user, account.user);
      },
    );
  });

  it("is demanded: a server without STARTTLS gets neither password nor mail", async () => {
    await attempt(
      { disabledCommands: ["STARTTLS"], allowInsecureAuth: true },
      () => ({}),
      async (sent, server) => {
        await refused(sent, "refused", /answered 50\d to STARTTLS/);
        assert.deepEqual([server.passwords, server.mails], [[], []]);
      },
    );
  });

  it("is left out only where the URL says so", async () => {
    await attempt(
      { authOptional: true },
      ({ port }) => ({ url: `smtp://127.0.0.1:${port}?tls=off` }),
      async (sent, server) => {
        await sent;
        assert.equal(server.mails[0]?.isEncrypted, false);
      },
    );
  });

  it("takes no certificate that is not trusted", async () => {
    for (const [secure, scheme] of [
      [true, "smtps"],
      [false, "smtp"],
    ] as const) {
      await attempt(
        { secure },
        server => ({ url: server.url(scheme), ca: "" }),
        async (sent, server) => {
          await refused(sent, "unreachable", /self-signed certificate|unable to verify/);
          assert.deepEqual([server.passwords, server.mails], [[], []]);
        },
      );
    }
  });

  it("takes no certificate of another name", async () => {
    await using server = await TestSmtpServer.start({}, selfSigned([192, 0, 2, 1]));
    await using mailer = createSmtpMailer({ url: server.url(), from, ca: server.ca });
    await refused(mailer.send(mail), "unreachable", /does not match certificate's altnames/);
    assert.deepEqual([server.passwords, server.mails], [[], []]);
  });

  it("is not enough where there are credentials: a server that asks for none gets no mail", async () => {
    await attempt(
      { disabledCommands: ["AUTH"], authOptional: true },
      () => ({}),
      async (sent, server) => {
        await refused(sent, "refused", /to AUTH/);
        assert.deepEqual(server.mails, []);
      },
    );
  });
});
