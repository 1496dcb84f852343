/** A typed client that a generator makes of the OpenAPI document: compiled, then used against a platform. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { skipUnlessFull } from "../support/full.ts";
import { ids, openPlatform } from "../support/platform.ts";

const modules = fileURLToPath(new URL("node_modules", import.meta.url));
const generator = join(modules, "openapi-typescript/bin/cli.js");
const isRequired = process.env.GRANDSTAND_REQUIRE_RUNTIMES === "1";
const skip =
  !existsSync(generator) && !isRequired
    ? "openapi-typescript is not installed: npm ci --prefix test/runtime"
    : skipUnlessFull("a client of another generator");
const folder = mkdtempSync(join(tmpdir(), "grandstand-client-"));

const client = `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

export type Entry = components["schemas"]["LeaderboardEntry"];

export async function top(fetch: typeof globalThis.fetch, projectId: string): Promise<readonly string[]> {
  const client = createClient<paths>({ baseUrl: "http://club.example", fetch });
  const path = { projectId, leaderboardId: "overall" };
  const { data, error } = await client.GET("/projects/{projectId}/leaderboards/{leaderboardId}", {
    params: { path, query: { limit: 3 } },
  });
  if (typeof data !== "object") throw new Error(JSON.stringify(error));
  const entries: readonly Entry[] = data.data;
  return entries.map(({ rank, publicProfile }) => rank.toFixed(0) + " " + publicProfile.username.toUpperCase());
}

export async function country(fetch: typeof globalThis.fetch, projectId: string): Promise<string> {
  const client = createClient<paths>({ baseUrl: "http://club.example", fetch });
  const { data, error } = await client.GET("/v1/locations/projects/{projectId}/check", {
    params: { path: { projectId } },
  });
  return data?.data.country.iso_code ?? String(error);
}
`;

function run(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
}

after(() => rmSync(folder, { recursive: true }));

describe("a generated client", { skip }, () => {
  it("compiles and reads what the platform answers", async () => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    await world.platform.idle();
    symlinkSync(modules, join(folder, "node_modules"));
    writeFileSync(join(folder, "openapi.json"), (await world.call("/openapi.json")).text);
    run(generator, "openapi.json", "--output", "schema.d.ts");
    writeFileSync(join(folder, "client.ts"), client);
    const compiler = join(modules, "typescript/bin/tsc");
    const flags = ["--noEmit", "--strict", "--target", "es2023", "--module", "esnext"];
    run(compiler, ...flags, "--moduleResolution", "bundler", "--allowImportingTsExtensions", "client.ts");
    const bundled = join(folder, "client.mjs");
    await build({
      entryPoints: [join(folder, "client.ts")],
      outfile: bundled,
      bundle: true,
      format: "esm",
      platform: "node",
      logLevel: "silent",
    });
    const { top, country } = await import(pathToFileURL(bundled).href);
    const fetch = (request: Request): Promise<Response> => world.platform.fetch(request);
    assert.deepEqual(await top(fetch, ids.project), ["1 SAM"]);
    assert.equal(await country(fetch, ids.project), "ZZ");
    await world.dispose();
  });
});
