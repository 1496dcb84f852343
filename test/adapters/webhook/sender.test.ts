/** Webhooks, against a real HTTP server. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  createWebhookSender,
  WebhookError,
  type WebhookMessage,
  webhooksUnderWayMax,
} from "../../../adapters/webhook/mod.ts";
import { webhookSecretText } from "../../../lib/ports/webhook_signature.ts";
import { createTestClock } from "../../support/clock.ts";

interface Received {
  readonly method: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const key = new Uint8Array(32).fill(9);

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
    await createWebhookSender({ clock: clock.now }).send(message);
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
      await assert.rejects(createWebhookSender().send(message), (error: unknown) => {
        assert.ok(error instanceof WebhookError);
        assert.ok(!error.message.includes("secret-path"));
        return true;
      });
    }
    assert.equal(received.length, 5);
  });

  it("rejects when the service cannot be reached, and when it does not answer in time", async () => {
    const nowhere = { ...message, url: "http://127.0.0.1:1/secret-path" };
    await assert.rejects(createWebhookSender().send(nowhere), /ECONNREFUSED|connection|bad port/);
    answer = () => {};
    const limit = new AbortController();
    const sent = createWebhookSender({ timeout: () => limit.signal }).send(message);
    while (received.length === 0) await new Promise(resolve => setImmediate(resolve));
    limit.abort();
    await assert.rejects(sent, /no answer/);
  });

  it("refuses more messages at once than its bound", async () => {
    const waiting: ServerResponse[] = [];
    answer = response => waiting.push(response);
    const sender = createWebhookSender();
    const sent = Array.from({ length: webhooksUnderWayMax }, () => sender.send(message));
    await assert.rejects(sender.send(message), /under way/);
    answer = response => response.end();
    while (received.length < webhooksUnderWayMax) await new Promise(resolve => setImmediate(resolve));
    for (const response of waiting) response.end();
    await Promise.all(sent);
    await sender.send(message);
  });

  it("tells receivers the key in their format", () => {
    assert.equal(webhookSecretText(key), `whsec_${Buffer.from(key).toString("base64")}`);
  });
});
