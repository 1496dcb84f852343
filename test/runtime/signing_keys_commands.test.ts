/** The commands of `grandstand signing-keys` on a data folder. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, MasterSecret, silentLogger } from "../../lib/mod.ts";
import { ids, seed } from "../support/platform.ts";
import { type Outcome, runHere } from "./command_line.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-signing-keys-"));
after(() => rmSync(folder, { recursive: true }));
const base = {
  GRANDSTAND_DATA: join(folder, "data"),
  GRANDSTAND_SECRET: "a secret that only this test knows and is long enough",
};

function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = base,
): Promise<Outcome> {
  return runHere(args, environment);
}

/** The algorithms and states of the keys, in order. */
async function listed(): Promise<{ readonly kids: string[]; readonly states: string[] }> {
  const { code, stdout, stderr } = await run(["signing-keys", "list", "--json"]);
  assert.equal(code, 0, stderr);
  const keys: { kid: string; algorithm: string; state: string }[] = JSON.parse(stdout).data;
  return {
    kids: keys.map(({ kid }) => kid),
    states: keys.map(({ algorithm, state }) => `${algorithm} ${state}`),
  };
}

describe("grandstand signing-keys", () => {
  before(async () => {
    const secret = new MasterSecret(base.GRANDSTAND_SECRET);
    await using store = await openFileStore(base.GRANDSTAND_DATA);
    await seedDirectory(store, seed, { clock: Date.now });
    const options = { store, secret, signatureAlgorithm: "ES256", logger: silentLogger } as const;
    await (await createPlatform(options)).close();
  });

  it("lists the keys, publishes one, and ends one that does not sign", async () => {
    const { kids, states } = await listed();
    assert.deepEqual(states, ["ES256 active"]);
    const [first = ""] = kids;
    const refused = await run(["signing-keys", "revoke", "--yes", "--", first]);
    assert.deepEqual([refused.code, refused.stdout], [7, ""]);
    assert.match(refused.stderr, /Cannot revoke the key as it signs: rotate/);
    const rotated = await run(["signing-keys", "rotate"]);
    assert.equal(rotated.code, 0, rotated.stderr);
    assert.match(rotated.stderr, /signs from \S+Z on/);
    assert.equal((await run(["signing-keys", "rotate"])).code, 0);
    const waiting = await listed();
    assert.deepEqual(waiting.states, ["ES256 active", "ES256 standby"]);
    const shown = await run(["signing-keys", "list"]);
    assert.match(shown.stdout, /^\S+\tES256\tactive\t\S+Z\t\S+Z\n\S+\tES256\tstandby\t\S+Z\t\n$/);
    const ended = await run(["signing-keys", "revoke", "--yes", "--", waiting.kids[1] ?? ""]);
    assert.equal(ended.code, 0, ended.stderr);
    assert.match(ended.stderr, /servers know within a minute/);
    assert.deepEqual(await listed(), { kids, states });
    assert.equal((await run(["signing-keys", "revoke", "unknown"])).code, 2, "nobody agreed");
    assert.equal((await run(["signing-keys", "revoke", "unknown", "--yes"])).code, 6);
  });

  it("is the only one to add keys: other commands in the store keep the algorithm that they find", async () => {
    const before = await listed();
    const rebuilt = await run(["leaderboards", "rebuild", "overall", "--project", ids.project]);
    assert.equal(rebuilt.code, 0, rebuilt.stderr);
    assert.deepEqual(await listed(), before);
  });

  it("says what it needs", async () => {
    const { GRANDSTAND_DATA: _, ...nowhere } = base;
    const missing = await run(["signing-keys", "list"], nowhere);
    assert.deepEqual([missing.code, missing.stdout], [2, ""]);
    assert.match(missing.stderr, /signing-keys list needs --redis, --postgres, --store or --data/);
    const secret = { ...base, GRANDSTAND_SECRET: "another secret that only this test knows and is long" };
    const wrong = await run(["signing-keys", "list"], secret);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /another master secret/);
  });

  it("opens under the next master secret alone once all is sealed anew under it", async () => {
    const next = "dGhlIG5leHQgc2VjcmV0IG9mIHRoaXMgdGVzdCwgbG9uZyBlbm91Z2g";
    const old = "dGhlIG9sZCBzZWNyZXQgb2YgdGhpcyB0ZXN0LCBhcyBsb25nIGFzIHRoYXQ";
    const data = join(folder, "changed");
    const under = (secret: string) => ({ GRANDSTAND_DATA: data, GRANDSTAND_SECRET: secret });
    assert.equal((await run(["signing-keys", "list"], under(old))).code, 0);
    const refused = await run(["secret", "rotate"], under(next));
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /another master secret/);
    const sealed = await run(["secret", "rotate"], under(`${next},${old}`));
    assert.equal(sealed.code, 0, sealed.stderr);
    assert.equal((await run(["signing-keys", "list"], under(next))).code, 0);
  });
});
