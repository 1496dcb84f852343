import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import type { LimitUses } from "../../../../../lib/fans/loyalty/commit.ts";
import {
  type Claimant,
  createGlobalLimits,
  type LimitedRule,
  type LimitUsesOptions,
  withinLimits,
} from "../../../../../lib/fans/loyalty/limits.ts";
import { describeOnDatabases, type OpenStore } from "../../../../support/stores.ts";

const ann: Claimant = {
  organisationId: "o",
  spaceId: "s",
  userId: "ann",
  timeZone: "UTC",
  weekStartsOn: "monday",
  at: 1_750_000_000_000,
};

function limited(...maxima: readonly number[]): ReadonlyMap<string, LimitedRule> {
  return new Map(maxima.map((max, n) => [`r${n}`, { id: `r${n}`, limits: [{ per: "global", max }] }]));
}

interface World {
  /** Decides for a claimant; answers which rules fired. */
  decide(
    rules: ReadonlyMap<string, LimitedRule>,
    wanted: readonly string[],
    by?: Partial<Claimant>,
  ): Promise<readonly string[]>;
  /** Returns the number of uses of a rule that are left. */
  left(rules: ReadonlyMap<string, LimitedRule>, ruleId: string): Promise<number>;
  readonly options: Omit<LimitUsesOptions, "claimant" | "rules">;
}

async function withWorld(open: OpenStore, body: (world: World) => Promise<void>): Promise<void> {
  await using store = await open(() => ann.at);
  const limits = createGlobalLimits(store);
  const options = { limits, onLost: (error: unknown) => assert.fail(String(error)) };
  await body({
    options,
    async decide(rules, wanted, by = {}) {
      const claimant = { ...ann, ...by };
      return firedOf(
        await withinLimits(
          { ...options, rules, claimant },
          firing(() => wanted),
        ),
      );
    },
    async left(rules, ruleId) {
      let count = 0;
      const rule = rules.get(ruleId) ?? assert.fail();
      while ((await limits.claim({ ...ann, userId: "probe" }, rule, { count: 1, held: null })) !== null)
        count++;
      return count;
    },
  });
}

interface Done {
  readonly result: { readonly fired: readonly string[] } | null;
}

/** Applies a command again and again, until uses of all rules that fire are claimed. Wanted rules fire unless a limit is reached. */
function firing(wanted: (uses: LimitUses) => readonly string[]): (uses: LimitUses) => Promise<Done> {
  return async uses => {
    for (;;) {
      const fired = wanted(uses).filter(ruleId => !uses.isReached(ruleId));
      const missing = uses.missing(fired);
      if (missing.length === 0) return { result: { fired } };
      await uses.claim(missing);
    }
  };
}

function firedOf({ result }: Done): readonly string[] {
  return result?.fired ?? assert.fail();
}

describeOnDatabases("decisions within limits for all users", open => {
  it("never fire a rule more often than its limit says, and always as often as it says", () =>
    withWorld(open, async ({ decide }) => {
      const rules = limited(30, 7);
      const random = createRandom(11);
      const wanted = Array.from({ length: 200 }, () => [
        ...(random.chance(0.5) ? ["r0"] : []),
        ...(random.chance(0.5) ? ["r1"] : []),
        "unlimited",
      ]);
      const fired = (await Promise.all(wanted.map(some => decide(rules, some)))).flat();
      const times = (id: string): number => fired.filter(one => one === id).length;
      assert.deepEqual([times("r0"), times("r1"), times("unlimited")], [30, 7, 200]);
    }));

  it("claim a use for each firing of a rule, or let it not fire at all", () =>
    withWorld(open, async ({ decide, left }) => {
      const rules = limited(5);
      assert.deepEqual(await decide(rules, ["r0", "r0", "r0"]), ["r0", "r0", "r0"]);
      assert.deepEqual(await decide(rules, ["r0", "r0", "r0", "x"]), ["x"]);
      assert.equal(await left(rules, "r0"), 2);
    }));

  it("claim anew where the state has changed meanwhile, and give back what they do not use", () =>
    withWorld(open, async ({ options, left }) => {
      const rules = limited(5, 5);
      const course = [["r0"], ["r0", "r0", "r1"], ["r1"]];
      const seen: boolean[] = [];
      const fired = await withinLimits(
        { ...options, rules, claimant: ann },
        firing(uses => {
          seen.push(uses.isReached("r0"));
          return course.shift() ?? assert.fail();
        }),
      );
      assert.deepEqual(firedOf(fired), ["r1"]);
      assert.deepEqual(seen, [false, false, false]);
      assert.deepEqual([await left(rules, "r0"), await left(rules, "r1")], [5, 4]);
    }));

  it("use the claim of an action that was interrupted when it is reported again, and keep that of one that took effect", () =>
    withWorld(open, async ({ options, decide, left }) => {
      const rules = limited(2);
      const by = { actionId: "a" };
      const unknown = new AppError("outcome_unknown", "Cannot tell whether the commit was applied");
      let attempts = 0;
      const interrupted = withinLimits(
        { ...options, rules, claimant: { ...ann, ...by } },
        firing(() => {
          if (attempts++ === 0) return ["r0"];
          throw unknown;
        }),
      );
      await assert.rejects(interrupted, unknown);
      assert.deepEqual(await decide(rules, ["r0"], by), ["r0"]);
      const repeated: Done = { result: null };
      await withinLimits({ ...options, rules, claimant: { ...ann, ...by } }, async () => repeated);
      assert.equal(await left(rules, "r0"), 1);
    }));

  it("give uses back when the decision was certainly not made", () =>
    withWorld(open, async ({ options, left }) => {
      const rules = limited(1);
      const failure = new AppError("storage_unavailable", "Cannot reach the store");
      let attempts = 0;
      const failed = withinLimits(
        { ...options, rules, claimant: ann },
        firing(() => {
          if (attempts++ === 0) return ["r0"];
          throw failure;
        }),
      );
      await assert.rejects(failed, failure);
      assert.equal(await left(rules, "r0"), 1);
    }));
});

describe("a decision within limits", () => {
  it("stands although its uses could not be given back", async () => {
    await using store = createMemoryStore({ clock: () => ann.at });
    const lost: unknown[] = [];
    const error = new AppError("storage_unavailable", "Cannot reach the store");
    const limits = { ...createGlobalLimits(store), release: () => Promise.reject(error) };
    const options = { limits, claimant: ann, rules: limited(3), onLost: (one: unknown) => lost.push(one) };
    const course = [["r0"], ["x"]];
    const answer = await withinLimits(
      options,
      firing(() => course.shift() ?? assert.fail()),
    );
    assert.deepEqual(firedOf(answer), ["x"]);
    assert.deepEqual(lost, [error]);
  });
});
