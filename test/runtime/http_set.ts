/**
 * One set of tests over HTTP that every server of the product must pass, whatever it runs on and keeps its state in.
 */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { it } from "node:test";
import type { Demo } from "../../lib/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { playOldClient } from "../support/old_client.ts";
import { until } from "../support/until.ts";

/** Address of the server and contents of its demo; read when a test runs. */
export interface Target {
  readonly demo: Demo;
}

/** Registers the tests; call it inside `describe`. */
export function addTests(target: () => Target): void {
  addTransportTests(target);
  addMainPathTests(target);
}

function addTransportTests(target: () => Target): void {
  const get = (path: string, init?: RequestInit): Promise<Response> =>
    fetch(`${target().demo.baseUrl}${path}`, init);

  it("is healthy and ready", async () => {
    for (const path of ["/healthz", "/readyz"]) {
      const response = await get(path);
      assert.equal(response.status, 200);
      assert.match(response.headers.get("x-request-id") ?? "", /^[\w.-]{8,64}$/);
      assert.equal(((await response.json()) as { status: string }).status, "ok");
    }
  });

  it("describes its routes", async () => {
    const document = (await (await get("/openapi.json")).json()) as { openapi: string; paths: object };
    assert.match(document.openapi, /^3\.1\./);
    assert.ok("/api/loyalty/action" in document.paths);
  });

  it("answers HEAD like GET without the body", async () => {
    const [head, full] = [await get("/healthz", { method: "HEAD" }), await get("/healthz")];
    assert.equal(head.status, 200);
    assert.equal(await head.text(), "");
    assert.equal(head.headers.get("content-type"), full.headers.get("content-type"));
    assert.equal(head.headers.get("content-length"), String((await full.text()).length));
  });

  it("keeps the caller's request id", async () => {
    const response = await get("/healthz", { headers: { "x-request-id": "caller-chosen-1" } });
    assert.equal(response.headers.get("x-request-id"), "caller-chosen-1");
  });

  it("answers 404 for unknown paths and 405 with Allow for unknown methods", async () => {
    const unknown = await get("/no/such/path");
    assert.equal(unknown.status, 404);
    assert.equal(unknown.headers.get("content-type"), "application/problem+json");
    const refused = await get("/healthz", { method: "DELETE" });
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.get("allow"), "GET, HEAD, OPTIONS");
  });

  it("answers bodies that are too large, of another type or no JSON", async () => {
    const post = async (type: string, body: string): Promise<number> =>
      (await get("/v1/user", { method: "POST", headers: { "content-type": type }, body })).status;
    assert.equal(await post("application/json", JSON.stringify("x".repeat(1_000_000))), 413);
    assert.equal(await post("text/plain", "{}"), 415);
    assert.equal(await post("application/json", "{"), 400);
  });

  for (const connection of ["close", "keep-alive"]) {
    it(`refuses long bodies on Connection: ${connection} so that who sends them to the end reads why`, async () => {
      const body = JSON.stringify("x".repeat(5_200_000));
      for (const isChunked of [false, true]) {
        const answer = await sentToTheEnd(target().demo.baseUrl, { connection, isChunked, body });
        assert.match(answer, /^HTTP\/1.1 413 /);
        assert.match(answer, /payload_too_large/);
      }
    });
  }

  it("answers preflights", async () => {
    const response = await get("/api/loyalty/profile", {
      method: "OPTIONS",
      headers: { origin: "https://example.org", "access-control-request-method": "GET" },
    });
    assert.equal(response.status, 204);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.equal(await response.text(), "");
  });
}

