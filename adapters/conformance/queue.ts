/** Tests of the queue port. */
import { AppError } from "../../lib/base/errors/mod.ts";
import { storageLimits } from "../../lib/storage/contract.ts";
import type { Queue, QueueMessage } from "../../lib/storage/ports.ts";
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

/** A queue that no other test has touched. */
export interface QueueFixture extends Fixture {
  readonly queue: Queue;
  /** The clock of the leases. */
  readonly clock: TestClock;
  /** Maximum number of unsettled messages of a topic of this queue, 64 to 1,000. */
  readonly depthMax: number;
  /** Another handle on the same messages. @default the queue itself */
  readonly peer?: Queue;
}

const leaseMs = 1_000;

/** Registers the whole suite for a {@linkcode Queue}. */
export function queueConformance(options: Suite<QueueFixture>): void {
  const cases: Cases<QueueFixture> = { ...orderCases, ...leaseCases, ...boundCases, ...raceCases };
  options.describe("queue", () => register(options, cases, () => options.factory()));
}

const orderCases: Cases<QueueFixture> = {
  async "messages are handed out in the order of arrival under the ids of their push"({
    queue,
    peer = queue,
  }) {
    const first = await queue.push("t", ["a", "b"]);
    const second = await peer.push("t", ["c"]);
    equal(await take(queue, 10), [
      { id: first[0], body: "a", attempts: 1 },
      { id: first[1], body: "b", attempts: 1 },
      { id: second[0], body: "c", attempts: 1 },
    ]);
  },

  async "take hands out at most its limit and never waits"({ queue }) {
    equal(await take(queue, 5), []);
    await queue.push("t", ["a", "b", "c"]);
    equal(await bodiesOf(queue, 2), ["a", "b"]);
    equal(await bodiesOf(queue, 2), ["c"]);
    equal(await take(queue, 2), []);
  },

  async "pushing nothing accepts nothing"({ queue }) {
    equal(await queue.push("t", []), []);
    equal(await queue.depth("t"), 0);
  },

  async "bodies come back exactly, the empty one too"({ queue }) {
    const bodies = ["", "\0", "～😀", "[]", " ", "v".repeat(100_000)];
    await queue.push("t", bodies);
    equal(await bodiesOf(queue, 10), bodies);
  },

  async "the oldest message is the one that arrived first and is not settled"({ queue }) {
    equal(await queue.oldest("t"), null);
    const [first = ""] = await queue.push("t", ["a"]);
    const oldest = await queue.oldest("t");
    ok(Number.isSafeInteger(oldest) && (oldest ?? 0) > 0, `${oldest} is a time`);
    const [second = ""] = await queue.push("t", ["b"]);
    equal(await queue.oldest("t"), oldest);
    await take(queue, 10);
    equal(await queue.oldest("t"), oldest);
    await queue.ack("t", [first]);
    const next = await queue.oldest("t");
    ok(next !== null && oldest !== null && next >= oldest, `${next} is not before ${oldest}`);
    await queue.ack("t", [second]);
    equal(await queue.oldest("t"), null);
  },

  async "every awkward topic is a queue of its own"({ queue }) {
    for (const topic of awkwardNames) await queue.push(topic, [`to ${topic}`]);
    for (const topic of awkwardNames) {
      const found = await queue.take(topic, { consumer: topic, limit: 10, leaseMs });
      equal(
        found.map(({ body }) => body),
        [`to ${topic}`],
        topic,
      );
    }
  },
};

