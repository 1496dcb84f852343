/** Tests of the limiter port. */
import { storageLimits } from "../../lib/storage/limits.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { equal, ok, rejects } from "./expect.ts";
import { type Cases, type Fixture, register, type Suite, type TestClock } from "./harness.ts";
import { awkwardNames } from "./names.ts";
import { createRandom } from "./random.ts";

/** A limiter that no other test has touched. */
export interface LimiterFixture extends Fixture {
  readonly limiter: Limiter;
  /** The clock of the limiter. */
  readonly clock: TestClock;
  /** Another handle on the same counts. @default the limiter itself */
  readonly peer?: Limiter;
}

/** Ten at once, then one every 100 ms. */
const tenPerSecond: LimitRule = { name: "ten", limit: 10, windowMs: 1_000 };

/** Registers the whole suite for a {@linkcode Limiter}. */
export function limiterConformance(options: Suite<LimiterFixture>): void {
  const cases: Cases<LimiterFixture> = {
    ...rateCases,
    ...ruleCases,
    ...subjectCases,
    ...raceCases,
    ...modelCases,
  };
  options.describe("limiter", () => register(options, cases, () => options.factory()));
}

const rateCases: Cases<LimiterFixture> = {
  async "the whole limit may be spent at once and then nothing"({ limiter }) {
    for (let left = 9; left >= 0; left--) {
      const resetMs = (10 - left) * 100;
      equal(await one(limiter, "s", tenPerSecond), {
        allowed: true,
        remaining: left,
        resetMs,
        retryAfterMs: 0,
      });
    }
    const refused = { allowed: false, remaining: 0, resetMs: 1_000, retryAfterMs: 100 };
    equal(await one(limiter, "s", tenPerSecond), refused);
    equal(await one(limiter, "s", tenPerSecond), refused, "a refusal costs nothing");
  },

  async "a unit comes back at its millisecond and not before"({ limiter, clock }) {
    await limiter.take("s", [tenPerSecond], 10);
    clock.advance(99);
    equal(await one(limiter, "s", tenPerSecond), {
      allowed: false,
      remaining: 0,
      resetMs: 901,
      retryAfterMs: 1,
    });
    clock.advance(1);
    equal(await one(limiter, "s", tenPerSecond), {
      allowed: true,
      remaining: 0,
      resetMs: 1_000,
      retryAfterMs: 0,
    });
    equal((await one(limiter, "s", tenPerSecond)).allowed, false);
  },

  async "everything is back after the window, and never more than the limit"({ limiter, clock }) {
    await limiter.take("s", [tenPerSecond], 10);
    clock.advance(1_000_000);
    equal((await one(limiter, "s", tenPerSecond, 10)).allowed, true);
    equal((await one(limiter, "s", tenPerSecond)).allowed, false);
  },

  async "a cost is spent as a whole or not at all, and the wait is for that cost"({ limiter, clock }) {
    equal(await one(limiter, "s", tenPerSecond, 7), {
      allowed: true,
      remaining: 3,
      resetMs: 700,
      retryAfterMs: 0,
    });
    const refused = { allowed: false, remaining: 3, resetMs: 700, retryAfterMs: 100 };
    equal(await one(limiter, "s", tenPerSecond, 4), refused);
    equal((await one(limiter, "s", tenPerSecond, 3)).allowed, true);
    clock.advance(399);
    equal(await one(limiter, "s", tenPerSecond, 4), {
      allowed: false,
      remaining: 3,
      resetMs: 601,
      retryAfterMs: 1,
    });
    clock.advance(1);
    equal((await one(limiter, "s", tenPerSecond, 4)).allowed, true);
  },

  async "limits that do not divide their window are exact too"({ limiter }) {
    for (const [limit, windowMs] of [
      [1, 1],
      [3, 1_000],
      [7, 1_000],
      [97, 60_000],
      [600, 1_000],
      [1_000, 7],
    ] as const) {
      const rule = { name: `${limit}/${windowMs}`, limit, windowMs };
      for (let left = limit - 1; left >= 0; left--) {
        const { allowed, remaining } = await one(limiter, "s", rule);
        equal([allowed, remaining], [true, left], rule.name);
      }
      const refused = await one(limiter, "s", rule);
      equal([refused.allowed, refused.retryAfterMs], [false, Math.ceil(windowMs / limit)], rule.name);
    }
  },

  async "waiting for the reported time is always enough"({ limiter, clock }) {
    const rule = { name: "odd", limit: 7, windowMs: 999 };
    for (let round = 0; round < 200; round++) {
      const verdict = await one(limiter, "s", rule, 1 + (round % 7));
      if (verdict.allowed) continue;
      ok(verdict.retryAfterMs > 0, "a refusal asks for no wait");
      clock.advance(verdict.retryAfterMs);
      equal((await one(limiter, "s", rule, 1 + (round % 7))).allowed, true, `round ${round}`);
    }
  },
};

const hourly: LimitRule = { name: "hourly", limit: 12, windowMs: 3_600_000 };

