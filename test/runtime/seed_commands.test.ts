/** `grandstand seed apply`, beside a running server. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { databases } from "../support/databases.ts";
import { ids, seed } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const secret = "Zm9yIHRlc3RzIG9ubHksIG5vdCBmb3IgYW55IGRlcGxveW1lbnQ";
const folder = mkdtempSync(join(tmpdir(), "grandstand-seed-apply-"));
after(() => rmSync(folder, { recursive: true }));
const built = runtimes.find(({ skip }) => skip === false);

function file(name: string, document: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

function apply(path: string, environment: Readonly<Record<string, string>>): Promise<Outcome> {
  return runHere(["seed", "apply", path, "--json"], environment);
}

for (const { name, setting, skip, empty } of databases) {
  it(`grandstand seed apply reaches servers on ${name} that run, all of it or nothing`, { skip }, async t => {
    assert.ok(built !== undefined);
    const store = { [setting]: await empty() };
    const settings = { ...store, GRANDSTAND_SECRET: secret, GRANDSTAND_PORT: "0" };
    const { events, ...rest } = seed;
    const server = start([...cliCommand(built), "serve"], {
      ...settings,
      GRANDSTAND_SEED: file("first.json", { ...rest, events: [] }),
    });
    t.after(() => server.signal("SIGKILL"));
    const [, url = ""] = await server.match(/listens on (\S+)/);
    const board = async (event = "current"): Promise<number> =>
      (await fetch(`${url}/projects/${ids.project}/events/${event}/leaderboards/round_1`)).status;
    assert.equal(await board(), 404);

    const [project, ...others] = seed.projects;
    const invalid = { ...seed, projects: [{ ...project, settings: { leaderboards: 5 } }, ...others] };
    const refused = await apply(file("invalid.json", invalid), store);
    assert.deepEqual([refused.code, refused.stdout], [8, ""]);
    assert.match(refused.stderr, /\/projects\/0\/settings\/leaderboards/);
    const [club, rival] = seed.spaces;
    const thief = { ...club, id: "0b000000-0000-4000-8000-000000000009", domain: rival?.domain };
    const conflicting = { ...seed, spaces: [club, thief], projects: [project], loyalty: {} };
    assert.equal((await apply(file("conflicting.json", conflicting), store)).code, 7);
    assert.equal(await board(ids.event), 404);

    const done = await apply(file("second.json", seed), store);
    assert.equal(done.code, 0, done.stderr);
    const counts = { organisations: 2, spaces: 2, projects: 2, events: events.length, loyalty: 1 };
    assert.deepEqual(JSON.parse(done.stdout).data, counts);
    await until("the server knows the event", async () => (await board()) === 200);
  });
}
