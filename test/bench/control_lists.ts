/**
 * The cost of a list of 100 events with `include=project,stats`, through the whole stack in memory, beside bare `node:http` that
 * answers the same bytes. Fails if the list takes more than 3 round trips of a store.
 *
 * ```sh
 * npm run bench -- control_lists [rounds]
 * ```
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, ratio, table, type Variant } from "./harness.ts";
import type { Scene } from "./http_stack.ts";
import { type Commits, recordCommits } from "./recorded_commits.ts";

const rounds = Number(process.argv[2] ?? 3);
const eventsCount = 100;
const tripsMax = 3;
const path = `/api/v2/projects/${ids.project}/events?page%5Bcount%5D=${eventsCount}&sort=-start_time&include=project,stats`;
const settings = [{ key: "description", values: { all: "A".repeat(100) } }];

async function prepare(): Promise<{ scene: Scene; token: string; trips: number }> {
  const commits: Commits = [];
  let reads = 0;
  let waiting = 0;
  const world = await openPlatform(
    async clock => {
      const store = createMemoryStore({ clock });
      const { read } = store;
      // Reads that are asked for at once are one round trip on Redis.
      store.read = (async (partition, queries) => {
        if (waiting++ === 0) reads++;
        await setImmediate();
        waiting--;
        return await read.call(store, partition, queries);
      }) as typeof read;
      return recordCommits(store, commits);
    },
    { startAt: Date.now() },
  );
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate("op@example.com", { operator: true });
  const { token } = await authors.createToken({ userId, name: "Bench" });
  const relationships = { project: { data: { type: "projects", id: ids.project } } };
  for (let index = 0; index < eventsCount; index++) {
    const attributes = { name: `Match ${index}`, settings };
    await world.call("/api/v2/events", {
      token,
      body: { data: { type: "events", attributes, relationships } },
    });
  }
  await world.call(path, { token });
  const before = reads;
  const { text, status } = await world.call(path, { token });
  if (status !== 200) throw new Error(text);
  const trips = reads - before;
  await world.dispose();
  return { scene: { commits, answers: { [path]: text } }, token, trips };
}

if (canMeasure()) {
  const server = await bundleForBench(fileURLToPath(new URL("./http_stack_server.ts", import.meta.url)));
  const folder = mkdtempSync(join(tmpdir(), "grandstand-control-lists-"));
  try {
    const { scene, token, trips } = await prepare();
    if (trips > tripsMax)
      throw new Error(`A list takes ${trips} round trips, at most ${tripsMax} are allowed`);
    const file = join(folder, "scene.json");
    writeFileSync(file, JSON.stringify(scene));
    const servers = ["bare", "grandstand"].map(
      (name): Variant => ({ name, command: ["node", server, name, file] }),
    );
    const rows = await compare(servers, { path, headers: { authorization: `Bearer ${token}` } }, { rounds });
    const bytes = String(scene.answers[path]).length;
    console.log(`\nList of ${eventsCount} events, ${bytes} bytes, ${trips} round trips\n\n${table(rows)}`);
    figure(
      `list of ${eventsCount} events with project and stats, to bare`,
      ratio(rows, "grandstand", "bare").toFixed(2),
      "0.15",
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("Cannot measure: this needs Linux and wrk");
}
