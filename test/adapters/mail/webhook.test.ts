/** Mail to a webhook, against a real HTTP server. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import type { MailErrorCode } from "../../../adapters/mail/deliveries.ts";
import { createWebhookMailer, MailError } from "../../../adapters/mail/mod.ts";
import { parseWebhookSecret, parseWebhookUrl } from "../../../adapters/mail/webhook.ts";
import type { Mail, Mailer } from "../../../lib/base/outbound/outbound.ts";
import { createTestClock } from "../../support/clock.ts";
import { ManualTimer } from "./_timer.ts";

const mail: Mail = {
  to: "fan@example.org",
  kind: "passwordCode",
  subject: "Club: Your code",
  text: "Grüße 🎉 12345678\n",
};
const secretBytes = Buffer.alloc(32, 7);
const secret = `whsec_${secretBytes.toString("base64")}`;

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

async function refused(sent: Promise<void>, code: MailErrorCode, message: RegExp): Promise<void> {
  await assert.rejects(sent, (error: unknown) => {
    assert.ok(error instanceof MailError);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    for (const text of [mail.to, "12345678", secret]) assert.ok(!`${error.stack}`.includes(text));
    return true;
  });
}

describe("a mailer to a webhook", { timeout: 30_000 }, () => {
  const received: Received[] = [];
  let server: Server;
  let url: string;
  let answer: (response: ServerResponse, attempt: number) => void;
  let timer: ManualTimer;
  let mailer: Mailer;
  const clock = createTestClock();
  before(async () => {
    server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      received.push({ method: request.method, headers: request.headers, body });
      server.emit("received");
      answer(response, received.length);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    url = `http://127.0.0.1:${address.port}/hook`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    answer = response => response.writeHead(204).end();
    timer = new ManualTimer();
    mailer = createWebhookMailer({
      url,
      secret,
      timer: timer.start,
      clock: clock.now,
      newId: () => "1",
    });
  });

  it("posts a mail that its receiver can verify as Standard Webhooks has it", async () => {
    await mailer.send(mail);
    const [{ method, headers, body } = assert.fail(), ...more] = received;
    assert.deepEqual(more, []);
    assert.equal(method, "POST");
    assert.equal(headers["content-type"], "application/json");
    assert.deepEqual(JSON.parse(body), {
      type: "mail.passwordCode",
      timestamp: new Date(clock.now()).toISOString(),
      data: mail,
    });
    const id = "msg_1";
    const seconds = String(clock.now() / 1000);
    assert.deepEqual([headers["webhook-id"], headers["webhook-timestamp"]], [id, seconds]);
    const expected = createHmac("sha256", secretBytes).update(`${id}.${seconds}.${body}`).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${expected}`);
    assert.equal(timer.size, 0);
  });

  it("gives every mail an id of its own", async () => {
    const random = createWebhookMailer({ url, secret, timer: timer.start });
    await random.send(mail);
    await random.send(mail);
    const ids = received.map(({ headers }) => headers["webhook-id"]);
    assert.equal(new Set(ids).size, 2);
    for (const id of ids) assert.match(String(id), /^msg_[0-9a-f-]{36}$/);
  });

  for (const status of [429, 500, 503]) {
    it(`sends once more under the same id after ${status}, signed anew`, async () => {
      answer = (response, attempt) => response.writeHead(attempt === 1 ? status : 200).end("ok");
      const sent = mailer.send(mail);
      await once(server, "received");
      clock.advance(3_000);
      await timer.expire(3_000);
      await sent;
      const [first, second] = received.map(({ headers }) => headers);
      assert.equal(received.length, 2);
      assert.equal(first?.["webhook-id"], second?.["webhook-id"]);
      assert.notEqual(first?.["webhook-timestamp"], second?.["webhook-timestamp"]);
      assert.notEqual(first?.["webhook-signature"], second?.["webhook-signature"]);
      assert.equal(timer.size, 0);
    });
  }

  it("gives up after the second attempt", async () => {
    answer = response => response.writeHead(502).end();
    const sent = refused(mailer.send(mail), "refused", /^Cannot send mail: the webhook answered 502$/);
    await timer.expire(3_000);
    await sent;
    assert.equal(received.length, 2);
  });

  it("takes 4xx for an answer, at once", async () => {
    answer = response => response.writeHead(401).end("the signature of fan@example.org is wrong");
    await refused(mailer.send(mail), "refused", /the webhook answered 401$/);
    assert.equal(received.length, 1);
  });

  it("follows no redirect", async () => {
    for (const status of [301, 302, 307, 308]) {
      received.length = 0;
      answer = response => response.writeHead(status, { location: `${url}/elsewhere` }).end();
      await refused(mailer.send(mail), "refused", new RegExp(`answered ${status}$`));
      assert.equal(received.length, 1);
    }
  });

  it("gives up on a receiver that does not answer in time", async () => {
    answer = () => {};
    const sent = refused(mailer.send(mail), "timeout", new RegExp(`within ${20_000} ms$`));
    await once(server, "received");
    await timer.expire(20_000);
    await sent;
    assert.equal(received.length, 1);
    assert.equal(timer.size, 0);
  });

  it("does not wait for the receiver's answer body", async () => {
    answer = response => response.writeHead(200).write("and so on");
    await mailer.send(mail);
    assert.equal(received.length, 1);
    assert.equal(timer.size, 0);
  });

  it("retries a lost connection once, and reports that the server is down", async () => {
    answer = (response, attempt) =>
      attempt === 1 ? void response.destroy() : void response.writeHead(204).end();
    const sent = mailer.send(mail);
    await timer.expire(3_000);
    await sent;
    assert.equal(received.length, 2);
    const nobody = createWebhookMailer({ url: "http://127.0.0.1:1/", secret, timer: timer.start });
    const lost = refused(nobody.send(mail), "unreachable", /cannot be reached/);
    await timer.expire(3_000);
    await lost;
  });

  it("refuses texts that its receiver could read as another header or recipient", async () => {
    const to = "fan@example.org\r\nBcc: all@example.org";
    await refused(mailer.send({ ...mail, to }), "invalid_mail", /not one plain address/);
    await refused(mailer.send({ ...mail, subject: "a\nb" }), "invalid_mail", /control characters/);
    assert.equal(received.length, 0);
  });
});

describe("the target of a webhook", () => {
  it("is an http or https URL without credentials", () => {
    assert.equal(
      parseWebhookUrl("https://mail.example.org/hook?team=1"),
      "https://mail.example.org/hook?team=1",
    );
    for (const text of [
      "",
      "mail.example.org",
      "ftp://mail.example.org",
      "https://user:hunter2@mail.example.org",
    ]) {
      assert.throws(
        () => parseWebhookUrl(text),
        /^TypeError: Cannot use the URL of the webhook: expected an http/,
      );
    }
    assert.throws(
      () => createWebhookMailer({ url: "https://:hunter2@mail.example.org", secret }),
      (error: Error) => !error.message.includes("hunter2"),
    );
  });

  it("is signed with 24 to 64 bytes in Base64", () => {
    const encoded = (bytes: number): string => Buffer.alloc(bytes, 255).toString("base64");
    assert.deepEqual(Buffer.from(parseWebhookSecret(secret)), secretBytes);
    for (const bytes of [24, 32, 33, 64]) {
      assert.equal(parseWebhookSecret(`whsec_${encoded(bytes)}`).length, bytes);
      assert.equal(parseWebhookSecret(encoded(bytes)).length, bytes);
    }
    const wrong = [
      "",
      "whsec_",
      "hunter2",
      `whsec_${encoded(24).slice(1)}`,
      `${secret}\n`,
      `whsec_ ${encoded(24)}`,
    ];
    for (const text of [...wrong, encoded(24 - 1), encoded(64 + 1)]) {
      assert.throws(
        () => createWebhookMailer({ url: "https://mail.example.org", secret: text }),
        (error: Error) => error instanceof TypeError && !error.message.includes("hunter2"),
      );
    }
  });
});
