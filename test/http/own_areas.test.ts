import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { type Area, json, looseRoute, open } from "../../lib/http/mod.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import { testSecret } from "../support/platform.ts";

function areaAt(path: `/${string}`): Area {
  const hello = looseRoute({
    method: "GET",
    path,
    operation: "sayHello",
    summary: "Say hello",
    auth: open,
    responses: { 200: { description: "A greeting" } },
    handle: () => json(200, { hello: "world" }),
  });
  return { name: "own", family: "problem", routes: [hello] };
}

function platformWith(areas: readonly Area[]): Promise<Platform> {
  return createPlatform({ store: createMemoryStore(), secret: testSecret, areas });
}

describe("areas of one's own", () => {
  it("are served and described beside those of the platform", async () => {
    const { fetch } = await platformWith([areaAt("/own/hello")]);
    const response = await fetch(new Request("http://localhost/own/hello"));
    assert.deepEqual(await response.json(), { hello: "world" });
    const document = await fetch(new Request("http://localhost/openapi.json"));
    const { paths } = (await document.json()) as { paths: object };
    assert.ok("/own/hello" in paths && "/v1/user" in paths);
    assert.equal((await fetch(new Request("http://localhost/own/hello", { method: "PUT" }))).status, 405);
  });

  it("cannot take the routes of the platform", async () => {
    await assert.rejects(platformWith([areaAt("/v1/user")]), TypeError);
  });
});