const leaseCases: Cases<QueueFixture> = {
  async "a leased message is not handed out again until the lease ends"({ queue, peer = queue, clock }) {
    await queue.push("t", ["a"]);
    const [first] = await take(queue, 1);
    clock.advance(leaseMs - 1);
    equal(await take(peer, 1, "other"), []);
    clock.advance(1);
    equal(await take(peer, 1, "other"), [{ id: first?.id, body: "a", attempts: 2 }]);
  },

  async "messages whose lease ended come before new ones, in the order of arrival"({ queue, clock }) {
    await queue.push("t", ["a", "b", "c", "d"]);
    await take(queue, 2);
    clock.advance(leaseMs);
    equal(
      (await take(queue, 3)).map(({ body, attempts }) => [body, attempts]),
      [
        ["a", 2],
        ["b", 2],
        ["c", 1],
      ],
    );
  },

  async "attempts count every time a message is handed out"({ queue, clock }) {
    await queue.push("t", ["a"]);
    for (let attempts = 1; attempts <= 5; attempts++) {
      equal(
        (await take(queue, 1, `consumer ${attempts}`)).map(delivery => delivery.attempts),
        [attempts],
      );
      clock.advance(leaseMs);
    }
  },

  async "leases of different length each end at their time"({ queue, clock }) {
    await queue.push("t", ["long", "short"]);
    await queue.take("t", { consumer: "c", limit: 1, leaseMs: 5_000 });
    await queue.take("t", { consumer: "c", limit: 1, leaseMs: 100 });
    clock.advance(100);
    equal(await bodiesOf(queue, 5), ["short"]);
    clock.advance(4_900);
    equal(await bodiesOf(queue, 5), ["long", "short"]);
  },

  async "a settled message is never handed out again"({ queue, peer = queue, clock }) {
    await queue.push("t", ["a", "b", "c"]);
    const [a, , c] = await take(queue, 3);
    ok(a !== undefined && c !== undefined, "three were pushed");
    await peer.ack("t", [a.id, c.id]);
    await peer.ack("t", [a.id]);
    equal(await queue.depth("t"), 1);
    clock.advance(leaseMs);
    equal(await bodiesOf(queue, 5), ["b"]);
  },

  async "a late consumer still settles, even messages that another holds or that were never taken"({
    queue,
    clock,
  }) {
    const [a, b] = await queue.push("t", ["a", "b"]);
    ok(a !== undefined && b !== undefined, "two were pushed");
    await take(queue, 1, "late");
    clock.advance(leaseMs);
    await take(queue, 1, "other");
    await queue.ack("t", [a, b]);
    clock.advance(leaseMs);
    equal(await take(queue, 5), []);
    equal(await queue.depth("t"), 0);
  },

  async "released messages are handed out again at once, in the order of arrival and before new ones"({
    queue,
    peer = queue,
  }) {
    const bodies = Array.from({ length: 40 }, (_, index) => String(index));
    const ids = await queue.push("t", bodies);
    await take(queue, 20, "gone");
    await queue.ack("t", ids.slice(3, 4));
    await queue.push("other", ["x"]);
    await queue.take("other", { consumer: "c", limit: 1, leaseMs });
    await peer.release("t");
    await peer.release("none");
    const first = await take(peer, 12, "heir");
    const rest = await take(peer, 40, "heir");
    equal(
      [...first, ...rest].map(({ body }) => body),
      bodies.filter(body => body !== "3"),
    );
    equal(
      first.map(({ attempts }) => attempts),
      first.map(() => 2),
    );
    equal(await queue.take("other", { consumer: "c", limit: 1, leaseMs }), []);
  },

  async "ids of other topics and unknown ids are ignored"({ queue }) {
    const [id] = await queue.push("t", ["a"]);
    ok(id !== undefined, "one was pushed");
    await queue.push("other", ["b"]);
    await queue.ack("none", [id]);
    await queue.ack("t", ["0-1", "nonsense"]);
    equal([await queue.depth("t"), await queue.depth("other")], [1, 1]);
  },
};

