import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import {
  createDueUserQueue,
  type DueUser,
  listUsersOf,
  registrationMs,
  sweepDueUsers,
} from "../../../../lib/fans/loyalty/due_users.ts";
import {
  listedOrganisations,
  organisationsPartition,
  organisationWrites,
  userShardOf,
} from "../../../../lib/fans/users/mod.ts";
import { type Store, storageLimits } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases } from "../../../support/stores.ts";

const sweepBatchMax = 100;
const sweepLeaseMs = 60_000;
const sweepRetryMs = 60_000;
const indexPageMax = 1_000;

const organisationId = "o";
const spaceId = "s";

function user(userId: string): DueUser {
  return { organisationId, spaceId, userId };
}

interface Sweeper {
  readonly processed: string[];
  sweep(next?: (userId: string) => number | null): Promise<{ processed: number; failed: number }>;
}

function sweeper(store: Store, clock: () => number, holder = "p1"): Sweeper {
  const processed: string[] = [];
  return {
    processed,
    sweep: (next = () => null) =>
      sweepDueUsers({
        store,
        clock,
        holder,
        async processUser({ userId }) {
          processed.push(userId);
          return next(userId);
        },
        onFailed: () => {},
      }),
  };
}

type AppErrorCode = "outcome_unknown" | "storage_unavailable";

