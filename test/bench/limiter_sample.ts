/** One sample of `limiter.ts`: callers that spend as fast as they can for a while; prints its measures as JSON. */
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis } from "rate-limiter-flexible";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createRedisLimiter } from "../../adapters/redis/mod.ts";
import { Failover } from "../../lib/http/rate_limit/failover.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
import type { Limiter, LimitVerdict } from "../../lib/storage/mod.ts";

/** Measures of one sample. */
export interface LimiterSample {
  readonly perSecond: number;
  /** Processor time of this process per decision, in microseconds. */
  readonly cpuUs: number;
  /** The share of decisions that the limiter did not make, because it took too long. */
  readonly uncounted: number;
}

const callers = 64;
const subjects = Array.from({ length: 10_000 }, (_, n) => `user:${n}`);
const warmupMs = 500;
// Nobody is refused: a refusal costs the peer more, as it is thrown.
const limit = 1_000_000;
const rules = [{ name: "minute", limit, windowMs: 60_000 }];

let uncounted = 0;

/** A limiter under test. */
interface Subject {
  /** Spends one unit; the answer, or what it resolves with, says if that was allowed. */
  readonly spend: (subject: string) => unknown;
  readonly isAllowed: (answer: unknown) => boolean;
  readonly close: () => unknown;
}

function isAllowed(answer: unknown): boolean {
  return (answer as readonly LimitVerdict[] | null)?.[0]?.allowed === true;
}

function ours(limiter: Limiter): Subject {
  return {
    spend: subject => limiter.take(subject, rules),
    isAllowed,
    close: () => limiter[Symbol.asyncDispose](),
  };
}

/** A limiter in memory that lets the process have its turns, as requests do: callers in a loop would leave it none. */
function patient(): Limiter {
  const inner = createMemoryLimiter({ clock: Date.now });
  return {
    async take(...args) {
      await setImmediate();
      return await inner.take(...args);
    },
    reset: (...args) => inner.reset(...args),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

/** Counted as routes are: with a time limit and a limiter in the process for when it is over. */
function guarded(limiter: Limiter, local: Limiter | null): Subject {
  const failover = new Failover({
    limiter,
    local,
    clock: () => performance.now(),
    timer: systemTimer,
    onOutage: () => {},
    onRecovery: () => {},
    onUncounted: () => {
      uncounted += 1;
    },
  });
  return {
    spend: subject => failover.spend({ subject, rules, onLimiterFailure: "local" }),
    isAllowed,
    close: () => limiter[Symbol.asyncDispose](),
  };
}

/** The peer rejects where it refuses. */
function peer(limiter: RateLimiterMemory | RateLimiterRedis, close: () => unknown): Subject {
  return { spend: subject => limiter.consume(subject), isAllowed: () => true, close };
}

function peerOnRedis(socket: string, enableAutoPipelining: boolean): Subject {
  const storeClient = new Redis(socket, { enableAutoPipelining });
  return peer(new RateLimiterRedis({ storeClient, points: limit, duration: 60 }), () =>
    storeClient.disconnect(),
  );
}

/** The compared limiters, by their store. The first of each is the peer. */
export const limiterVariants: Readonly<
  Record<"memory" | "Redis", Readonly<Record<string, (socket: string) => Subject>>>
> = {
  memory: {
    "rate-limiter-flexible": () => peer(new RateLimiterMemory({ points: limit, duration: 60 }), () => {}),
    "memory limiter": () => ours(createMemoryLimiter({ clock: Date.now })),
    "memory limiter, as routes use it": () => guarded(createMemoryLimiter({ clock: Date.now }), null),
  },
  Redis: {
    "rate-limiter-flexible": socket => peerOnRedis(socket, false),
    "rate-limiter-flexible, auto-pipelined": socket => peerOnRedis(socket, true),
    "Redis limiter": socket => ours(createRedisLimiter({ server: `unix://${socket}` })),
    "Redis limiter, as routes use it": socket =>
      guarded(createRedisLimiter({ server: `unix://${socket}` }), patient()),
  },
};

const [place = "", name = "", milliseconds = "", socket = ""] = process.argv.slice(2);
// A program that imports the table may have other arguments, but no variant.
if ((place === "memory" || place === "Redis") && name !== "") {
  const open = limiterVariants[place][name];
  if (open === undefined) throw new RangeError(`There is no variant ${name}`);
  const subject = open(socket);
  // The connection is made and the script is loaded before anybody waits for them.
  await subject.spend("nobody");
  await spendFor(subject, warmupMs);
  uncounted = 0;
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  const done = await spendFor(subject, Number(milliseconds));
  const [used, elapsed] = [process.cpuUsage(cpu), performance.now() - start];
  console.log(
    JSON.stringify({
      perSecond: (done * 1_000) / elapsed,
      cpuUs: (used.user + used.system) / done,
      uncounted: uncounted / done,
    }),
  );
  await subject.close();
}

/** Lets every caller spend until the time is over, and answers how often they did. */
async function spendFor({ spend, isAllowed }: Subject, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let [done, next] = [0, 0];
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      // Asking for the time costs a good part of a decision in memory.
      for (let n = 0; n < 16; n++) {
        const answer = await spend(subjects[next++ % subjects.length] ?? "");
        if (!isAllowed(answer)) throw new Error("The limit was reached: the samples do not compare");
        done += 1;
      }
    }
  }
  await Promise.all(Array.from({ length: callers }, caller));
  return done;
}
