import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { jwksArea } from "../../../lib/auth/tokens/jwks_routes.ts";
import { createFixture, openRing } from "./_setup.ts";

describe("GET /.well-known/jwks.json", () => {
  it("publishes the public keys, cacheable for ten minutes", async () => {
    const ring = await openRing(createFixture());
    await ring.rotate();
    const [route, ...others] = jwksArea({ ring }).routes;
    assert.ok(route !== undefined && others.length === 0);
    assert.deepEqual([route.method, route.path, route.auth.security], ["GET", "/.well-known/jwks.json", []]);
    const reply = await route.handle({
      request: new Request("https://id.example/.well-known/jwks.json"),
      info: {},
      requestId: "r",
      principal: null,
      params: {},
      query: {},
      body: undefined,
    });
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.headers, { "cache-control": "public, max-age=600" });
    assert.equal(route.cache, "public");
    assert.deepEqual(reply.json, await ring.jwks());
  });
});