function methodsOf(store: Store): Store {
  return {
    traits: store.traits,
    read: (partition, queries) => store.read(partition, queries),
    commit: (partition, batch) => store.commit(partition, batch),
    ping: () => store.ping(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function usersOf(store: Store): Promise<string[]> {
  const found: string[] = [];
  for await (const { userId } of listUsersOf(store, organisationId)) found.push(userId);
  return found;
}

describeOnDatabases("the agenda", (open, on) => {
  it("has a registered user processed once the registration is over, and only then", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const { processed, sweep } = sweeper(store, clock.now);
    await agenda.register(user("a/b"));
    await sweep();
    assert.deepEqual(processed, []);
    clock.advance(registrationMs);
    assert.deepEqual(await sweep(), { processed: 1, failed: 0 });
    assert.deepEqual(processed, ["a/b"]);
    clock.advance(10 * registrationMs);
    await sweep();
    assert.deepEqual(processed, ["a/b"]);
  });

  it("registers a user at most once within the time that a registration lasts", async () => {
    const clock = createTestClock();
    await using inner = await open(clock.now);
    let commits = 0;
    const store: Store = {
      ...methodsOf(inner),
      commit(partition, batch) {
        commits += 1;
        return inner.commit(partition, batch);
      },
    };
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const commitsOf = async (dueUser: DueUser): Promise<number> => {
      const before = commits;
      await agenda.register(dueUser);
      return commits - before;
    };
    assert.equal(await commitsOf(user("a")), 2, "the organisation and the user");
    assert.equal(await commitsOf(user("a")), 0);
    assert.equal(await commitsOf({ ...user("a"), spaceId: "other" }), 1);
    clock.advance(registrationMs);
    assert.equal(await commitsOf(user("a")), 1);
  });

  it("registers again where it cannot be known whether that worked, and says so where it did not", async () => {
    const clock = createTestClock();
    await using inner = await open(clock.now);
    const failures: AppErrorCode[] = ["storage_unavailable"];
    const store: Store = {
      ...methodsOf(inner),
      async commit(partition, batch) {
        const code = failures.shift();
        if (code === undefined) return await inner.commit(partition, batch);
        throw new AppError(code, "Cannot commit");
      },
    };
    const agenda = createDueUserQueue({ store, clock: clock.now });
    await assert.rejects(agenda.register(user("a")), { code: "storage_unavailable" });
    failures.push("outcome_unknown", "outcome_unknown", "storage_unavailable");
    await assert.rejects(agenda.register(user("a")), { code: "storage_unavailable" });
    failures.push("outcome_unknown", "outcome_unknown");
    await agenda.register(user("a"));
    assert.equal(failures.length, 0);
    failures.push("storage_unavailable");
    await agenda.register(user("a"));
  });

  it("processes a user again at the time that the last work returned", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    await createDueUserQueue({ store, clock: clock.now }).register(user("a"));
    clock.advance(registrationMs);
    const { processed, sweep } = sweeper(store, clock.now);
    await sweep(() => clock.now() + 5_000);
    clock.advance(4_999);
    await sweep();
    assert.equal(processed.length, 1);
    clock.advance(1);
    await sweep();
    assert.equal(processed.length, 2);
  });

  it("processes a user within the hour of a registration, however late the planned time was", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const { processed, sweep } = sweeper(store, clock.now);
    await agenda.register(user("a"));
    clock.advance(registrationMs);
    await sweep(() => clock.now() + 100 * registrationMs);
    await agenda.register(user("a"));
    clock.advance(registrationMs - 1);
    await sweep();
    assert.deepEqual(processed, ["a"]);
    clock.advance(1);
    await sweep();
    assert.deepEqual(processed, ["a", "a"]);
  });

  it("keeps a user who registers while being processed, whatever time the work returns", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    await createDueUserQueue({ store, clock: clock.now }).register(user("a"));
    clock.advance(registrationMs);
    let count = 0;
    const options = { store, clock: clock.now, holder: "p1", onFailed: () => {} };
    const attend = async (): Promise<null> => {
      count += 1;
      // Another process, which remembers nothing of the first registration.
      if (count === 1) await createDueUserQueue({ store, clock: clock.now }).register(user("a"));
      return null;
    };
    await sweepDueUsers({ ...options, processUser: attend });
    clock.advance(registrationMs);
    await sweepDueUsers({ ...options, processUser: attend });
    assert.equal(count, 2);
  });

  it("retries a failed user after a while, and continues with the others", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    await Promise.all(["a", "b", "c"].map(id => agenda.register(user(id))));
    clock.advance(registrationMs);
    const failures: string[] = [];
    const processed: string[] = [];
    const options = { store, clock: clock.now, holder: "p1" };
    const sweep = (): Promise<unknown> =>
      sweepDueUsers({
        ...options,
        async processUser({ userId }) {
          if (userId === "b" && failures.length === 0) throw new Error("not now");
          processed.push(userId);
          return null;
        },
        onFailed: ({ userId }) => failures.push(userId),
      });
    assert.deepEqual(await sweep(), { processed: 2, failed: 1 });
    clock.advance(sweepRetryMs);
    assert.deepEqual(await sweep(), { processed: 1, failed: 0 });
    assert.deepEqual([failures, processed.toSorted()], [["b"], ["a", "b", "c"]]);
  });

  it("leaves a shard to the process that sweeps it, until its lease is over", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    await createDueUserQueue({ store, clock: clock.now }).register(user("a"));
    clock.advance(registrationMs);
    const other = sweeper(store, clock.now, "p2");
    await sweepDueUsers({
      store,
      clock: clock.now,
      holder: "p1",
      async processUser() {
        await other.sweep();
        assert.deepEqual(other.processed, []);
        clock.advance(sweepLeaseMs);
        await other.sweep();
        return null;
      },
      onFailed: () => {},
    });
    assert.deepEqual(other.processed, ["a"]);
  });

  it("processes more users of one shard than one page holds", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const ids: string[] = [];
    for (let n = 0; ids.length < 2 * sweepBatchMax + 1; n++) {
      if (userShardOf(`u${n}`) === 7) ids.push(`u${n}`);
    }
    await Promise.all(ids.map(id => agenda.register(user(id))));
    clock.advance(registrationMs);
    const { processed, sweep } = sweeper(store, clock.now);
    await sweep();
    assert.deepEqual(processed.toSorted(), ids.toSorted());
  });

  it("visits every organisation, however many there are", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const writes = Array.from({ length: storageLimits.rangeLimitMax }, (_, n) =>
      organisationWrites(`o${n}`, clock.now()),
    );
    for (let from = 0; from < writes.length; from += 500) {
      await store.commit(organisationsPartition(), { writes: writes.slice(from, from + 500).flat() });
    }
    clock.advance(1);
    await createDueUserQueue({ store, clock: clock.now }).register(user("late"));
    const listed: string[] = [];
    for await (const organisation of listedOrganisations(store)) listed.push(organisation);
    assert.equal(new Set(listed).size, storageLimits.rangeLimitMax + 1);
    assert.equal(listed.at(-1), organisationId);
    // Some 64,000 reads, one after the other.
    if (on !== "memory") return;
    clock.advance(registrationMs);
    const { processed, sweep } = sweeper(store, clock.now);
    await sweep();
    assert.deepEqual(processed, ["late"]);
  });

  it("lists every user of an organisation once, and of no other", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const ids = Array.from({ length: 500 }, (_, n) => `u${n}`);
    await Promise.all(ids.map(id => agenda.register(user(id))));
    await agenda.register({ ...user("stranger"), organisationId: "p" });
    assert.deepEqual((await usersOf(store)).toSorted(), ids.toSorted());
  });

  it("lists users who came in one and the same millisecond page by page", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const agenda = createDueUserQueue({ store, clock: clock.now });
    const ids: string[] = [];
    for (let n = 0; ids.length < 2 * indexPageMax + 10; n++) {
      if (userShardOf(`u${n}`) === 3) ids.push(`u${n}`);
    }
    await Promise.all(ids.slice(0, indexPageMax + 5).map(id => agenda.register(user(id))));
    clock.advance(1);
    await Promise.all(ids.slice(indexPageMax + 5).map(id => agenda.register(user(id))));
    const found = await usersOf(store);
    assert.equal(found.length, ids.length);
    assert.deepEqual(found.toSorted(), ids.toSorted());
  });
});
