/** The checks of a deployment's surroundings, in the order in which people look for a fault. */

import { silentLogger, systemTimer, type Timer } from "../../lib/http/mod.ts";
import type { Config } from "../config.ts";
import { openStorage, type Storage } from "../services/storage.ts";
import { type Check, type Finding, runCheck } from "./check.ts";
import { addressCheck, blobCheck, geoCheck, mailCheck } from "./service_checks.ts";
import { keyCheck, redisCheck, workCheck } from "./store_checks.ts";

export type { Finding } from "./check.ts";

/** The findings, and the storage if it can be used; the caller closes it. */
export interface Examination {
  readonly findings: readonly Finding[];
  readonly storage: Storage | null;
}

/** Runs every check. Nothing that hangs or refuses ends it. */
export async function examine(config: Config, timer: Timer = systemTimer): Promise<Examination> {
  const redis = config.redis === undefined ? [] : await runCheck(redisCheck(config), timer);
  const isReached = redis.every(({ check, status }) => check !== "store" || status !== "failed");
  const opened = isReached ? await open(config, timer) : { findings: [], storage: null };
  const { storage } = opened;
  const inStore: Check[] =
    storage === null ? [] : [keyCheck(storage, config), workCheck(storage, config), blobCheck(storage)];
  const checks = [...inStore, mailCheck(config), geoCheck(config), addressCheck(config)];
  const found: Finding[] = [...redis, ...opened.findings];
  for (const check of checks) found.push(...(await runCheck(check, timer)));
  return { findings: found, storage };
}

/** Opens the storage, which a data folder refuses while a server uses it. */
async function open(config: Config, timer: Timer): Promise<Examination> {
  let storage: Storage | null = null;
  const findings = await runCheck(
    {
      name: config.redis === undefined ? "store" : "storage",
      advice: "Stop the server that uses the folder, or restore the folder from a backup",
      async run() {
        storage = await openStorage(config, silentLogger);
        return {
          status: "ok",
          seen: `${storage.description[0]?.toUpperCase()}${storage.description.slice(1)}`,
          advice: null,
        };
      },
    },
    timer,
  );
  // With Redis the findings of the server say the same.
  const isRedundant = config.redis !== undefined && storage !== null;
  return { findings: isRedundant ? [] : findings, storage };
}
