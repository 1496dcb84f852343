import type { StoreWarning } from "../../lib/storage/mod.ts";
import type { RedisConnection } from "./connection.ts";

const evicted: StoreWarning = {
  code: "keys_are_evicted",
  detail: "Redis may remove data where memory is short: set its maxmemory-policy to noeviction",
};
const notPersistent: StoreWarning = {
  code: "not_persistent",
  detail: "Redis forgets everything when it restarts: switch on its append-only file (appendonly yes)",
};

/** Returns what endangers the data of a server or Cluster. What a server does not tell is not warned of. */
export async function readWarnings(connection: RedisConnection): Promise<readonly StoreWarning[]> {
  const found = await Promise.all((await connection.primaries()).map(warningsOf));
  return [...new Set(found.flat())];
}

async function warningsOf(server: RedisConnection): Promise<readonly StoreWarning[]> {
  const [memory, persistence, save] = await Promise.all([
    server.ask("info", ["memory"]).catch(() => ""),
    server.ask("info", ["persistence"]).catch(() => ""),
    // Hosted servers often refuse CONFIG.
    server.ask("config", ["get", "save"]).catch(() => []),
  ]);
  const policy = /^maxmemory_policy:(\S+)/m.exec(String(memory))?.[1];
  const hasSnapshots = (save as readonly string[])[1] !== "";
  const warnings: StoreWarning[] = [];
  if (policy !== undefined && policy !== "noeviction") warnings.push(evicted);
  if (/^aof_enabled:0/m.test(String(persistence)) && !hasSnapshots) warnings.push(notPersistent);
  return warnings;
}
