import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { CorsOptions } from "../../../lib/http/mod.ts";
import { corsRequestHeaders } from "../../../lib/http/replies/replies.ts";
import { call, handlerOf, throwing } from "./kit.ts";

const origin = "https://app.example";
const sketches = [
  {},
  { method: "POST", path: "/things" },
  { path: "/busy", handle: throwing(new AppError("busy", "Cannot do it")) },
  { path: "/vary", handle: () => ({ status: 200, text: "", headers: { vary: "accept" } }) },
] as const;

function from(
  cors: CorsOptions | false | undefined,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const handler = handlerOf(sketches, cors === undefined ? {} : { cors });
  return call(handler, path, init);
}

const asked = { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } };

describe("cross-origin answers", () => {
  it("are open to everybody by default, with the fields that scripts may read", async () => {
    const { headers } = await from(undefined, "/things", { headers: { origin } });
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.match(headers.get("access-control-expose-headers") ?? "", /\bratelimit\b.*\bx-request-id\b/);
    assert.equal(headers.get("vary"), null);
    assert.equal(headers.get("access-control-allow-credentials"), null);
  });

  it("are the same without an Origin, as caches hand them on", async () => {
    const { headers } = await from(undefined, "/things");
    assert.equal(headers.get("access-control-allow-origin"), "*");
  });

  it("are given to listed origins only, and always vary by origin", async () => {
    const cors = { origins: [origin] };
    const listed = await from(cors, "/things", { headers: { origin } });
    assert.equal(listed.headers.get("access-control-allow-origin"), origin);
    for (const other of ["https://app.example.evil", "http://app.example", "null", "https://APP.example"]) {
      const { status, headers } = await from(cors, "/things", { headers: { origin: other } });
      assert.equal(status, 200);
      assert.equal(headers.get("access-control-allow-origin"), null, other);
      assert.equal(headers.get("vary"), "origin");
    }
    assert.equal((await from(cors, "/things")).headers.get("vary"), "origin");
  });

  it("keep the Vary of a reply", async () => {
    const { headers } = await from({ origins: [origin] }, "/vary", { headers: { origin } });
    assert.equal(headers.get("vary"), "accept, origin");
  });

  it("include errors of every kind, so that scripts can read them", async () => {
    for (const path of ["/nothing", "/busy", "/things?"]) {
      const { headers } = await from(undefined, path, { headers: { origin } });
      assert.equal(headers.get("access-control-allow-origin"), "*", path);
    }
  });

  it("refuse to be configured for an origin that no browser sends", () => {
    for (const odd of [
      "https://app.example/",
      "app.example",
      "*",
      "https://App.example",
      "https://app.example/x",
    ]) {
      assert.throws(() => handlerOf([], { cors: { origins: [odd] } }), TypeError, odd);
    }
    assert.ok(handlerOf([], { cors: { origins: ["capacitor://localhost", "http://localhost:5173"] } }));
  });

  it("can be left to a proxy", async () => {
    const { headers } = await from(false, "/things", { headers: { origin } });
    assert.equal(headers.get("access-control-allow-origin"), null);
    const preflight = await from(false, "/things", asked);
    assert.equal(preflight.headers.get("access-control-allow-methods"), null);
    assert.equal(preflight.status, 204);
  });
});

describe("a preflight", () => {
  it("is answered with the methods of the path, the header fields and an age", async () => {
    const { status, headers } = await from(undefined, "/things", asked);
    assert.equal(status, 204);
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("access-control-allow-methods"), "GET, HEAD, OPTIONS, POST");
    assert.equal(headers.get("access-control-allow-headers"), corsRequestHeaders.join(", "));
    assert.equal(headers.get("access-control-max-age"), "7200");
  });

  it("does not allow the header fields of API keys", () => {
    assert.deepEqual(
      corsRequestHeaders.filter(name => name.startsWith("x-api")),
      [],
    );
  });

  it("follows the configuration", async () => {
    const cors = { origins: [origin], requestHeaders: ["x-a"], exposedHeaders: ["x-b"], maxAgeSeconds: 5 };
    const { headers } = await from(cors, "/things", asked);
    assert.equal(headers.get("access-control-allow-origin"), origin);
    assert.equal(headers.get("access-control-allow-headers"), [...corsRequestHeaders, "x-a"].join(", "));
    assert.equal(headers.get("access-control-max-age"), "5");
    assert.equal(headers.get("access-control-expose-headers"), "x-b");
  });

  it("grants nothing to an origin that is not listed", async () => {
    const { status, headers } = await from({ origins: ["https://other.example"] }, "/things", asked);
    assert.equal(status, 204);
    assert.equal(headers.get("access-control-allow-methods"), null);
    assert.equal(headers.get("access-control-allow-origin"), null);
  });

  it("of an unknown path is 404 that scripts can read", async () => {
    const { status, headers } = await from(undefined, "/nothing", asked);
    assert.equal(status, 404);
    assert.equal(headers.get("access-control-allow-origin"), "*");
  });

  it("is not confused with a plain OPTIONS", async () => {
    const { headers } = await from(undefined, "/things", { method: "OPTIONS", headers: { origin } });
    assert.equal(headers.get("access-control-allow-methods"), null);
    assert.equal(headers.get("allow"), "GET, HEAD, OPTIONS, POST");
  });
});
