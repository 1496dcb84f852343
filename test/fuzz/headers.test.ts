/** No header field, and no session record, makes the platform fail or let somebody in. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { createTestKit, type TestFan, type TestKit } from "../../lib/testing/mod.ts";
import { sampleSize } from "../support/full.ts";
import { loyalty } from "../support/platform.ts";
import { mutate } from "./_mutate.ts";

const cases = sampleSize(1_000, 500);

/** Valid values by field. */
const fields: Readonly<Record<string, readonly string[]>> = {
  accept: [
    "application/json",
    "text/html;q=0.5, */*;q=0.1",
    "application/vnd.api+json; ext=x",
    "text/event-stream",
  ],
  "accept-language": ["es-ES,en;q=0.5", "*"],
  "content-type": ["application/json; charset=utf-8", "multipart/form-data; boundary=x", "text/plain"],
  "content-encoding": ["gzip", "identity"],
  cookie: ["a=b; c=d"],
  origin: ["https://club.example", "null"],
  "access-control-request-method": ["PUT"],
  "access-control-request-headers": ["authorization, x-api-key"],
  range: ["bytes=0-99", "bytes=-5,0-"],
  "if-match": ['"v1"', "*"],
  "if-none-match": ['W/"v1", "v2"'],
  "if-modified-since": ["Wed, 21 Oct 2026 07:28:00 GMT"],
  "x-forwarded-for": ["192.0.2.1, 10.0.0.1", "[2001:db8::1]:443"],
  forwarded: ['for=192.0.2.1;proto=https;host="a"'],
  traceparent: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
  tracestate: ["a=b,c=d"],
  "x-request-id": ["0123456789abcdef"],
  "idempotency-key": ["0b000000-0000-4000-8000-000000000001"],
  "last-event-id": ["12"],
  "x-platform-org-id": ["0a000000-0000-4000-8000-000000000001"],
  "x-api-key": ["gsk_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
  "x-api-secret": ["gss_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
};

describe("header fields and session records", () => {
  let kit: TestKit;
  let fan: TestFan;
  before(async () => {
    kit = await createTestKit({ loyalty });
    fan = await kit.fan();
  });
  after(() => kit.close());

  it("are taken or refused, whatever they hold", async () => {
    const random = createRandom(3);
    const names = Object.keys(fields);
    const { projectId, spaceId } = kit.ids;
    const targets = [
      ["GET", "/api/loyalty/profile"],
      ["POST", "/api/loyalty/action"],
      ["GET", `/projects/${projectId}/leaderboards/overall`],
      ["GET", `/api/v2/spaces/${spaceId}`],
      ["PUT", `/api/v2/spaces/${spaceId}/loyalty`],
      ["OPTIONS", "/v1/user"],
      ["GET", "/openapi.json"],
      ["GET", "/healthz"],
    ] as const;
    for (let index = 0; index < cases; index++) {
      const [method, path] = random.pick(targets);
      const headers = new Headers();
      if (random.chance(0.5)) headers.set("authorization", `Bearer ${await fan.token()}`);
      for (let count = 1 + random.integer(3); count > 0; count--) {
        const name = random.pick(names);
        setIfPossible(headers, name, mutate(random, fields[name] ?? []));
      }
      const body = method === "POST" || method === "PUT" ? '{"action":"cheer","data":{}}' : null;
      const { status } = await kit.fetch(path, { method, headers, body });
      assert.ok(
        status < 500,
        `${method} ${path}: ${status} with ${JSON.stringify([...headers])}, case ${index}`,
      );
    }
  });

  it("open nothing with changed tokens", async () => {
    const random = createRandom(4);
    const token = await fan.token();
    for (let index = 0; index < cases; index++) {
      const headers = new Headers();
      const changed = mutate(random, [token]);
      setIfPossible(headers, "authorization", `Bearer ${changed}`);
      const { status } = await kit.fetch("/api/loyalty/profile", { headers });
      const isOwn = headers.get("authorization") === `Bearer ${token}`;
      assert.ok(
        isOwn ? status === 200 : status === 401 || status === 400,
        `${status} for ${changed}, case ${index}`,
      );
    }
  });

  it("prove nobody with changed session records", async () => {
    const random = createRandom(5);
    const { projectId } = kit.ids;
    const selector = { projectId, strategy: "simplified", provider: "noLogin" };
    const signUp = { ...selector, data: { username: "Ann" } };
    const { data: record } = await kit.call<{ readonly data: object }>("/v1/user", signUp);
    const own = JSON.stringify({ type: "sessionRecord", projectId, record });
    const { deviceId, userId, externalId, timeStamp, signature } = record as Readonly<
      Record<string, unknown>
    >;
    for (let index = 0; index < cases; index++) {
      const body = mutate(random, [own]);
      const headers = { "content-type": "application/json" };
      const { status } = await kit.fetch("/api/auth/token", { method: "POST", headers, body });
      if (status !== 200) {
        assert.ok(status >= 400 && status < 500, `${status} for ${body}, case ${index}`);
        continue;
      }
      const taken = JSON.parse(body).record;
      assert.deepEqual(
        [taken.deviceId, taken.userId, taken.externalId, taken.timeStamp, taken.signature],
        [deviceId, userId, externalId, timeStamp, signature],
        body,
      );
    }
  });
});

function setIfPossible(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // No client can send it.
  }
}
