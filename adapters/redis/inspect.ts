import { createClient, RedisConnection } from "./connection.ts";

/** Facts of a Redis server or Cluster, for its operator. */
export interface RedisFacts {
  /** Versions of the primaries; empty where the user may not call INFO, which then says nothing of what follows from it. */
  readonly versions: readonly string[];
  /** Eviction policies of the primaries; empty where they do not say. */
  readonly policies: readonly string[];
  /** True where a server is a replica, which takes no writes. */
  readonly isReplica: boolean;
  /** The largest part of its `maxmemory` that a server uses; null where there is no bound. */
  readonly memoryUsed: number | null;
  /** False where a restart of a primary forgets its data; null where they do not say. */
  readonly isPersistent: boolean | null;
  /** Null for a server of its own; else the number of hash slots that are served. */
  readonly slotsServed: number | null;
  /** Round trips in ms, the fastest first. */
  readonly latenciesMs: readonly number[];
  /** Clock of this process minus that of the server, in ms. */
  readonly clockAheadMs: number;
}

const pings = 20;

/**
 * Reads what an operator wants to know of Redis. It changes nothing.
 *
 * @throws {AppError} `storage_unavailable`: a server does not answer.
 */
export async function inspectRedis(server: string): Promise<RedisFacts> {
  await using connection = new RedisConnection(createClient(server));
  await connection.ask("ping", []);
  const latenciesMs: number[] = [];
  for (let ping = 0; ping < pings; ping++) {
    const startedAt = performance.now();
    await connection.ask("ping", []);
    latenciesMs.push(performance.now() - startedAt);
  }
  const primaries = await connection.primaries();
  const [replies, saves] = await Promise.all([
    Promise.all(primaries.map(primary => primary.ask("info", []).then(String, emptyWithoutRight))),
    // Hosted servers often refuse CONFIG.
    Promise.all(primaries.map(primary => primary.ask("config", ["get", "save"]).catch(() => []))),
  ]);
  const infos = replies.filter(info => info !== "");
  const field = (info: string, name: string): string =>
    new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1] ?? "";
  const bounded = infos.flatMap(info => {
    const most = Number(field(info, "maxmemory"));
    return most > 0 ? [Number(field(info, "used_memory")) / most] : [];
  });
  const [first] = primaries;
  const [seconds = "0", micros = "0"] = ((await first?.ask("time", [])) ?? []) as readonly string[];
  const cluster = connection.isCluster ? String(await connection.ask("cluster", ["info"])) : null;
  return {
    versions: infos.map(info => field(info, "redis_version")),
    policies: infos.map(info => field(info, "maxmemory_policy")),
    isReplica: infos.some(info => field(info, "role") === "slave"),
    memoryUsed: bounded.length === 0 ? null : Math.max(...bounded),
    isPersistent:
      infos.length === 0
        ? null
        : replies.every((info, index) => {
            const hasSnapshots = ((saves[index] ?? []) as readonly string[])[1] !== "";
            return field(info, "aof_enabled") === "1" || hasSnapshots;
          }),
    slotsServed: cluster === null ? null : Number(field(cluster, "cluster_slots_ok")),
    latenciesMs: latenciesMs.sort((a, b) => a - b),
    clockAheadMs: Date.now() - (Number(seconds) * 1_000 + Number(micros) / 1_000),
  };
}

/** @throws {unknown} Any other error than that of a right which the user does not have. */
function emptyWithoutRight(error: unknown): string {
  if (error instanceof Error && causes(error).some(({ message }) => message.startsWith("NOPERM"))) return "";
  throw error;
}

function causes(error: Error): readonly Error[] {
  return error.cause instanceof Error ? [error, ...causes(error.cause)] : [error];
}
