import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { any, looseObject, object, optional, pipe, string, toNumber, unknown, uuid } from "valibot";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { Metrics } from "../../../lib/base/metrics/mod.ts";
import { createHandler, type Handler } from "../../../lib/http/mod.ts";
import { area, handlerOf } from "./kit.ts";

const seed = 20_240_607;
const requestsTried = 4_000;

const random = createRandom(seed).next;

function pick<T>(items: readonly [T, ...T[]]): T {
  return items[Math.floor(random() * items.length)] ?? items[0];
}

function many(part: () => string, most: number): string {
  return Array.from({ length: Math.floor(random() * (most + 1)) }, part).join("");
}

const oddPieces = [
  ...[
    "/",
    "//",
    "..",
    ".",
    "%2e%2e",
    "%",
    "%zz",
    "%ff",
    "%00",
    "%F0%9F%8F%86",
    "é",
    "🏆",
    "?",
    "#",
    "&",
    "=",
    "+",
  ],
  ...[
    "things",
    "v1",
    "user",
    "constructor",
    "__proto__",
    "toString",
    "{}",
    ":id",
    "*",
    "\\",
    "'",
    '"',
    "<a>",
    " ",
  ],
  ...["a=1", "b=%5B", "x".repeat(3_000), "0", "-1", "NaN", "null", "%252F", ";", "@", "://", "http://other"],
] as unknown as [string, ...string[]];
const oddBodies = [
  ...[
    "",
    "{}",
    "[]",
    "null",
    "true",
    "1e999",
    '"',
    '"\\ud800"',
    "[".repeat(70),
    `${"[".repeat(5_000)}1`,
    "\u0000",
  ],
  ...['{"__proto__":{}}', '{"constructor":{"prototype":{}}}', '{"a":"b"}', '{"a":1}', "{'a':1}", "\ufeff{}"],
  ...["x".repeat(70_000), `{"a":"${"y".repeat(70_000)}"}`, '{"a":1,"a":2}', "undefined", "\ud800"],
] as unknown as [string, ...string[]];
const oddHeaders = [
  ...[
    "",
    "x",
    "a,b",
    "bytes=0-",
    "*/*",
    "application/json",
    "APPLICATION/JSON ; charset=UTF-8",
    "é",
    "999999999999",
  ],
  ...[
    "-1",
    "0x10",
    "Bearer",
    "Bearer ..",
    "null",
    "https://app.example",
    "q".repeat(9_000),
    "chunked",
    "text/html",
  ],
] as unknown as [string, ...string[]];
const headerNames = [
  ...[
    "content-type",
    "content-length",
    "origin",
    "x-request-id",
    "authorization",
    "accept",
    "if-match",
    "host",
  ],
  ...["access-control-request-method", "x-forwarded-for", "x-platform-org-id", "cookie", "content-encoding"],
] as unknown as [string, ...string[]];

function oddRequest(): Request {
  const known = pick([
    "/things",
    "/things/1",
    "/v1/user",
    "/v1/user/x/y",
    "/healthz",
    "/openapi.json",
    "/metrics",
    "",
  ]);
  const path = `${known}${random() < 0.5 ? "" : many(() => pick(oddPieces), 4)}`;
  const method = pick(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "x-odd"]);
  const headers = new Headers();
  for (let n = Math.floor(random() * 5); n > 0; n--) headers.set(pick(headerNames), pick(oddHeaders));
  if (random() < 0.6) headers.set("content-type", "application/json");
  const body = method === "GET" || method === "HEAD" ? null : pick(oddBodies);
  return new Request(`http://platform.test/${path.replace(/^\//, "")}`, { method, headers, body });
}

/** A request as a careless bridge might make it: nothing is normalised. */
function rawRequest(): Request {
  const url =
    pick(["http://h", "http://h/", "/", "", "http://", "h", "*", "//"]) + many(() => pick(oddPieces), 6);
  const request = oddRequest();
  return new Proxy(request, {
    get(target, name) {
      if (name === "url") return url;
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function robustHandler(): Handler {
  const id = object({ id: string() });
  const things = area([
    { query: object({ a: optional(pipe(string(), toNumber())) }) },
    { path: "/things/:id", params: id, query: looseObject({}) },
    {
      path: "/things/:id",
      method: "PUT",
      params: object({ id: pipe(string(), uuid()) }),
      body: { schema: any() },
    },
    { path: "/things", method: "POST", body: { schema: object({ a: string() }) } },
  ]);
  const people = area(
    [
      { path: "/v1/user", method: "POST", body: { schema: unknown(), maxBytes: 1_000 } },
      { path: "/v1/user/:id/:part", query: object({}) },
    ],
    "identity",
  );
  return createHandler([things, people], {
    metrics: new Metrics(),
    servesMetrics: true,
    cors: { origins: ["https://app.example"] },
  });
}

describe("odd requests", () => {
  it(`never make the handler reject or answer 5xx (${requestsTried} of them, seed ${seed})`, async () => {
    const handler = robustHandler();
    const seen = new Set<number>();
    for (let n = 0; n < requestsTried; n++) {
      const request = n % 4 === 0 ? rawRequest() : oddRequest();
      const label = `${n}: ${request.method} ${request.url.slice(0, 200)}`;
      const answer = await handler(request, random() < 0.5 ? { framed: true } : {});
      seen.add(answer.status);
      assert.ok(answer.status >= 200 && answer.status < 500, `${label} gave ${answer.status}`);
      assert.ok(answer.headers.get("x-request-id"), label);
      const text = await answer.text();
      const json = /json/.test(answer.headers.get("content-type") ?? "");
      if (json && request.method !== "HEAD") assert.doesNotThrow(() => JSON.parse(text), label);
    }
    for (const status of [200, 204, 400, 404, 405, 413, 415])
      assert.ok(seen.has(status), `never saw ${status}`);
  });

  it("are answered in any number at once, each with its own answer", async () => {
    const handler = handlerOf([{ path: "/things/:id" }]);
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, n) => {
        const answer = await handler(new Request(`http://platform.test/things/${n}`));
        return ((await answer.json()) as { params: { id: string } }).params.id;
      }),
    );
    assert.deepEqual(
      answers,
      Array.from({ length: 200 }, (_, n) => String(n)),
    );
  });
});
