import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { requestIds } from "../../../lib/http/dispatch/dispatcher.ts";
import {
  empty,
  envelope,
  identityEnvelope,
  json,
  type Reply,
  type ResponseFactory,
  text,
} from "../../../lib/http/mod.ts";
import { bodyOf, call, handlerOf, keptLog, throwing } from "./kit.ts";

function answer(reply: Reply, cache?: "public"): Promise<Response> {
  const caching = cache === undefined ? {} : { cache };
  return call(handlerOf([{ handle: () => reply, ...caching }]), "/things");
}

describe("a reply", () => {
  it("becomes JSON with the fields of every answer", async () => {
    const response = await answer(json(201, { a: "é" }));
    assert.equal(response.status, 201);
    const fields = [...response.headers].filter(([name]) => !name.startsWith("access-control-"));
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.deepEqual(Object.fromEntries(fields), {
      "cache-control": "no-store",
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "x-request-id": "request-1",
    });
    assert.deepEqual(await response.json(), { a: "é" });
  });

  it("may be text, a stream or nothing", async () => {
    const plain = await answer(text(200, "hello"));
    assert.equal(plain.headers.get("content-type"), "text/plain; charset=utf-8");
    assert.equal(await plain.text(), "hello");
    const body = new Blob(["bytes"]).stream();
    const streamed = await answer({ status: 200, body });
    assert.equal(streamed.headers.get("content-type"), "application/octet-stream");
    assert.equal(await streamed.text(), "bytes");
    const nothing = await answer(empty());
    assert.equal(nothing.status, 204);
    assert.equal(nothing.headers.get("content-type"), null);
  });

  it("has no body where the status forbids one", async () => {
    for (const status of [204, 205, 304]) {
      const response = await answer(json(status, { a: 1 }));
      assert.equal(response.status, status);
      assert.equal(await response.text(), "");
    }
  });

  it("may name its own media type and fields", async () => {
    const headers = { "content-type": "text/csv", etag: '"1"' };
    const response = await answer({ status: 200, text: "a,b", headers });
    assert.equal(response.headers.get("content-type"), "text/csv");
    assert.equal(response.headers.get("etag"), '"1"');
  });

  it("is wrapped by the envelope helpers", () => {
    assert.deepEqual(envelope([1]), { status: 200, json: { message: "OK", data: [1] } });
    const options = { status: 201, message: "Created", headers: { location: "/x" } };
    assert.deepEqual(identityEnvelope({ a: 1 }, options), {
      status: 201,
      json: { result: 1, message: "Created", data: { a: 1 } },
      headers: { location: "/x" },
    });
  });

  /** A runtime's own Response checks nothing before it is written. */
  const trusting: ResponseFactory = (body, { status, headers }) => {
    return new Response(body, { status: status === 500 ? 500 : 200, headers: status === 500 ? headers : {} });
  };

  it("that no Response can be made of is 500 and logged", async () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const impossible: Reply[] = [
      json(200, circular),
      json(200, 1n),
      { status: 99 },
      { status: 200, headers: { "x-a": "line\nbreak" } },
    ];
    for (const reply of impossible) {
      const logger = keptLog();
      const handler = handlerOf([{ handle: () => reply }], { logger });
      const response = await handler(new Request("http://platform.test/things"), {
        createResponse: trusting,
      });
      assert.equal(response.status, 500);
      assert.equal((await bodyOf(response)).code, "internal_error");
      assert.equal(logger.lines[0]?.event, "request_failed");
    }
  });
});

describe("Cache-Control", () => {
  const headers = { "cache-control": "public, max-age=60" };

  it("is no-store, whatever the handler says, unless the route is public", async () => {
    const stubborn = await answer({ status: 200, text: "", headers });
    assert.equal(stubborn.headers.get("cache-control"), "no-store");
  });

  it("is the handler's own on public routes", async () => {
    const cached = await answer({ status: 200, text: "", headers }, "public");
    assert.equal(cached.headers.get("cache-control"), "public, max-age=60");
    const silent = await answer(text(200, ""), "public");
    assert.equal(silent.headers.get("cache-control"), null);
  });

  it("is no-store on every error of a public route", async () => {
    const error = new AppError("busy", "Cannot do it", { headers });
    const handler = handlerOf([{ cache: "public", handle: throwing(error) }]);
    assert.equal((await call(handler, "/things")).headers.get("cache-control"), "no-store");
    assert.equal((await call(handler, "/nothing")).headers.get("cache-control"), "no-store");
  });
});

describe("the Response", () => {
  it("is made exactly once, of a string and a plain object", async () => {
    const made: { body: unknown; headers: object }[] = [];
    const createResponse: ResponseFactory = (body, init) => {
      made.push({ body, headers: init.headers });
      return new Response(body, init);
    };
    const headers = { origin: "https://app.example" };
    await handlerOf([{}])(new Request("http://platform.test/things", { headers }), { createResponse });
    assert.equal(made.length, 1);
    assert.equal(typeof made[0]?.body, "string");
    assert.equal(Object.getPrototypeOf(made[0]?.headers), Object.prototype);
  });

  it("still comes, as a bare 500, when an injected part breaks its promise", async () => {
    const handler = handlerOf([{}], { requestId: throwing(new Error("broken")) as () => never });
    assert.equal((await call(handler, "/things")).status, 500);
  });
});

describe("X-Request-Id", () => {
  const handler = handlerOf([{ handle: ({ requestId }) => text(200, requestId) }]);
  async function idFor(sent: string): Promise<string | null> {
    return (await call(handler, "/things", { headers: { "x-request-id": sent } })).headers.get(
      "x-request-id",
    );
  }

  it("keeps a sane id of the caller, 8 to 64 characters", async () => {
    for (const sane of ["abcdEF09", "a.b_c-d.", "x".repeat(64)]) assert.equal(await idFor(sane), sane);
  });

  it("replaces any other", async () => {
    for (const odd of [
      "short12",
      "x".repeat(65),
      "has space",
      'quote"quote',
      "é".repeat(8),
      "a/b/c/d/e",
      "",
    ]) {
      assert.equal(await idFor(odd), "request-1", odd);
    }
  });

  it("is the id that handlers see, and is on errors of every kind", async () => {
    const response = await call(handler, "/things", { headers: { "x-request-id": "from-caller" } });
    assert.equal(await response.text(), "from-caller");
    for (const [path, method] of [
      ["/nothing", "GET"],
      ["/things", "PUT"],
      ["/things", "OPTIONS"],
    ] as const) {
      assert.equal((await call(handler, path, { method })).headers.get("x-request-id"), "request-1");
    }
  });

  it("is sane and new for every request when it is generated", () => {
    const next = requestIds();
    const other = requestIds();
    const ids = Array.from({ length: 1_000 }, next);
    assert.equal(new Set([...ids, other()]).size, 1_001);
    for (const id of ids) assert.match(id, /^[A-Za-z0-9._-]{8,64}$/);
  });
});
