import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import {
  type Claimant,
  createGlobalLimits,
  type GlobalLimits,
  type LimitClaim,
  type LimitedRule,
} from "../../../../../lib/fans/loyalty/limits.ts";
import { type Store, tenantPartition } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { databases } from "../../../../support/databases.ts";
import { describeOnDatabases } from "../../../../support/stores.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** Half an hour before midnight in Berlin. */
const startAt = Date.UTC(2026, 10, 21, 22, 30);
const ann: Claimant = {
  organisationId: "o",
  spaceId: "s",
  userId: "ann",
  timeZone: "Europe/Berlin",
  weekStartsOn: "monday",
  at: startAt,
};

function rule(...limits: LimitedRule["limits"]): LimitedRule {
  return { id: "first-hundred", limits };
}

const daily = (max: number): LimitedRule["limits"][number] => ({
  per: "global",
  max,
  window: { calendar: "day" },
});
const ever = (max: number): LimitedRule["limits"][number] => ({ per: "global", max });

function claim(
  limits: GlobalLimits,
  of: LimitedRule,
  by: Partial<Claimant> = {},
): Promise<LimitClaim | null> {
  return limits.claim({ ...ann, ...by }, of, { count: 1, held: null });
}

async function countOf(limits: GlobalLimits, of: LimitedRule, by: Partial<Claimant> = {}): Promise<number> {
  let count = 0;
  while ((await claim(limits, of, by)) !== null) count++;
  return count;
}

describeOnDatabases("limits for all users", open => {
  async function withLimits(
    body: (
      limits: GlobalLimits,
      world: { store: Store; clock: ReturnType<typeof createTestClock> },
    ) => Promise<void>,
  ): Promise<void> {
    const clock = createTestClock(startAt);
    await using store = await open(clock.now);
    await body(createGlobalLimits(store), { store, clock });
  }

  it("admit exactly their maximum of concurrent claims", () =>
    withLimits(async limits => {
      const claims = Array.from({ length: 300 }, (_, n) =>
        claim(limits, rule(ever(40)), { userId: `u${n}` }),
      );
      assert.equal((await Promise.all(claims)).filter(one => one !== null).length, 40);
    }));

  it("begin weeks on Monday, or on Sunday where the document says so", () =>
    withLimits(async limits => {
      const weekly = rule({ per: "global", max: 1, window: { calendar: "week" } });
      // From Saturday to Monday.
      const days = [0, 1, 2].map(day => startAt + day * dayMs);
      for (const [weekStartsOn, expected] of [
        ["monday", [1, 0, 1]],
        ["sunday", [1, 1, 0]],
      ] as const) {
        const by = { spaceId: weekStartsOn, weekStartsOn };
        const counts: number[] = [];
        for (const at of days) counts.push(await countOf(limits, weekly, { ...by, at }));
        assert.deepEqual(counts, expected, weekStartsOn);
      }
    }));

  it("count one action of a user once, however often it is reported", () =>
    withLimits(async limits => {
      const again = Array.from({ length: 50 }, () => claim(limits, rule(ever(3)), { actionId: "a" }));
      assert.ok((await Promise.all(again)).every(one => one !== null));
      assert.ok(await claim(limits, rule(ever(3)), { actionId: "b" }));
      assert.ok(await claim(limits, rule(ever(3)), { actionId: "a", userId: "bob" }));
      assert.equal(await claim(limits, rule(ever(3)), { actionId: "c" }), null);
      assert.ok(await claim(limits, rule(ever(3)), { actionId: "a" }));
    }));

  it("start anew with each calendar window in the time zone", () =>
    withLimits(async limits => {
      const of = rule(daily(2), ever(5));
      assert.equal(await countOf(limits, of), 2);
      const tomorrow = { at: startAt + 30 * 60_000 };
      assert.equal(await countOf(limits, of, { at: tomorrow.at - 1 }), 0);
      assert.equal(await countOf(limits, of, tomorrow), 2);
      assert.equal(await countOf(limits, of, { at: startAt + dayMs * 3 }), 1);
    }));

  it("take the lowest of several for the same window", () =>
    withLimits(async limits => {
      assert.equal(await countOf(limits, rule(daily(7), daily(3), daily(5))), 3);
    }));

  it("take released uses back, of an action once", () =>
    withLimits(async limits => {
      const of = rule(ever(2));
      const made = { ...ann, actionId: "a" };
      const one = (await claim(limits, of, made)) ?? assert.fail();
      const other = (await claim(limits, of)) ?? assert.fail();
      await Promise.all(Array.from({ length: 10 }, () => limits.release(made, one, 0)));
      assert.equal(await countOf(limits, of), 1);
      await limits.release(ann, other, 1);
      assert.equal(await countOf(limits, of), 0);
      await limits.release(ann, other, 0);
      assert.equal(await countOf(limits, of), 1);
    }));

  it("claim several uses or none, and release a part of them", () =>
    withLimits(async limits => {
      const of = rule(ever(10));
      for (const by of [ann, { ...ann, actionId: "a" }]) {
        const three = (await limits.claim(by, of, { count: 3, held: null })) ?? assert.fail();
        const five = (await limits.claim(by, of, { count: 5, held: three })) ?? assert.fail();
        assert.equal(await limits.claim(by, of, { count: 11, held: five }), null);
        await limits.release(by, five, 1);
        assert.equal(await countOf(limits, of, { userId: "bob" }), 9);
        for (let n = 0; n < 9; n++) await limits.release(ann, { ...five, count: 1 }, 0);
        await limits.release(by, { ...five, count: 1 }, 0);
      }
      assert.equal(await countOf(limits, of), 10);
    }));

  it("move the use of an action that is decided in a later window there", () =>
    withLimits(async limits => {
      const of = rule(daily(1));
      const made = { actionId: "a" };
      assert.ok(await claim(limits, of, made));
      assert.equal(await claim(limits, of), null);
      assert.ok(await claim(limits, of, { ...made, at: startAt + dayMs }));
      assert.equal(await claim(limits, of, { at: startAt + dayMs }), null);
      assert.ok(await claim(limits, of), "the day before has its use back");
    }));

  it("keep the windows of actions that arrive a week late, and refuse claims in older ones", () =>
    withLimits(async (limits, { store }) => {
      const of = rule(daily(2));
      for (let day = 0; day < 10; day++) assert.ok(await claim(limits, of, { at: startAt + day * dayMs }));
      assert.ok(await claim(limits, of, { at: startAt + 2 * dayMs }), "an action that is a week late");
      assert.equal(await claim(limits, of, { at: startAt + 2 * dayMs }), null);
      assert.equal(await claim(limits, of, { at: startAt }), null);
      const partition = tenantPartition({ organisation: "o" }, "limit", "s", of.id);
      for (let day = 21; day <= 30; day++) {
        const [tally] = await store.read(partition, [{ type: "tally", key: `window:day%3A2026-11-${day}` }]);
        assert.equal(tally.size, day >= 22 ? 1 : 0, `${day}`);
      }
    }));

  it("forget the claim of an action after 14 days", () =>
    withLimits(async (limits, { clock }) => {
      const of = rule(ever(2));
      await claim(limits, of, { actionId: "a" });
      clock.advance(14 * dayMs - 1);
      await claim(limits, of, { actionId: "a" });
      clock.advance(1);
      await claim(limits, of, { actionId: "a", at: clock.now() });
      assert.equal(await claim(limits, of), null);
    }));

  it("are absent for rules without global limits", () =>
    withLimits(async limits => {
      const free = (await claim(limits, rule({ per: "user", max: 1 }))) ?? assert.fail();
      assert.deepEqual(free.windows, []);
      await limits.release(ann, free, 0);
      assert.ok(await claim(limits, rule(ever(1))));
      for (const by of [{ spaceId: "t" }, { organisationId: "p" }]) {
        assert.ok(await claim(limits, rule(ever(1)), by));
      }
      assert.ok(await claim(limits, { ...rule(ever(1)), id: "other" }));
    }));
});

