/**
 * The cost of `GET /api/v2/me` with a token seen before, through the whole stack in memory with its rate limit, beside bare
 * `node:http` that answers the same bytes. Fails if a warm request reads the store.
 *
 * ```sh
 * npm run bench -- control [rounds]
 * ```
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { openPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, ratio, table, type Variant } from "./harness.ts";
import type { Scene } from "./http_stack.ts";
import { type Commits, recordCommits } from "./recorded_commits.ts";

const rounds = Number(process.argv[2] ?? 3);
const path = "/api/v2/me";

async function prepare(): Promise<{ scene: Scene; token: string }> {
  const commits: Commits = [];
  let reads = 0;
  const world = await openPlatform(
    async clock => {
      const store = createMemoryStore({ clock });
      const { read } = store;
      store.read = ((partition, queries) => {
        reads++;
        return read.call(store, partition, queries);
      }) as typeof read;
      return recordCommits(store, commits);
    },
    { startAt: Date.now() },
  );
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate("op@example.com", { operator: true });
  const { token } = await authors.createToken({ userId, name: "Bench" });
  const { text } = await world.call(path, { token });
  const before = reads;
  await world.call(path, { token });
  if (reads > before) throw new Error(`A warm request read the store ${reads - before} times`);
  await world.dispose();
  return { scene: { commits, answers: { [path]: text } }, token };
}

if (canMeasure()) {
  const server = await bundleForBench(fileURLToPath(new URL("./http_stack_server.ts", import.meta.url)));
  const folder = mkdtempSync(join(tmpdir(), "grandstand-control-"));
  try {
    const { scene, token } = await prepare();
    const file = join(folder, "scene.json");
    writeFileSync(file, JSON.stringify(scene));
    const servers = ["bare", "grandstand"].map(
      (name): Variant => ({ name, command: ["node", server, name, file] }),
    );
    const rows = await compare(servers, { path, headers: { authorization: `Bearer ${token}` } }, { rounds });
    console.log(`\nGET /me\n\n${table(rows)}`);
    figure("`GET /me`, token seen before, to bare", ratio(rows, "grandstand", "bare").toFixed(2), "0.5");
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("Cannot measure: this needs Linux and wrk");
}
