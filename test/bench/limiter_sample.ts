/** One sample of `limiter.ts`: callers that spend as fast as they can for a while; prints its measures as JSON. */
import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createRedisLimiter } from "../../adapters/redis/mod.ts";
import { systemTimer } from "../../lib/http/mod.ts";
import { Failover } from "../../lib/rate_limit/mod.ts";
import type { Limiter } from "../../lib/storage/mod.ts";

/** What one sample measured. */
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

/** A limiter under test: whether a subject may go on. */
interface Subject {
  readonly may: (subject: string) => Promise<boolean>;
  readonly warm: () => Promise<unknown>;
  readonly close: () => unknown;
}

function ours(limiter: Limiter): Subject {
  return {
    may: async subject => (await limiter.take(subject, rules))[0]?.allowed === true,
    warm: () => limiter.take("nobody", rules),
    close: () => limiter[Symbol.asyncDispose](),
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
    async may(subject) {
      const verdicts = await failover.spend({ subject, rules, whenUncounted: "count here" });
      return verdicts?.[0]?.allowed === true;
    },
    warm: () => limiter.take("nobody", rules),
    close: () => limiter[Symbol.asyncDispose](),
  };
}

function peer(limiter: RateLimiterMemory | RateLimiterRedis, close: () => unknown): Subject {
  return {
    async may(subject) {
      try {
        await limiter.consume(subject);
        return true;
      } catch (refused) {
        if (refused instanceof RateLimiterRes) return false;
        throw refused;
      }
    },
    warm: () => limiter.consume("nobody"),
    close,
  };
}

function peerOnRedis(socket: string, enableAutoPipelining: boolean): Subject {
  const storeClient = new Redis(socket, { enableAutoPipelining });
  return peer(new RateLimiterRedis({ storeClient, points: limit, duration: 60 }), () =>
    storeClient.disconnect(),
  );
}

/** What is compared, by where it counts. The first of each is the peer. */
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
      guarded(createRedisLimiter({ server: `unix://${socket}` }), createMemoryLimiter({ clock: Date.now })),
  },
};

const [place = "", name = "", milliseconds = "", socket = ""] = process.argv.slice(2);
if (place === "memory" || place === "Redis") {
  const open = limiterVariants[place][name];
  if (open === undefined) throw new RangeError(`There is no variant ${name}`);
  const subject = open(socket);
  // The connection is made and the script is loaded before anybody waits for them.
  await subject.warm();
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

/** Lets every caller spend until the time is over. */
async function spendFor({ may }: Subject, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let [done, next] = [0, 0];
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      const subject = subjects[next++ % subjects.length] ?? "";
      if (!(await may(subject))) throw new Error("The limit was reached: the samples do not compare");
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: callers }, caller));
  return done;
}
