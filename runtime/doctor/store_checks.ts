/** Checks of the store, of the keys in it, and of the work that waits there. */

import {
  checkMasterSecret,
  MasterSecret,
  storedIssuer,
  systemClock,
  systemRandom,
} from "../../lib/auth/mod.ts";
import { inspectWork } from "../../lib/platform/inspect_work.ts";
import type { Config } from "../config.ts";
import type { Storage } from "../services/storage.ts";
import { type Check, type Finding, failed, ok, skipped, warning } from "./check.ts";

/** Oldest version of Redis that the platform runs on. */
const versionMin = [6, 2] as const;
const slots = 16_384;
/** Median round trip above which requests are slow, in ms. */
const latencyMsMax = 10;
/** Difference of clocks that is worth a warning, and that ends readiness, in ms. */
const [skewMs, skewMsMax] = [1_000, 30_000] as const;
/** Part of the memory above which a server is about full. */
const memoryUsedMax = 0.9;
/** Time that work may wait, in ms. */
const waitMsMax = 60_000;
/** Time that due users may wait: sweeps come every few seconds, and take long for many users. */
const dueMsMax = 600_000;

/** The check of Redis, whose findings are several. */
export function redisCheck({ redis }: Config): Check {
  return {
    name: "store",
    advice: redisAdvice,
    async run() {
      if (redis === undefined) return skipped("There is no Redis in the settings");
      const { inspectRedis } = await import("../../adapters/redis/mod.ts");
      const facts = await inspectRedis(redis);
      const { latenciesMs, versions, policies, isPersistent, slotsServed, clockAheadMs } = facts;
      if (facts.isReplica)
        return failed("It is a replica, which takes no writes", "Name the primary in GRANDSTAND_REDIS");
      const median = latenciesMs[latenciesMs.length >> 1] ?? 0;
      const latency = `Round trip ${median.toFixed(2)} ms, slowest ${(latenciesMs.at(-1) ?? 0).toFixed(2)} ms`;
      const named = (check: string, finding: Omit<Finding, "check">): Finding => ({ check, ...finding });
      const moveCloser =
        "Move servers and Redis closer together: each request waits for one round trip or two";
      return [
        named("store", median <= latencyMsMax ? ok(latency) : warning(latency, moveCloser)),
        named("redis-version", versionFinding(versions)),
        named(
          "redis-persistence",
          isPersistent === null
            ? skipped("The server does not say if it keeps its data over a restart")
            : isPersistent
              ? ok("Redis keeps its data over a restart")
              : warning(
                  "Redis forgets everything when it restarts",
                  "Switch on its append-only file: appendonly yes",
                ),
        ),
        named("redis-eviction", policyFinding(policies)),
        named("redis-memory", memoryFinding(facts.memoryUsed)),
        named("redis-cluster", clusterFinding(slotsServed)),
        named("clock", clockFinding(clockAheadMs)),
      ];
    },
  };
}

function redisAdvice(reason: string): string {
  if (/NOPERM/.test(reason))
    return "Redis works, and refuses its user a command: allow what the reason names with ACL SETUSER";
  if (/WRONGPASS|NOAUTH/.test(reason)) return "Put the user and the password of Redis into GRANDSTAND_REDIS";
  return "Start Redis, and see that GRANDSTAND_REDIS has its address, password and TLS; if it hangs up, see its protected-mode and maxclients";
}

function versionFinding(versions: readonly string[]): Omit<Finding, "check"> {
  const isOld = (version: string): boolean => {
    const [major = 0, minor = 0] = version.split(".").map(Number);
    return Number.isNaN(major) || major < versionMin[0] || (major === versionMin[0] && minor < versionMin[1]);
  };
  if (versions.length === 0) {
    return warning(
      "Redis works, and its user may not call INFO",
      "Allow it with ACL SETUSER and +info: without it neither version, memory nor persistence can be checked",
    );
  }
  const seen = `Redis ${[...new Set(versions)].join(", ")}`;
  return versions.some(isOld) ? failed(seen, `Upgrade to Redis ${versionMin.join(".")} or later`) : ok(seen);
}

