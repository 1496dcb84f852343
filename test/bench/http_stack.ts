/**
 * The cost of a request through the whole stack beside the runtime's bare server that answers the same bytes: the top 10
 * of a leaderboard, and a rewards profile with a token seen before. In memory, with access lines off and on.
 *
 * ```sh
 * npm run bench -- http_stack [rounds]
 * ```
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { runtimes } from "../runtime/runtimes.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, type Load, ratio, table, type Variant } from "./harness.ts";
import { type Commits, recordCommits } from "./recorded_commits.ts";

const rounds = Number(process.argv[2] ?? 5);
const fans = 1_000;

/** Start settings of a server under test. */
export interface Scene {
  /** Every commit that made the data, in order. */
  readonly commits: Readonly<Commits>;
  /** The answers that the bare servers give, by path. */
  readonly answers: Readonly<Record<string, string>>;
}

/** Lets fans act on a platform, and keeps every commit, so that each server under test can start from the same data. */
async function prepare(): Promise<{ scene: Scene; token: string }> {
  const commits: Commits = [];
  const world = await openPlatform(async clock => recordCommits(createMemoryStore({ clock }), commits), {
    clock: Date.now,
  });
  let token = "";
  for (let index = 0; index < fans; index++) {
    const fan = await world.fan(`Fan ${index}`);
    await fan.act("prediction", { outcome: index % 3 === 0 ? "exact" : "right", eventId: ids.event });
    await world.platform.idle();
    token = fan.token;
  }
  const answers: Record<string, string> = {};
  for (const path of Object.values(paths)) answers[path] = (await world.call(path, { token })).text;
  await world.dispose();
  return { scene: { commits, answers }, token };
}

const loadNames = { leaderboard: "GET leaderboard, top 10", profile: "GET loyalty profile" };

/** Least shares of the bare server's rate, by the beginning of the runtime's name. */
const bars = [
  { runtime: "Node", [loadNames.leaderboard]: "0.85", [loadNames.profile]: "0.8" },
  { runtime: "Deno", [loadNames.leaderboard]: "0.75", [loadNames.profile]: "0.7" },
  { runtime: "Bun", [loadNames.leaderboard]: "0.65", [loadNames.profile]: "0.6" },
];
const barOf = (name: string, load: string): string =>
  bars.find(({ runtime }) => name.startsWith(runtime))?.[load] ?? "";

const paths = {
  leaderboard: `/projects/${ids.project}/leaderboards/overall?limit=10`,
  profile: "/api/loyalty/profile",
};

if (canMeasure()) {
  const server = await bundleForBench(fileURLToPath(new URL("./http_stack_server.ts", import.meta.url)));
  const folder = mkdtempSync(join(tmpdir(), "grandstand-stack-"));
  try {
    const { scene, token } = await prepare();
    const file = join(folder, "scene.json");
    writeFileSync(file, JSON.stringify(scene));
    const loads: Readonly<Record<string, Load>> = {
      [loadNames.leaderboard]: { path: paths.leaderboard },
      [loadNames.profile]: { path: paths.profile, headers: { authorization: `Bearer ${token}` } },
    };
    for (const { name, command, skip } of runtimes) {
      if (skip !== false) continue;
      const variants = ["bare", "bare, serialising", "grandstand", "grandstand, access lines"];
      const servers: Variant[] = variants.map(variant => ({
        name: variant,
        command: [...command, server, variant, file],
      }));
      for (const [what, load] of Object.entries(loads)) {
        const rows = await compare(servers, load, { rounds });
        console.log(`\n${name}: ${what}\n\n${table(rows)}`);
        figure(
          `whole stack in memory, ${what}, ${name}, to bare`,
          ratio(rows, "grandstand", "bare").toFixed(2),
          barOf(name, what),
        );
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  console.log("Cannot measure: this needs Linux and wrk");
}