const ruleCases: Cases<LimiterFixture> = {
  async "each rule has its own verdict, in the order given"({ limiter }) {
    equal(await limiter.take("s", [hourly, tenPerSecond], 2), [
      { allowed: true, remaining: 10, resetMs: 600_000, retryAfterMs: 0 },
      { allowed: true, remaining: 8, resetMs: 200, retryAfterMs: 0 },
    ]);
    equal(
      (await limiter.take("s", [tenPerSecond, hourly])).map(({ remaining }) => remaining),
      [7, 9],
    );
  },

  async "if one rule refuses, no rule is spent"({ limiter, clock }) {
    await limiter.take("s", [tenPerSecond], 10);
    const refused = await limiter.take("s", [hourly, tenPerSecond]);
    equal(refused, [
      { allowed: true, remaining: 12, resetMs: 0, retryAfterMs: 0 },
      { allowed: false, remaining: 0, resetMs: 1_000, retryAfterMs: 100 },
    ]);
    clock.advance(1_000);
    equal((await one(limiter, "s", hourly, 12)).allowed, true);
    const other = await limiter.take("s", [tenPerSecond, hourly]);
    equal(
      other.map(({ allowed }) => allowed),
      [true, false],
    );
    equal((await one(limiter, "s", tenPerSecond, 10)).allowed, true);
  },

  async "no rules, no verdicts"({ limiter }) {
    equal(await limiter.take("s", []), []);
    await limiter.reset("s", []);
  },

  async "reset forgets what was spent under its rules alone"({ limiter, peer = limiter }) {
    await limiter.take("s", [tenPerSecond, hourly], 10);
    await limiter.take("other", [tenPerSecond], 10);
    await peer.reset("s", [tenPerSecond]);
    equal((await one(limiter, "s", tenPerSecond, 10)).allowed, true);
    equal((await one(limiter, "s", hourly, 3)).allowed, false);
    equal((await one(limiter, "other", tenPerSecond)).allowed, false);
    await limiter.reset("never seen", [tenPerSecond]);
  },

  async "misuse is refused before anything is spent"({ limiter }) {
    const bad = [TypeError, RangeError];
    for (const cost of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 11]) {
      await rejects(async () => limiter.take("s", [tenPerSecond], cost), bad, `cost ${cost}`);
    }
    for (const subject of ["", "\ud800", "x".repeat(513)]) {
      await rejects(async () => limiter.take(subject, [tenPerSecond]), bad, "subject");
    }
    for (const rule of [
      { limit: 0 },
      { limit: 1.5 },
      { windowMs: 0 },
      { windowMs: Number.NaN },
      { name: "" },
    ]) {
      await rejects(async () => limiter.take("s", [tenPerSecond, { ...tenPerSecond, ...rule }]), bad, "rule");
    }
    const many = Array.from({ length: storageLimits.limitRulesMax + 1 }, (_, index) => ({
      ...tenPerSecond,
      name: `r${index}`,
    }));
    await rejects(async () => limiter.take("s", many), bad, "too many rules");
    equal(
      (await limiter.take("s", many.slice(0, storageLimits.limitRulesMax), 10)).every(
        ({ allowed }) => allowed,
      ),
      true,
    );
    equal((await one(limiter, "s", tenPerSecond, 10)).allowed, true);
  },
};

const subjectCases: Cases<LimiterFixture> = {
  async "every awkward subject and rule name has its own count"({ limiter }) {
    const once = { name: "once", limit: 1, windowMs: 1_000 };
    const pairs = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["{a}", "b"],
      ["a", "{b}"],
      ["a\0b", "c"],
      ["a", "b\0c"],
    ] as const;
    for (const subject of awkwardNames) equal((await one(limiter, subject, once)).allowed, true, subject);
    for (const subject of awkwardNames) equal((await one(limiter, subject, once)).allowed, false, subject);
    for (const [subject, name] of pairs)
      equal((await one(limiter, subject, { ...once, name })).allowed, true, name);
  },
};

const raceCases: Cases<LimiterFixture> = {
  async "of 64 parallel takes exactly as many are allowed as the limit has units"({
    limiter,
    peer = limiter,
  }) {
    const verdicts = await Promise.all(
      Array.from({ length: 64 }, (_, index) => one(index % 2 === 0 ? limiter : peer, "s", tenPerSecond)),
    );
    const allowed = verdicts.filter(verdict => verdict.allowed);
    equal(allowed.map(({ remaining }) => remaining).sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  },
};

const modelCases: Cases<LimiterFixture> = {
  async "a random run agrees with the rate in exact fractions"({ limiter, clock }) {
    const random = createRandom(7);
    const rule = { name: "model", limit: 7, windowMs: 1_000 };
    // The debt in ms * limit: integers, so that the model is exact.
    let owed = 0;
    for (let step = 0; step < 1_000; step++) {
      if (random.chance(0.6)) {
        const ms = random.integer(400);
        clock.advance(ms);
        owed = Math.max(0, owed - ms * rule.limit);
      }
      const cost = 1 + random.integer(3);
      const allowed = owed + cost * rule.windowMs <= rule.windowMs * rule.limit;
      const over = owed + cost * rule.windowMs - rule.windowMs * rule.limit;
      if (allowed) owed += cost * rule.windowMs;
      const expected: LimitVerdict = {
        allowed,
        remaining: Math.floor((rule.windowMs * rule.limit - owed) / rule.windowMs),
        resetMs: Math.ceil(owed / rule.limit),
        retryAfterMs: allowed ? 0 : Math.ceil(over / rule.limit),
      };
      equal(await one(limiter, "s", rule, cost), expected, `step ${step}`);
    }
  },
};

async function one(limiter: Limiter, subject: string, rule: LimitRule, cost?: number): Promise<LimitVerdict> {
  const [verdict, ...others] = await limiter.take(subject, [rule], cost);
  ok(verdict !== undefined && others.length === 0, "one rule must have one verdict");
  return verdict;
}