function policyFinding(policies: readonly string[]): Omit<Finding, "check"> {
  const seen = [...new Set(policies)].join(", ");
  if (seen === "") return skipped("The server does not name its policy");
  if (seen === "noeviction") return ok("maxmemory-policy is noeviction");
  return warning(
    `maxmemory-policy is ${seen}`,
    "Set it to noeviction, else Redis removes data where memory is short",
  );
}

function memoryFinding(used: number | null): Omit<Finding, "check"> {
  if (used === null) return skipped("The server names no bound in maxmemory");
  const seen = `${Math.round(used * 100)} % of maxmemory are used`;
  return used < memoryUsedMax ? ok(seen) : warning(seen, "Raise maxmemory, as full servers refuse writes");
}

function clusterFinding(served: number | null): Omit<Finding, "check"> {
  if (served === null) return skipped("Redis is no Cluster");
  const seen = `${served} of ${slots} slots are served`;
  return served === slots ? ok(seen) : failed(seen, "Bring the missing primaries back, or move their slots");
}

function clockFinding(aheadMs: number): Omit<Finding, "check"> {
  const [off, side] = [Math.abs(aheadMs), aheadMs > 0 ? "ahead of" : "behind"];
  const seen = `This clock is ${(off / 1_000).toFixed(1)} s ${side} that of Redis`;
  const advice = "Start a time server on both machines";
  return off > skewMsMax ? failed(seen, advice) : off > skewMs ? warning(seen, advice) : ok(seen);
}

/** The check of the keys that tokens are signed with. */
export function keyCheck({ store }: Pick<Storage, "store">, { secret }: Config): Check {
  return {
    name: "keys",
    advice: "Set GRANDSTAND_SECRET to the secret with which the servers were started",
    async run() {
      const issuer = await storedIssuer(store);
      if (issuer === null) return skipped("No server has started on this store yet");
      if (secret === undefined) return skipped("GRANDSTAND_SECRET is not set");
      const options = { store, secret: new MasterSecret(secret), clock: systemClock, random: systemRandom };
      await checkMasterSecret(options);
      return ok(`The keys open under the secret; the issuer is ${issuer}`);
    },
  };
}

/** The checks of what waits to be done. */
export function workCheck({ store, queue }: Pick<Storage, "store" | "queue">, { redis }: Config): Check {
  return {
    name: "worker",
    advice: "See the check of the store",
    async run() {
      const work = await inspectWork({ store, queue, clock: systemClock });
      const named = (check: string, finding: Omit<Finding, "check">): Finding => ({ check, ...finding });
      const { hasWorker, depth, waitedMs, deadLetters, overdueMs } = work;
      const startWorker = "Start grandstand worker, or leave GRANDSTAND_WORKERS on";
      const queued = `${depth} actions wait, the oldest for ${(waitedMs / 1_000).toFixed(0)} s`;
      return [
        named(
          "worker",
          redis === undefined
            ? skipped("The server on a data folder applies actions itself")
            : hasWorker
              ? ok("A worker is alive")
              : warning("No process applies actions that are accepted in bulk", startWorker),
        ),
        named(
          "queue",
          waitedMs <= waitMsMax
            ? ok(queued)
            : warning(queued, hasWorker ? "Start another worker" : startWorker),
        ),
        named(
          "dead-letters",
          deadLetters === 0
            ? ok("There is none")
            : warning(
                `${deadLetters} actions could not be applied`,
                "See grandstand actions dead-letters list, put the cause right, and replay them",
              ),
        ),
        named(
          "due-work",
          overdueMs <= dueMsMax
            ? ok("Periodic work is up to date")
            : warning(
                `Work of users is overdue for ${(overdueMs / 60_000).toFixed(0)} minutes`,
                "See that a server or worker runs, and look for work_failed in its log",
              ),
        ),
      ];
    },
  };
}