describe("limits for all users that several processes share", () => {
  async function race(stores: readonly Store[]): Promise<void> {
    const handles = stores.map(createGlobalLimits);
    const of = rule(daily(50), ever(1_000));
    const claims = Array.from({ length: 400 }, async (_, n) => {
      const limits = handles[n % handles.length] ?? assert.fail();
      const by = { ...ann, userId: `u${n}`, ...(n % 2 === 0 ? {} : { actionId: `a${n}` }) };
      const one = await claim(limits, of, by);
      // Every fourth gives its use back, and another one may have it.
      if (one !== null && n % 4 === 0) await limits.release(by, one, 0);
      return one !== null && n % 4 !== 0;
    });
    const through = (await Promise.all(claims)).filter(Boolean).length;
    const [first] = handles;
    const later = await countOf(first ?? assert.fail(), of);
    assert.equal(through + later, 50);
  }

  for (const { name, skip, handles } of databases) {
    it(`are exact over three handles on one ${name}`, { skip }, async () => {
      const stores = await handles(3, () => startAt);
      try {
        await race(stores);
      } finally {
        for (const store of stores) await store[Symbol.asyncDispose]();
      }
    });
  }

  it("are exact over a store whose decisions do not fold", async () => {
    await using store = createMemoryStore({ clock: () => startAt });
    const handle = (): Store => ({
      traits: store.traits,
      read: (partition, queries) => store.read(partition, queries),
      commit: (partition, batch) => store.commit(partition, batch),
      ping: () => store.ping(),
      [Symbol.asyncDispose]: async () => {},
    });
    await race([handle(), handle(), handle()]);
  });
});