/** Sends a request as simple clients do: all of it, and only then is the answer read. */
async function sentToTheEnd(
  baseUrl: string,
  { connection, isChunked, body }: { connection: string; isChunked: boolean; body: string },
): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.pause();
  const fields = [
    "POST /v1/user HTTP/1.1",
    `Host: ${hostname}`,
    "Content-Type: application/json",
    isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`,
    `Connection: ${connection}`,
  ];
  const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.write(`${fields.join("\r\n")}\r\n\r\n${sent}`, error => (error ? reject(error) : resolve()));
  });
  let answer = "";
  socket.setEncoding("utf8");
  for await (const part of socket) {
    answer += part;
    if (answer.includes("payload_too_large")) break;
  }
  return answer;
}

interface SentInit {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
}

async function sendTo({ baseUrl }: Demo, path: string, init: SentInit = {}): Promise<Response> {
  const { method = init.body === undefined ? "GET" : "POST", token, body } = init;
  return await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function data<T>(answer: Promise<Response>, status = 200): Promise<T> {
  const response = await answer;
  const text = await response.text();
  assert.equal(response.status, status, text);
  return (JSON.parse(text) as { data: T }).data;
}

/** Creates a user, signs it in to the space, and answers its token and id. */
async function arriveAt(demo: Demo, username: string): Promise<{ userId: string; token: string }> {
  const { projectId } = demo;
  const selector = { projectId, strategy: "simplified", provider: "noLogin" };
  const record = await data<{ userId: string }>(
    sendTo(demo, "/v1/user", { body: { ...selector, data: { username } } }),
  );
  const exchange = { type: "sessionRecord", projectId, record };
  const issued = await data<{ accessToken: string }>(sendTo(demo, "/api/auth/token", { body: exchange }));
  return { userId: record.userId, token: issued.accessToken };
}

/** Reports as a back end what came of a prediction. */
async function reportOutcomeAt(
  demo: Demo,
  userId: string,
  outcome: object,
  actionId = "outcome",
): Promise<Response> {
  const { eventId, serviceToken } = demo;
  assert.ok(serviceToken !== null);
  const body = { action: "outcome", actionId, data: { eventId, ...outcome } };
  return await sendTo(demo, `/api/loyalty/action?user_id=${userId}`, { token: serviceToken, body });
}

/** Lets a new fan score, and returns the path of its entry on the board, which shows it. */
export async function scoreAt(demo: Demo, username: string): Promise<string> {
  const { userId } = await arriveAt(demo, username);
  assert.equal((await reportOutcomeAt(demo, userId, { matchId: "1", outcome: "exact" })).status, 200);
  const entry = `/projects/${demo.projectId}/leaderboards/overall/users/${userId}`;
  await until("the board shows the score", async () => (await sendTo(demo, entry)).status === 200);
  return entry;
}

function addMainPathTests(target: () => Target): void {
  const send = (path: string, init?: SentInit): Promise<Response> => sendTo(target().demo, path, init);
  const arrive = (username: string) => arriveAt(target().demo, username);

  const reportOutcome = (userId: string, outcome: object, actionId?: string) =>
    reportOutcomeAt(target().demo, userId, outcome, actionId);

  it("takes a fan from arrival to a rank", async () => {
    const { projectId, eventId } = target().demo;
    const fan = await arrive(`Ärmel ${crypto.randomUUID().slice(0, 8)}`);
    const [actionId, matchId] = [crypto.randomUUID(), "1"];
    const prediction = { action: "prediction", actionId, data: { eventId, matchId, home: 2, away: 1 } };
    for (let sent = 0; sent < 2; sent++) {
      const response = await send("/api/loyalty/action", { token: fan.token, body: prediction });
      assert.equal(response.status, 200);
      assert.equal(await response.text(), "");
    }
    assert.equal((await reportOutcome(fan.userId, { matchId, outcome: "exact" })).status, 200);
    const profile = await data<{ metrics: object }>(send("/api/loyalty/profile", { token: fan.token }));
    assert.deepEqual(profile.metrics, { points: 13 });
    const board = `/projects/${projectId}/leaderboards/overall/users/${fan.userId}`;
    await until("the board shows the score", async () => (await send(board)).status === 200);
    const entry = await data<{ score: number; rank: number }>(send(board));
    assert.equal(entry.score, 13);
    assert.ok(entry.rank >= 1);
  });

  it("counts parallel actions of one fan once each", async () => {
    const fan = await arrive("Busy");
    const ids = Array.from({ length: 20 }, (_, index) => `parallel-${index}`);
    const answers = await Promise.all(
      [...ids, ...ids].map(id => reportOutcome(fan.userId, { matchId: id, outcome: "right" }, id)),
    );
    assert.deepEqual(new Set(answers.map(answer => answer.status)), new Set([200]));
    const profile = await data<{ metrics: object }>(send("/api/loyalty/profile", { token: fan.token }));
    assert.deepEqual(profile.metrics, { points: 20 });
  });

  it("sends a board to those who listen when its leaders have changed", async () => {
    const { projectId, baseUrl } = target().demo;
    const path = `/projects/${projectId}/leaderboards/overall?limit=100`;
    const headers = { accept: "text/event-stream" };
    const { body, headers: sent } = await fetch(`${baseUrl}${path}`, { headers });
    assert.equal(sent.get("content-type"), "text/event-stream");
    assert.ok(body !== null);
    const reader = new EventReader(body);
    const first = await reader.next();
    assert.equal(first?.data, await (await send(path)).text());
    const fan = await arrive("Live");
    await reportOutcome(fan.userId, { matchId: "1", outcome: "exact" });
    for (;;) {
      const { data: entries } = JSON.parse((await reader.next())?.data ?? "") as {
        data: { userId: string }[];
      };
      if (entries.some(({ userId }) => userId === fan.userId)) break;
    }
    await reader.leave();
  });

  it("serves a client that was written for other deployments", async () => {
    const { baseUrl, operatorToken: token, organisationId, spaceId } = target().demo;
    assert.ok(token !== null);
    const specUrl = `${baseUrl}/apps/catalogue/1.0.0/spec.json`;
    await playOldClient({ baseUrl, token, organisationId, spaceId, specUrl, fetch });
  });

  it("refuses calls without a token", async () => {
    const response = await send("/api/loyalty/profile");
    assert.equal(response.status, 401);
    assert.match(response.headers.get("www-authenticate") ?? "", /^Bearer/);
  });
}
