/** The typed client in runtimes that differ from browsers: workers of an old date, and Node with locks for the process. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { serve } from "../../runtime/node.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { builtPackage, runtimes } from "./runtimes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const miniflare = fileURLToPath(new URL("node_modules/miniflare/dist/src/index.js", import.meta.url));
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip =
  !existsSync(miniflare) && !isRequired && "miniflare is not installed: npm ci --prefix test/runtime";
const node = runtimes.find(({ name }) => name.startsWith("Node 24"));
const entry = `${builtPackage()}/lib/client/mod.js`;

describe("the typed client", () => {
  let world: TestPlatform;
  let server: Awaited<ReturnType<typeof serve>>;
  let options: string;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    server = await serve(world.platform.fetch, { port: 0 });
    options = `url: ${JSON.stringify(server.url)}, projectId: ${JSON.stringify(ids.project)}`;
  });
  after(async () => {
    await server.stop();
    await world.dispose();
  });

  it("calls from a worker whose compatibility date knows neither cache nor credentials", {
    skip,
  }, async () => {
    const contents = `
      import { createFanClient, identity, loyalty } from ${JSON.stringify(entry)};
      export default {
        async fetch() {
          try {
            const fan = createFanClient({ ${options}, areas: { identity, loyalty } });
            await fan.session.register({ provider: "noLogin", username: "Sam" });
            await fan.loyalty.reportAction({ body: { action: "cheer" } });
            return Response.json(Object.keys((await fan.loyalty.getRewardsProfile()).metrics));
          } catch (error) {
            return new Response(String(error.cause ?? error), { status: 500 });
          }
        },
      };`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: root },
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      logLevel: "silent",
    });
    const { Miniflare: Workers } = await import(miniflare);
    const worker = new Workers({
      modules: [{ type: "ESModule", path: "worker.js", contents: outputFiles[0]?.text ?? "" }],
      compatibilityDate: "2022-10-31",
    });
    try {
      const answer = await worker.dispatchFetch("http://app.example");
      assert.equal(answer.status, 200, await answer.clone().text());
      assert.ok((await answer.json()).includes("points"));
    } finally {
      await worker.dispose();
    }
  });

  it("lets no fan of a process wait for another's renewal where locks are the process's", {
    skip: node?.skip,
  }, async () => {
    const program = `
      import { createFanClient, loyalty } from ${JSON.stringify(entry)};
      if (navigator.locks === undefined) throw new Error("this runtime has no locks");
      const open = async (username, own) => {
        const fan = createFanClient({ ${options}, areas: { loyalty }, fetch: own });
        await fan.session.register({ provider: "noLogin", username });
        return fan;
      };
      const stuck = (address, init) =>
        address.endsWith("/api/auth/token") ? new Promise(() => {}) : fetch(address, init);
      const [slow, quick] = [await open("Slow", stuck), await open("Quick", fetch)];
      slow.loyalty.getRewardsProfile().catch(() => {});
      await new Promise(resolve => setImmediate(resolve));
      console.log(Object.keys((await quick.loyalty.getRewardsProfile()).metrics).join());
      process.exit(0);`;
    const [command = ""] = node?.command ?? [];
    const { stdout } = await promisify(execFile)(command, ["--input-type=module", "-e", program], {
      timeout: 30_000,
    });
    assert.match(stdout, /points/);
  });
});
