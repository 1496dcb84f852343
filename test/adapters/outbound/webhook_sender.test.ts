/** Webhooks, against a real HTTP server. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import { answerBytesMax } from "../../../adapters/outbound/request.ts";
import {
  createWebhookSender,
  type HostAddress,
  retryAfterCharactersMax,
  WebhookError,
  type WebhookMessage,
  type WebhookSender,
  type WebhookSenderOptions,
  webhookMsMax,
  webhooksUnderWayMax,
} from "../../../adapters/outbound/webhook.ts";
import { webhookSecretText } from "../../../lib/base/outbound/outbound.ts";
import { createTestClock } from "../../support/clock.ts";

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const key = new Uint8Array(32).fill(9);

/** Sends to this machine, which is not public. */
function senderHere(options: WebhookSenderOptions = {}): WebhookSender {
  return createWebhookSender({ networks: ["127.0.0.0/8"], ...options });
}

describe("a sender of webhooks", { timeout: 30_000 }, () => {
  const received: Received[] = [];
  const clock = createTestClock();
  let server: Server;
  let message: WebhookMessage;
  let answer: (response: ServerResponse) => void;

  before(async () => {
    server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString();
      received.push({ method: request.method, headers: request.headers, body });
      answer(response);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    const url = `http://127.0.0.1:${address.port}/secret-path`;
    const at = Date.parse("2026-02-28T12:00:00Z");
    message = { url, key, id: "u1:7-0", type: "challengeCompleted", at, data: { name: "Grüße 🎉" } };
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    received.length = 0;
    answer = response => response.writeHead(204).end();
  });

  it("posts the event, signed in the format of Standard Webhooks", async () => {
    await senderHere({ clock: clock.now }).send(message);
    const [{ method, headers, body }] = received as [Received];
    assert.equal(method, "POST");
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["webhook-id"], "u1:7-0");
    const timestamp = String(Math.floor(clock.now() / 1_000));
    assert.equal(headers["webhook-timestamp"], timestamp);
    const signature = createHmac("sha256", key).update(`u1:7-0.${timestamp}.${body}`).digest("base64");
    assert.equal(headers["webhook-signature"], `v1,${signature}`);
    assert.deepEqual(JSON.parse(body), {
      type: "challengeCompleted",
      timestamp: "2026-02-28T12:00:00.000Z",
      data: { name: "Grüße 🎉" },
    });
  });

  it("rejects every answer but 2xx, a redirect too, without telling the address", async () => {
    for (const status of [302, 400, 410, 429, 500]) {
      answer = response => response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("why");
      await assert.rejects(senderHere().send(message), (error: unknown) => {
        assert.ok(error instanceof WebhookError);
        assert.ok(!error.message.includes("secret-path"));
        return true;
      });
    }
    assert.equal(received.length, 5);
  });

  it("returns the answer of the service and its Retry-After", async () => {
    const failureAt = async (status: number, headers: Record<string, string>): Promise<WebhookError> => {
      answer = response => response.writeHead(status, headers).end();
      const failure = await senderHere({ clock: clock.now })
        .send(message)
        .catch((error: unknown) => error);
      assert.ok(failure instanceof WebhookError);
      return failure;
    };
    assert.equal((await failureAt(410, {})).status, 410);
    assert.equal((await failureAt(410, {})).retryAfterMs, null);
    assert.equal((await failureAt(429, { "retry-after": "120" })).retryAfterMs, 120_000);
    const inAnHour = new Date(Math.floor(clock.now() / 1_000) * 1_000 + 3_600_000).toUTCString();
    const asked = (await failureAt(503, { "retry-after": inAnHour })).retryAfterMs ?? 0;
    assert.ok(asked > 3_599_000 && asked <= 3_600_000);
    const past = new Date(clock.now() - 60_000).toUTCString();
    assert.equal((await failureAt(503, { "retry-after": past })).retryAfterMs, 0);
    for (const odd of ["soon", "-1", "1.5", "2026-06-15", "9".repeat(retryAfterCharactersMax + 1)]) {
      assert.equal((await failureAt(503, { "retry-after": odd })).retryAfterMs, null);
    }
  });

  it("does not wait for the rest of an answer, and does not mind a long one", async () => {
    answer = response => response.writeHead(200).write("begun, never ended");
    await senderHere().send(message);
    answer = response => response.writeHead(200).end("x".repeat(1_000_000));
    await senderHere().send(message);
    answer = response => response.writeHead(204).end();
    await senderHere().send(message);
    assert.equal(received.length, 3);
  });

  it(`reads ${answerBytesMax} bytes of an answer, and ends the connection of a longer one`, async () => {
    const begun: ServerResponse[] = [];
    answer = response => {
      begun.push(response.writeHead(200));
      response.write("x".repeat(answerBytesMax));
    };
    await senderHere({ timeout: () => new AbortController().signal }).send(message);
    answer = response => response.writeHead(204).end();
    await senderHere().send(message);
    const [long] = begun;
    assert.ok(long !== undefined && !long.destroyed);
    const closed = once(long, "close");
    long.write("x");
    await closed;
    assert.equal(long.writableEnded, false);
  });

  it("connects to public addresses alone, and to networks that it is given", async () => {
    await assert.rejects(createWebhookSender().send(message), (error: unknown) => {
      assert.ok(error instanceof WebhookError);
      assert.match(error.message, /not at a public address/);
      assert.ok(!error.message.includes("127.0.0.1"));
      return true;
    });
    await assert.rejects(createWebhookSender({ networks: ["10.0.0.0/8"] }).send(message), /public/);
    assert.equal(received.length, 0);
    await createWebhookSender({ networks: ["127.0.0.1"] }).send(message);
    assert.equal(received.length, 1);
    assert.throws(() => createWebhookSender({ networks: ["10.0.0.0/33"] }), TypeError);
  });

  it("checks every address of a host, in any notation", async () => {
    const refused = [
      ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "127.8.8.8", "169.254.169.254", "172.31.0.1", "192.168.1.1"],
      ...["198.19.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "fe80::1%eth0"],
      ...["fc00::1", "64:ff9b::a00:1", "2001::1", "2001:db8::1", "2002:a00:1::", "ff02::1", "what"],
    ];
    for (const address of refused) {
      const resolve = async (): Promise<HostAddress[]> => [
        { address: "93.184.215.14", family: 4 },
        { address, family: address.includes(":") ? 6 : 4 },
      ];
      const url = "https://hooks.example/";
      await assert.rejects(createWebhookSender({ resolve }).send({ ...message, url }), /public/, address);
    }
    for (const host of ["2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "017700000001"]) {
      const url = `http://${host}/`;
      await assert.rejects(createWebhookSender().send({ ...message, url }), /public/, host);
    }
    const nowhere = async (): Promise<HostAddress[]> => [];
    await assert.rejects(
      createWebhookSender({ resolve: nowhere }).send({ ...message, url: "https://hooks.example/" }),
      /no address/,
    );
  });

  it("sends over http only into networks that it was given", async () => {
    const url = message.url.replace("127.0.0.1", "hooks.example");
    const resolvedTo =
      (...addresses: string[]) =>
      async (): Promise<HostAddress[]> =>
        addresses.map(address => ({ address, family: 4 }));
    for (const addresses of [["93.184.215.14"], ["127.0.0.1", "93.184.215.14"]]) {
      await assert.rejects(
        senderHere({ resolve: resolvedTo(...addresses) }).send({ ...message, url }),
        /https/,
      );
    }
    assert.equal(received.length, 0);
    await senderHere({ resolve: resolvedTo("127.0.0.1") }).send({ ...message, url });
    assert.equal(received.length, 1);
  });

  it("connects to the checked addresses, even if the name resolves to others by then", async () => {
    let asked = 0;
    const resolve = async (): Promise<HostAddress[]> => {
      asked += 1;
      return [{ address: "127.0.0.1", family: 4 }];
    };
    const url = message.url.replace("127.0.0.1", "rebinding.invalid");
    await senderHere({ resolve }).send({ ...message, url });
    assert.equal(asked, 1);
    assert.equal(received[0]?.headers.host, new URL(url).host);
  });

  it("waits no longer for a host's address than for an answer", async () => {
    const limit = new AbortController();
    const resolve = (): Promise<HostAddress[]> => new Promise(() => {});
    const sent = senderHere({ resolve, timeout: () => limit.signal }).send({
      ...message,
      url: "https://hooks.example/",
    });
    await new Promise(resolved => setImmediate(resolved));
    limit.abort();
    await assert.rejects(sent, /no answer/);
  });

  it("rejects when the service cannot be reached, and when it does not answer in time", async () => {
    const nowhere = { ...message, url: "http://127.0.0.1:1/secret-path" };
    await assert.rejects(senderHere().send(nowhere), /ECONNREFUSED|connection|bad port/);
    answer = () => {};
    const limit = new AbortController();
    const allowedMs: number[] = [];
    const timeout = (ms: number): AbortSignal => {
      allowedMs.push(ms);
      return limit.signal;
    };
    const sent = senderHere({ timeout }).send(message);
    while (received.length === 0) await new Promise(resolve => setImmediate(resolve));
    limit.abort();
    await assert.rejects(sent, /no answer/);
    assert.deepEqual(allowedMs, [webhookMsMax]);
  });

  it("refuses more messages at once than its bound", async () => {
    const waiting: ServerResponse[] = [];
    answer = response => waiting.push(response);
    const sender = senderHere();
    const sent = Array.from({ length: webhooksUnderWayMax }, () => sender.send(message));
    await assert.rejects(sender.send(message), /under way/);
    answer = response => response.end();
    while (received.length < webhooksUnderWayMax) await new Promise(resolve => setImmediate(resolve));
    for (const response of waiting) response.end();
    await Promise.all(sent);
    await sender.send(message);
  });

  it("shows the key in the format of receivers", () => {
    assert.equal(webhookSecretText(key), `whsec_${Buffer.from(key).toString("base64")}`);
  });
});
