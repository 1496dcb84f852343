/**
 * Listing partitions by `SCAN`, which visits every key of a server, some at a time, and holds nobody up.
 *
 * @module
 */

import type { Partition } from "../../lib/storage/contract.ts";
import type { PartitionQuery } from "../../lib/storage/ports.ts";
import { scanKeysMax } from "./bounds.ts";
import type { RedisConnection } from "./connection.ts";
import type { KeySpace } from "./keys.ts";

/** The partitions whose names begin so and that hold a record of a key. */
export async function* scanPartitions(
  connection: RedisConnection,
  keys: KeySpace,
  { prefix, record }: PartitionQuery,
): AsyncGenerator<readonly Partition[], void> {
  const pattern = keys.pattern(prefix, "r", record);
  for (const primary of await connection.primaries()) {
    let cursor = "0";
    do {
      const asked = ["MATCH", pattern, "COUNT", String(scanKeysMax)];
      const [next, found] = (await primary.ask("scan", [cursor, ...asked])) as [string, readonly string[]];
      if (found.length > 0) yield found.map(key => keys.partitionOf(key));
      cursor = next;
    } while (cursor !== "0");
  }
}
