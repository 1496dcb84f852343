/** The platform inside workerd, the runtime of edge workers, which has neither Node nor a file system. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { ids, seed } from "../support/platform.ts";

const path = fileURLToPath(new URL("node_modules/miniflare/dist/src/index.js", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip = !existsSync(path) && !isRequired && "miniflare is not installed: npm ci --prefix test/runtime";

interface Miniflare {
  dispatchFetch(url: string, init?: RequestInit): Promise<Response>;
  dispose(): Promise<void>;
}

const worker = `
import { createPlatform, MasterSecret, seedPlatform } from "./lib/mod.ts";
import { createMemoryStore } from "./adapters/memory/mod.ts";
let platform;
async function open() {
  const store = createMemoryStore();
  await seedPlatform(store, ${JSON.stringify({ ...seed, loyalty: {} })});
  return await createPlatform({ store, secret: new MasterSecret("a long text that only this test knows") });
}
export default {
  async fetch(request) {
    platform ??= open();
    return (await platform).fetch(request);
  },
};`;

describe("a platform in workerd", { skip }, () => {
  let miniflare: Miniflare;
  before(async () => {
    const { outputFiles } = await build({
      stdin: { contents: worker, resolveDir: root, loader: "js" },
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["workerd", "worker", "browser"],
      logLevel: "silent",
    });
    const contents = outputFiles[0]?.text ?? "";
    const { Miniflare: Workers } = await import(path);
    miniflare = new Workers({
      modules: [{ type: "ESModule", path: "worker.js", contents }],
      compatibilityDate: "2026-07-01",
    });
  });
  after(() => miniflare.dispose());

  it("answers health, registers a user and lists a leaderboard", async () => {
    const url = "http://club.example";
    assert.equal((await miniflare.dispatchFetch(`${url}/readyz`)).status, 200);
    const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
    const registered = await miniflare.dispatchFetch(`${url}/v1/user`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...selector, data: { username: "Sam" } }),
    });
    assert.equal(registered.status, 200, await registered.clone().text());
    const board = await miniflare.dispatchFetch(`${url}/projects/${ids.project}/leaderboards/overall`);
    assert.deepEqual(((await board.json()) as { data: unknown }).data, []);
  });
});