const boundCases: Cases<QueueFixture> = {
  async "the depth counts unsettled messages"({ queue }) {
    equal(await queue.depth("t"), 0);
    await queue.push("t", ["a", "b", "c"]);
    const [a] = await take(queue, 2);
    equal(await queue.depth("t"), 3);
    await queue.ack("t", [a?.id ?? ""]);
    equal(await queue.depth("t"), 2);
  },

  async "a push beyond depthMax is refused as busy and accepts none of its messages"({ queue, depthMax }) {
    const bodies = Array.from({ length: depthMax - 1 }, (_, index) => String(index));
    const [first] = await queue.push("t", bodies);
    const error = await rejects(() => queue.push("t", ["x", "y"]), [AppError], "two more");
    equal((error as AppError).code, "busy");
    equal(await queue.depth("t"), depthMax - 1);
    await queue.push("t", ["last"]);
    await rejects(() => queue.push("t", ["x"]), [AppError], "one more");
    await queue.push("other", ["a"]);
    await take(queue, 1);
    await rejects(() => queue.push("t", ["x"]), [AppError], "a lease frees nothing");
    await queue.ack("t", [first ?? ""]);
    await queue.push("t", ["x"]);
    equal(await queue.depth("t"), depthMax);
  },

  async "misuse is refused"({ queue }) {
    const bad = [TypeError, RangeError];
    const lease = { consumer: "c", limit: 1, leaseMs };
    for (const name of ["", "\ud800", "x".repeat(513)]) {
      await rejects(async () => queue.push(name, ["a"]), bad, "topic of push");
      await rejects(async () => queue.take(name, lease), bad, "topic of take");
      await rejects(async () => queue.take("t", { ...lease, consumer: name }), bad, "consumer");
    }
    for (const limit of [0, -1, 1.5, Number.NaN, storageLimits.queueBatchMax + 1]) {
      await rejects(async () => queue.take("t", { ...lease, limit }), bad, `limit ${limit}`);
    }
    for (const ms of [0, -1, 1.5, Number.NaN, storageLimits.leaseMsMax + 1]) {
      await rejects(async () => queue.take("t", { ...lease, leaseMs: ms }), bad, `lease ${ms}`);
    }
    equal(
      await queue.take("t", {
        ...lease,
        limit: storageLimits.queueBatchMax,
        leaseMs: storageLimits.leaseMsMax,
      }),
      [],
    );
    await rejects(async () => queue.push("t", ["a", "\ud800"]), bad, "ill-formed body");
    await rejects(
      async () => queue.push("t", ["a", "x".repeat(storageLimits.valueBytesMax + 1)]),
      bad,
      "long body",
    );
    await rejects(
      async () =>
        queue.push(
          "t",
          Array.from({ length: storageLimits.queueBatchMax + 1 }, () => "x"),
        ),
      bad,
      "batch",
    );
    equal(await queue.depth("t"), 0);
  },
};

const raceCases: Cases<QueueFixture> = {
  async "competing consumers never hold the same message"({ queue, peer = queue }) {
    const bodies = Array.from({ length: 60 }, (_, index) => String(index));
    await queue.push("t", bodies);
    const taken = await Promise.all(
      Array.from({ length: 32 }, (_, index) => take(index % 2 === 0 ? queue : peer, 3, `consumer ${index}`)),
    );
    equal(
      taken
        .flat()
        .map(({ body }) => Number(body))
        .sort((a, b) => a - b),
      bodies.map(Number),
    );
  },

  async "the messages of one push stay together in order, however many push"({ queue, peer = queue }) {
    await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        (index % 2 === 0 ? queue : peer).push("t", [`${index} a`, `${index} b`]),
      ),
    );
    const found = await take(queue, 100);
    equal(found.length, 32);
    equal(new Set(found.map(({ id }) => id)).size, 32, "distinct ids");
    for (let index = 0; index < 32; index += 2) {
      equal(found[index + 1]?.body, found[index]?.body.replace(" a", " b"));
    }
  },
};

function take(queue: Queue, limit: number, consumer: string = "consumer"): Promise<readonly QueueMessage[]> {
  return queue.take("t", { consumer, limit, leaseMs });
}

async function bodiesOf(queue: Queue, limit: number): Promise<readonly string[]> {
  return (await take(queue, limit)).map(({ body }) => body);
}
