/**
 * Real Redis servers for tests: one standalone server or a Cluster of three masters, on loopback, without
 * persistence, gone with the test process.
 *
 * ```ts
 * describe("something on Redis", { skip: redisAvailable() }, () => {
 *   it("works", async () => {
 *     const server = await sharedRedis();
 *     const store = createRedisStore({ url: server.url, prefix: `${crypto.randomUUID()}:` });
 *   });
 * });
 * ```
 */
import { RedisProcess } from "./redis_process.ts";
import { until } from "./until.ts";

export { RedisProcess, redisAvailable } from "./redis_process.ts";

const slotCount = 16_384;
const masterCount = 3;

/** A Cluster of three masters without replicas. */
export interface RedisCluster {
  readonly nodes: readonly RedisProcess[];
  /** The comma-separated URLs of all nodes. */
  readonly url: string;
  /** Resolves when every node finds every slot served. */
  healthy(): Promise<void>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a standalone server of the caller's own; `durable` keeps every acknowledged write over a kill. */
export function startRedis(
  options: { readonly durable?: boolean; readonly args?: readonly string[] } = {},
): Promise<RedisProcess> {
  const durable = options.durable === true ? ["--appendonly", "yes", "--appendfsync", "no"] : [];
  return RedisProcess.start([...durable, ...(options.args ?? [])]);
}

/** Starts three masters, gives each a third of the slots and resolves when all of them report the state `ok`. */
export async function startCluster(
  options: { readonly durable?: boolean; readonly args?: readonly string[] } = {},
): Promise<RedisCluster> {
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", ...(options.args ?? [])];
  const nodes: RedisProcess[] = [];
  for (let index = 0; index < masterCount; index++) {
    const file = `nodes-${index}.conf`;
    nodes.push(await startRedis({ ...options, args: [...args, "--cluster-config-file", file] }));
  }
  await Promise.all(nodes.map((node, index) => assignSlots(node, index)));
  const [first] = nodes;
  for (const node of nodes.slice(1)) await first?.command("CLUSTER", "MEET", "127.0.0.1", node.port);
  const cluster = {
    nodes,
    url: nodes.map(node => node.url).join(","),
    healthy: async () => {
      await Promise.all(nodes.map(node => until(`node ${node.port} sees the Cluster`, () => isJoined(node))));
    },
    flush: async () => void (await Promise.all(nodes.map(node => node.flush()))),
    stop: async () => void (await Promise.all(nodes.map(node => node.kill()))),
  };
  await cluster.healthy();
  return cluster;
}

async function assignSlots(node: RedisProcess, index: number): Promise<void> {
  const start = Math.floor((slotCount * index) / masterCount);
  const end = Math.floor((slotCount * (index + 1)) / masterCount);
  const slots = Array.from({ length: end - start }, (_, offset) => start + offset);
  await node.command("CLUSTER", "ADDSLOTS", ...slots);
  // Masters that meet with equal epochs first have to settle a conflict.
  await node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
}

async function isJoined(node: RedisProcess): Promise<boolean> {
  const info = `${await node.command("CLUSTER", "INFO")}`;
  return (
    info.includes("cluster_state:ok") &&
    info.includes(`cluster_slots_ok:${slotCount}`) &&
    info.includes(`cluster_size:${masterCount}`)
  );
}

let standalone: Promise<RedisProcess> | undefined;
let cluster: Promise<RedisCluster> | undefined;

/** The standalone server that all tests of one file (one process) share; isolate by prefix. */
export function sharedRedis(): Promise<RedisProcess> {
  standalone ??= startRedis();
  return standalone;
}

/** The Cluster that all tests of one file (one process) share; isolate by prefix. */
export function sharedCluster(): Promise<RedisCluster> {
  cluster ??= startCluster();
  return cluster;
}
