import type { Store } from "../lib/storage/mod.ts";
import type { Config } from "./config.ts";

/** Opens the store that the settings name; each adapter is loaded only where it is used. */
export async function openStore(config: Config): Promise<Store> {
  if (config.redis !== undefined) {
    const { createRedisStore } = await import("../adapters/redis/mod.ts");
    return createRedisStore({ server: config.redis });
  }
  const { createMemoryStore } = await import("../adapters/memory/mod.ts");
  return createMemoryStore();
}

/** What is kept where, for people. */
export function describeStore(config: Config): string {
  if (config.redis !== undefined) return "state in Redis";
  return "state in memory only: a restart forgets it";
}
