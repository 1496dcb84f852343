/** `grandstand doctor`, as a program over the store of a deployment. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { boardRead, sessionIdleMsMax } from "../../lib/fans/identity/sessions/session.ts";
import { Users, userPartition } from "../../lib/fans/identity/users.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { ids, seed, testSecret } from "../support/platform.ts";
import { redisAvailable, sharedRedis } from "../support/redis.ts";
import { start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-doctor-"));
after(() => rmSync(folder, { recursive: true }));
const built = runtimes.find(({ form, skip }) => form === "built" && skip === false);
const aheadMs = 26 * 3_600_000;
const user = {
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId: "0e000000-0000-4000-8000-00000000000e",
};
const exact = { action: "prediction", data: { outcome: "exact" }, isClientReport: false };

interface Outcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

async function doctor(...args: readonly string[]): Promise<Outcome> {
  assert.ok(built !== undefined);
  const program = start([...cliCommand(built), "doctor", ...args]);
  const code = await program.ended;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

async function withPlatform<T>(
  store: Store,
  clock: () => number,
  work: (at: Platform) => Promise<T>,
): Promise<T> {
  const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger, clock };
  const platform = await createPlatform(options);
  try {
    return await work(platform);
  } finally {
    await platform.idle();
    await platform.close();
  }
}

/** Lets a user act, also through a process whose clock is ahead, and read a notification in between. */
async function damage(store: Store): Promise<void> {
  await seedDirectory(store, seed, { clock: Date.now });
  await withPlatform(store, Date.now, async ({ loyalty }) => {
    await loyalty.report(user, exact);
    await loyalty.inbox.markAllRead(user);
  });
  await withPlatform(
    store,
    () => Date.now() + aheadMs,
    async ({ loyalty, fetch }) => {
      await loyalty.report(user, exact);
      await loyalty.report(user, exact);
      await loyalty.inbox.markAllRead(user);
      const call = (method: string, path: string, data: object): Promise<Response> =>
        fetch(
          new Request(`http://localhost${path}`, {
            method,
            headers: { "content-type": "application/json" },
            body: JSON.stringify({
              projectId: ids.project,
              strategy: "email",
              provider: "managedPool",
              data,
            }),
          }),
        );
      const login = { email: "fan@example.org", password: "correct horse battery" };
      assert.equal((await call("POST", "/v1/user", login)).status, 201);
      assert.equal((await call("PUT", "/v1/user/login", login)).status, 200);
    },
  );
}

async function verdicts(
  ...args: readonly string[]
): Promise<{ code: unknown; found: number[]; repaired: number[] }> {
  const { code, stdout, stderr } = await doctor("--json", ...args);
  assert.ok(stdout !== "", stderr);
  const all: { check: string; found: number | null; repaired: number }[] = JSON.parse(stdout).data;
  const data = all.flatMap(row => (row.found === null ? [] : [{ ...row, found: row.found }]));
  assert.deepEqual(
    data.map(({ check }) => check),
    ["user-times", "index-times", "identity-times", "directory", "lookup-keys", "boards"],
  );
  return { code, found: data.map(({ found }) => found), repaired: data.map(({ repaired }) => repaired) };
}

/** Returns the latest time of the fan, of the login and the session, in Unix ms. */
async function latestLogin(store: Store): Promise<number> {
  const users = new Users(store, testSecret);
  const found = await users.findByKey(ids.project, { kind: "email", email: "fan@example.org" });
  assert.ok(found !== null);
  const [{ entries }] = await store.read(userPartition(ids.project, found.userId), [boardRead]);
  assert.equal(entries.length, 1);
  const ends = entries.map(({ score }) => score - sessionIdleMsMax);
  return Math.max(...[found.signUp, ...found.loginHistory].map(at => at * 1_000), ...ends);
}

/** Acts once more, and returns how the lists of the user show it. */
async function actNow(store: Store): Promise<void> {
  const from = Math.floor(Date.now() / 1_000);
  await withPlatform(store, Date.now, async ({ loyalty }) => {
    await loyalty.report(user, exact);
    const inbox = await loyalty.inbox.list(user);
    assert.equal(inbox.unreadCount, 0);
    for (const { createdAt } of inbox.items) assert.ok(createdAt <= Date.now(), "a notification of tomorrow");
    const all = await loyalty.history(user, {});
    const last = all.at(-1);
    assert.ok(last !== undefined && last.timestamp >= from && last.timestamp <= Date.now() / 1_000 + 1);
    const today = await loyalty.history(user, { to: Math.ceil(Date.now() / 1_000) + 1 });
    assert.equal(today.length, all.length);
    assert.deepEqual((await loyalty.replay(user)).differences, []);
    assert.equal((await loyalty.reconcile(user)).ok, true);
  });
}

describe("grandstand doctor", { skip: built === undefined && "nothing is built" }, () => {
  it("finds and repairs what a process with a clock ahead wrote into a data folder", async () => {
    const data = join(folder, "data");
    {
      await using store = await openFileStore(data);
      await damage(store);
    }
    const shown = await doctor("--data", data);
    assert.equal(shown.code, 3, shown.stderr);
    assert.match(shown.stdout, /user-times\tfound\t1 examined, 1 found, 0 repaired/);
    assert.match(shown.stderr, new RegExp(`${user.userId} .*was dated ahead`));
    assert.deepEqual(await verdicts("--data", data, "--repair"), {
      code: 0,
      found: [1, 3, 1, 0, 0, 0],
      repaired: [1, 3, 1, 0, 0, 0],
    });
    assert.deepEqual(await verdicts("--data", data), {
      code: 0,
      found: [0, 0, 0, 0, 0, 0],
      repaired: [0, 0, 0, 0, 0, 0],
    });
    await using store = await openFileStore(data);
    assert.ok((await latestLogin(store)) <= Date.now());
    await actNow(store);
  });

  it("does so in a Redis", { skip: redisAvailable() }, async () => {
    const { url } = await sharedRedis();
    await using store = createRedisStore({ server: url, clock: Date.now });
    await damage(store);
    assert.equal((await verdicts("--redis", url)).code, 3);
    assert.deepEqual(await verdicts("--redis", url, "--repair"), {
      code: 0,
      found: [1, 3, 1, 0, 0, 0],
      repaired: [1, 3, 1, 0, 0, 0],
    });
    assert.equal((await verdicts("--redis", url)).code, 0);
    await actNow(store);
  });

  it("says that it needs a store that lasts", async () => {
    const nowhere = await doctor();
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /doctor needs --redis or --data/);
    assert.match((await doctor("--help")).stdout, /--repair/);
  });
});
