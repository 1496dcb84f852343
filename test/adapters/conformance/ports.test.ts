import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  blobsConformance,
  ConformanceError,
  limiterConformance,
  queueConformance,
} from "../../../adapters/conformance/mod.ts";
import { createMemoryBlobs, createMemoryLimiter, createMemoryQueue } from "../../../adapters/memory/mod.ts";
import type { Blobs, Limiter, Queue } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { collect, outcome } from "./suite.ts";

type Twist<T> = (inner: T) => Partial<T>;

/** The inner object with some of its methods replaced. */
function twisted<T extends object>(inner: T, twist: Twist<T>): T {
  const changed = twist(inner);
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(name in changed ? changed : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function assertCaught(cases: ReturnType<typeof collect>, caughtBy: string): Promise<void> {
  const error = await outcome(cases, caughtBy);
  assert.ok(error instanceof ConformanceError, `${caughtBy} says ${error}`);
}

describe("the limiter suite rejects one that", () => {
  const broken: readonly [name: string, caughtBy: string, twist: Twist<Limiter>][] = [
    [
      "spends the rules one by one",
      "limiter › if one rule refuses",
      inner => ({
        take: async (subject, rules, cost) =>
          (await Promise.all(rules.map(rule => inner.take(subject, [rule], cost)))).flat(),
      }),
    ],
    [
      "forgets the cost",
      "limiter › a cost is spent as a whole",
      inner => ({ take: (subject, rules) => inner.take(subject, rules) }),
    ],
    [
      "reports too short a wait",
      "limiter › waiting for the reported time",
      inner => ({
        take: async (subject, rules, cost) =>
          (await inner.take(subject, rules, cost)).map(verdict => ({
            ...verdict,
            retryAfterMs: Math.max(0, verdict.retryAfterMs - 1),
          })),
      }),
    ],
    [
      "confuses subject and rule",
      "limiter › every awkward subject",
      inner => ({
        take: (subject, [rule]) =>
          inner.take("all", rule === undefined ? [] : [{ ...rule, name: `${subject}:${rule.name}` }]),
      }),
    ],
    ["resets nothing", "limiter › reset forgets", () => ({ reset: () => Promise.resolve() })],
  ];
  for (const [name, caughtBy, twist] of broken) {
    it(name, async () => {
      const cases = collect(runner =>
        limiterConformance({
          ...runner,
          factory() {
            const clock = createTestClock();
            return {
              limiter: twisted(createMemoryLimiter({ clock: clock.now }), twist),
              clock,
              dispose() {},
            };
          },
        }),
      );
      await assertCaught(cases, caughtBy);
    });
  }
});

describe("the queue suite rejects one that", () => {
  const broken: readonly [name: string, caughtBy: string, twist: Twist<Queue>][] = [
    [
      "keeps a lease one millisecond too long",
      "queue › a leased message",
      inner => ({ take: (topic, lease) => inner.take(topic, { ...lease, leaseMs: lease.leaseMs + 1 }) }),
    ],
    [
      "hands out new messages first",
      "queue › messages whose lease ended come before new ones",
      inner => ({
        take: async (topic, lease) =>
          (await inner.take(topic, lease)).toSorted((a, b) => a.attempts - b.attempts),
      }),
    ],
    [
      "does not count attempts",
      "queue › attempts count",
      inner => ({
        take: async (topic, lease) =>
          (await inner.take(topic, lease)).map(each => ({ ...each, attempts: 1 })),
      }),
    ],
    [
      "accepts part of a push",
      "queue › a push beyond depthMax",
      inner => ({
        async push(topic, bodies) {
          const ids = [];
          for (const body of bodies) ids.push(...(await inner.push(topic, [body])));
          return ids;
        },
      }),
    ],
    ["settles nothing", "queue › a settled message", () => ({ ack: () => Promise.resolve() })],
    [
      "releases nothing",
      "queue › released messages are handed out again",
      () => ({ release: () => Promise.resolve() }),
    ],
    [
      "has one queue for all topics",
      "queue › every awkward topic",
      inner => ({ take: (_, lease) => inner.take("a", lease), push: (_, bodies) => inner.push("a", bodies) }),
    ],
  ];
  for (const [name, caughtBy, twist] of broken) {
    it(name, async () => {
      const cases = collect(runner =>
        queueConformance({
          ...runner,
          factory() {
            const clock = createTestClock();
            const queue = twisted(createMemoryQueue({ clock: clock.now, depthMax: 64 }), twist);
            return { queue, clock, depthMax: 64, dispose() {} };
          },
        }),
      );
      await assertCaught(cases, caughtBy);
    });
  }
});

describe("the blobs suite rejects one that", () => {
  const broken: readonly [name: string, caughtBy: string, twist: Twist<Blobs>][] = [
    [
      "takes the end as included",
      "blobs › a range gives its bytes",
      inner => ({
        get: (name, range = {}) =>
          inner.get(name, range.end === undefined ? range : { ...range, end: range.end + 1 }),
      }),
    ],
    [
      "removes before it replaces",
      "blobs › a blob is replaced only once",
      inner => ({
        async put(name, body) {
          await inner.remove(name);
          return await inner.put(name, body);
        },
      }),
    ],
    [
      "does not tell letter case apart",
      "blobs › names that differ",
      inner => ({
        put: (name, body) => inner.put(name.toLowerCase(), body),
        get: (name, range) => inner.get(name.toLowerCase(), range),
      }),
    ],
    [
      "follows dots out of its place",
      "blobs › a name that could escape",
      inner => ({ get: name => inner.get(name.replaceAll("../", "")) }),
    ],
  ];
  for (const [name, caughtBy, twist] of broken) {
    it(name, async () => {
      const cases = collect(runner =>
        blobsConformance({
          ...runner,
          factory: () => ({ blobs: twisted(createMemoryBlobs(), twist), dispose() {} }),
        }),
      );
      await assertCaught(cases, caughtBy);
    });
  }
});
