/** The commands of `grandstand keys`: a first key in the store itself, the others over a server. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { permissions } from "../../lib/auth/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { ids, seed } from "../support/platform.ts";
import { type Outcome, runHere } from "./command_line.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-keys-"));
const built = runtimes.find(({ skip }) => skip === false);
const base = {
  GRANDSTAND_DATA: join(folder, "data"),
  GRANDSTAND_SECRET: "a secret that only this test knows and is long enough",
  GRANDSTAND_ORG: ids.organisation,
};
const shown = /^GRANDSTAND_API_KEY=(gsk_[a-z2-7]{26})\nGRANDSTAND_API_SECRET=(gss_[a-z2-7]{58})\n$/;

function run(
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
  environment: Readonly<Record<string, string>> = base,
): Promise<Outcome> {
  return runHere(["keys", ...args], { ...environment, ...more });
}

async function setFormat(value: string): Promise<void> {
  await using store = await openFileStore(base.GRANDSTAND_DATA, { fsync: "never" });
  const write = { type: "put", key: "format", value } as const;
  assert.ok((await store.commit(platformPartition("key_ring"), { writes: [write] })).ok);
}

after(() => rmSync(folder, { recursive: true }));

describe("grandstand keys", () => {
  let first: Readonly<Record<string, string>> = {};
  let server: Program;

  before(async () => {
    assert.ok(built !== undefined);
    const path = join(folder, "seed.json");
    writeFileSync(path, JSON.stringify({ ...seed, loyalty: undefined }));
    const seeded = await runHere(["seed", "apply", path], base);
    assert.equal(seeded.code, 0, seeded.stderr);
    const { code, stdout, stderr } = await run(["bootstrap"]);
    assert.equal(code, 0, stderr);
    const [, key = "", secret = ""] = shown.exec(stdout) ?? assert.fail(stdout);
    assert.match(stderr, /shown only once/);
    await checkRefusals();
    const again = await run(["bootstrap"]);
    assert.deepEqual([again.code, again.stdout], [7, ""]);
    assert.match(again.stderr, /has 1 API keys already/);
    const forced = await run(["bootstrap", "--force", "--name", "Spare", "--json"]);
    assert.equal(forced.code, 0);
    assert.deepEqual(JSON.parse(forced.stdout).data.permissions, permissions);
    server = start([...cliCommand(built), "serve", "--port", "0", "--log", "error"], base);
    const [, url = ""] = await server.match(/listens on (http:\S+)/);
    first = { GRANDSTAND_URL: url, GRANDSTAND_API_KEY: key, GRANDSTAND_API_SECRET: secret };
  });
  after(async () => {
    server.signal("SIGTERM");
    assert.equal(await server.ended, 0);
  });

  /** Runs every command that signs or seals against a store that no server has opened. */
  async function checkRefusals(): Promise<void> {
    const token = join(folder, "token");
    writeFileSync(token, `${btoa("{}")}.${btoa("{}")}.x`);
    const commands = [
      ["keys", "bootstrap", "--force"],
      ["operators", "bootstrap", "--email", "eve@example.com"],
      ["signing-keys", "list"],
      ["signing-keys", "rotate"],
      ["signing-keys", "revoke", "x", "--yes"],
      ["secret", "rotate"],
      ["leaderboards", "rebuild", "overall", "--project", ids.project],
      ["doctor", "token", token],
    ];
    const strange = {
      ...base,
      GRANDSTAND_SECRET: "a secret that the store does not have and is long enough",
    };
    for (const args of commands) {
      const { code, stdout, stderr } = await runHere(args, strange);
      assert.deepEqual([code, stdout], [2, ""], `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, /sealed under another master secret/, args.join(" "));
    }
    const examined = await runHere(["doctor"], strange);
    assert.equal(examined.code, 1, examined.stderr);
    assert.match(examined.stdout, /^keys\tfailed\t.*sealed under another master secret/m);

    await setFormat("2");
    const unsealed = [
      ["seed", "apply", join(folder, "seed.json")],
      ["users", "index"],
      ["doctor", "--repair"],
    ];
    for (const args of [...commands, ...unsealed]) {
      const { code, stderr } = await runHere(args, base);
      assert.equal(code, 7, `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, /its format is 2 and this version knows 1/, args.join(" "));
    }
    await setFormat("1");
  }

  it("bootstrap refuses what it cannot do, and says why", async () => {
    const { GRANDSTAND_DATA: _, ...without } = base;
    const cases: [string[], Record<string, string>, number, RegExp][] = [
      [["bootstrap"], {}, 2, /needs --redis, --postgres, --store or --data/],
      [["bootstrap"], { GRANDSTAND_ORG: "" }, 2, /needs --org or GRANDSTAND_ORG/],
      [["bootstrap"], { GRANDSTAND_SECRET: "short" }, 2, /GRANDSTAND_SECRET must be hard to guess/],
      [["bootstrap", "--data", join(folder, "none")], {}, 6, /There is no organisation/],
      [["create", "--name", "x"], first, 2, /needs --permission at least once/],
      [["rotate", "gsk_x", "--grace", "soon"], first, 2, /--grace must be a number of seconds/],
    ];
    for (const [args, more, expected, message] of cases) {
      const { code, stdout, stderr } = await run(args, more, without);
      assert.deepEqual([code, stdout], [expected, ""], `${args.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
  });

  it("create, list, rotate and revoke keys of the organisation", async () => {
    const asked = ["create", "--name", "CRM", "--permission", "users:read", "--permission", "keys:write"];
    const created = await run(asked, first);
    assert.equal(created.code, 0, created.stderr);
    const [, key = "", secret = ""] = shown.exec(created.stdout) ?? assert.fail(created.stdout);
    const second = { ...first, GRANDSTAND_API_KEY: key, GRANDSTAND_API_SECRET: secret };
    const listed = await run(["list"], second);
    const rows = listed.stdout.trimEnd().split("\n");
    assert.equal(rows.length, 3, listed.stderr);
    assert.deepEqual(rows[2]?.split("\t").slice(0, 3), [key, "CRM", "users:read,keys:write"]);
    assert.ok(!listed.stdout.includes("gss_"));

    const rotated = await run(["rotate", key, "--grace", "3600"], first);
    const [, , fresh = ""] = shown.exec(rotated.stdout) ?? assert.fail(rotated.stderr);
    assert.notEqual(fresh, secret);
    for (const live of [secret, fresh]) {
      assert.equal((await run(["list"], { ...second, GRANDSTAND_API_SECRET: live })).code, 0);
    }
    const more = await run(["create", "--name", "x", "--permission", "config:write"], second);
    assert.deepEqual([more.code, more.stdout], [5, ""]);
    assert.match(more.stderr, /that the calling API key lacks: config:write/);

    const revoked = await run(["revoke", key], first);
    assert.deepEqual([revoked.code, revoked.stdout], [0, `${key}\n`]);
    const refused = await run(["list"], { ...second, GRANDSTAND_API_SECRET: fresh });
    assert.deepEqual([refused.code, refused.stdout], [4, ""]);
    assert.equal((await run(["revoke", key], first)).code, 6);
  });
});
