/** Tests of the limiter port. */
import { storageLimits } from "../../lib/storage/contract.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import {
  type Cases,
  equal,
  type Fixture,
  ok,
  register,
  rejects,
  type Suite,
  type TestClock,
} from "./harness.ts";
import { awkwardNames } from "./limits.ts";
import { createRandom } from "./random.ts";

/** A limiter that no other test has touched. */
export interface LimiterFixture extends Fixture {
  readonly limiter: Limiter;
  readonly clock: TestClock;
  /** Another handle on the same counts. @default the limiter itself */
  readonly peer?: Limiter;
}

/** Ten in any second, counted in buckets of 10 ms; the clock begins at the start of one. */
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
      const expected = { allowed: true, remaining: left, resetMs: 1_010, retryAfterMs: 0 };
      equal(await one(limiter, "s", tenPerSecond), expected);
    }
    const refused = { allowed: false, remaining: 0, resetMs: 1_010, retryAfterMs: 1_010 };
    equal(await one(limiter, "s", tenPerSecond), refused);
    equal(await one(limiter, "s", tenPerSecond), refused, "a refusal costs nothing");
  },

  async "a unit comes back a window after it was spent, and at most a hundredth of it later"({
    limiter,
    clock,
  }) {
    await limiter.take("s", [tenPerSecond], 4);
    clock.advance(500);
    await limiter.take("s", [tenPerSecond], 6);
    clock.advance(509);
    const refused = { allowed: false, remaining: 0, resetMs: 501, retryAfterMs: 1 };
    equal(await one(limiter, "s", tenPerSecond), refused);
    clock.advance(1);
    const allowed = { allowed: true, remaining: 3, resetMs: 1_010, retryAfterMs: 0 };
    equal(await one(limiter, "s", tenPerSecond), allowed);
  },

  async "a clock that was ahead for one request refuses nobody for longer than the window"({
    limiter,
    clock,
  }) {
    await limiter.take("s", [tenPerSecond], 4);
    clock.advance(86_400_000);
    await limiter.take("s", [tenPerSecond], 10);
    clock.advance(-86_400_000);
    const refused = await one(limiter, "s", tenPerSecond);
    equal([refused.allowed, refused.retryAfterMs], [false, 1_010]);
    clock.advance(1_009);
    equal((await one(limiter, "s", tenPerSecond)).retryAfterMs, 1);
    clock.advance(1);
    equal((await one(limiter, "s", tenPerSecond)).remaining, 9);
  },

  async "everything is back after the window, and never more than the limit"({ limiter, clock }) {
    await limiter.take("s", [tenPerSecond], 10);
    clock.advance(1_000_000);
    equal((await one(limiter, "s", tenPerSecond, 10)).allowed, true);
    equal((await one(limiter, "s", tenPerSecond)).allowed, false);
  },

  async "a cost is spent as a whole or not at all, and the wait is for that cost"({ limiter, clock }) {
    await limiter.take("s", [tenPerSecond], 4);
    clock.advance(100);
    await limiter.take("s", [tenPerSecond], 3);
    clock.advance(100);
    for (const [cost, retryAfterMs] of [
      [4, 810],
      [7, 810],
      [8, 910],
      [10, 910],
    ] as const) {
      const refused = { allowed: false, remaining: 3, resetMs: 910, retryAfterMs };
      equal(await one(limiter, "s", tenPerSecond, cost), refused, `cost ${cost}`);
    }
    equal((await one(limiter, "s", tenPerSecond, 3)).allowed, true);
    clock.advance(810);
    equal((await one(limiter, "s", tenPerSecond, 4)).allowed, true);
  },

  async "limits and windows that do not divide each other hold too"({ limiter }) {
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
      const { allowed, retryAfterMs } = await one(limiter, "s", rule);
      equal(allowed, false, rule.name);
      ok(retryAfterMs >= windowMs && retryAfterMs <= Math.ceil(windowMs * 1.01) + 1, rule.name);
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

  async "no window of time holds more than the limit, in whatever bursts requests come"({ limiter, clock }) {
    for (const seed of [1, 2, 3]) {
      const random = createRandom(seed);
      const rule = { name: `burst ${seed}`, limit: 20, windowMs: 60_000 };
      const spent: number[] = [];
      let now = 0;
      for (let step = 0; step < 60; step++) {
        // Just before and after a window or a bucket ends is when a limiter forgets too much.
        const near = [0, 1, 599, 600, 30_000, 59_399, 59_999, 60_000][random.integer(8)] ?? 0;
        clock.advance(near);
        now += near;
        for (let burst = random.integer(30); burst > 0; burst--) {
          if ((await one(limiter, "s", rule)).allowed) spent.push(now);
        }
      }
      for (const [index, at] of spent.entries()) {
        const within = spent.slice(index).findIndex(later => later >= at + rule.windowMs);
        const count = within === -1 ? spent.length - index : within;
        ok(count <= rule.limit, `${count} of ${rule.limit} from ${at} on`);
      }
      ok(spent.length > 5 * rule.limit, "the limiter lets too little pass");
    }
  },

  async "who keeps just below the rate is never refused"({ limiter, clock }) {
    const rule = { name: "steady", limit: 20, windowMs: 60_000 };
    for (let step = 0; step < 100; step++) {
      equal((await one(limiter, "s", rule)).allowed, true, `step ${step}`);
      clock.advance(3_031);
    }
  },
};

const hourly: LimitRule = { name: "hourly", limit: 12, windowMs: 3_600_000 };

/** The time until a bucket of {@linkcode hourly} that is the current one counts no more. */
function hourlyResetMs(clock: TestClock): number {
  const bucketMs = hourly.windowMs / 100;
  return hourly.windowMs + bucketMs - (clock.now() % bucketMs);
}

const ruleCases: Cases<LimiterFixture> = {
  async "each rule has its own verdict, in the order given"({ limiter, clock }) {
    equal(await limiter.take("s", [hourly, tenPerSecond], 2), [
      { allowed: true, remaining: 10, resetMs: hourlyResetMs(clock), retryAfterMs: 0 },
      { allowed: true, remaining: 8, resetMs: 1_010, retryAfterMs: 0 },
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
      { allowed: false, remaining: 0, resetMs: 1_010, retryAfterMs: 1_010 },
    ]);
    clock.advance(1_010);
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
  async "a random run agrees with a list of all uses"({ limiter, clock }) {
    const random = createRandom(7);
    const rule = { name: "model", limit: 7, windowMs: 1_000 };
    const bucketMs = 10;
    let uses: { readonly until: number; readonly units: number }[] = [];
    for (let step = 0; step < 1_000; step++) {
      if (random.chance(0.6)) clock.advance(random.integer(400));
      const now = clock.now();
      uses = uses.filter(({ until }) => until > now);
      const cost = 1 + random.integer(3);
      const sum = (list: typeof uses): number => list.reduce((units, use) => units + use.units, 0);
      const allowed = sum(uses) + cost <= rule.limit;
      const ends = uses.map(({ until }) => until);
      const enough = ends.find(end => sum(uses.filter(({ until }) => until > end)) + cost <= rule.limit);
      const until = Math.floor(now / bucketMs) * bucketMs + rule.windowMs + bucketMs;
      if (allowed) uses.push({ until, units: cost });
      const expected: LimitVerdict = {
        allowed,
        remaining: rule.limit - sum(uses),
        resetMs: (uses.at(-1)?.until ?? now) - now,
        retryAfterMs: allowed ? 0 : (enough ?? now) - now,
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
