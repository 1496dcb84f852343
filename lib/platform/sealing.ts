/** Seals what is stored anew under the first master secret, so that the others can be dropped. */

import type { KeyRing, MasterSecret } from "../auth/mod.ts";
import type { Authors } from "../authoring/control/access/authors.ts";
import { Users } from "../fans/identity/mod.ts";
import { mapConcurrent } from "../storage/background/mod.ts";
import type { PartitionLister, Store } from "../storage/mod.ts";
import { tenantPartition, tenantPartitions } from "../storage/mod.ts";

interface SealingOptions {
  readonly store: Store & PartitionLister;
  readonly secret: MasterSecret;
  readonly keyRing: Pick<KeyRing, "sealAnew">;
  readonly authors: Pick<Authors, "user" | "findOrCreate">;
  /** Receives the number of records so far after each page. */
  readonly onProgress?: (records: number) => void;
}

const sealedAtOnce = 32;
const claims: ReadonlySet<string> = new Set(["device", "email", "origin"]);

/**
 * Seals the key ring, the external ids of users and the keys to authors anew, and returns the number of records. Servers that know all
 * secrets may run meanwhile. A run that stops loses nothing: another one goes through all records, and changes those that are left.
 */
export async function sealAnew(options: SealingOptions): Promise<number> {
  const { store, secret, keyRing, authors, onProgress = () => {} } = options;
  await keyRing.sealAnew();
  const users = new Users(store, secret);
  let records = 1;
  for await (const partitions of tenantPartitions(store, { tenant: "project", record: "user" })) {
    await mapConcurrent(partitions, sealedAtOnce, async ({ tenant, kind, ids }) => {
      const [id] = ids;
      if (tenant.project === undefined || id === undefined) return;
      if (kind === "user") await users.sealAnew(tenant.project, id);
      else if (claims.has(kind)) await users.sealClaimAnew(tenantPartition(tenant, kind, ...ids));
    });
    records += partitions.length;
    onProgress(records);
  }
  for await (const partitions of store.partitions({ prefix: "g:author:", record: "user" })) {
    for (const partition of partitions) {
      const author = await authors.user(partition.slice("g:author:".length));
      if (author !== null) await authors.findOrCreate(author.email);
    }
    records += partitions.length;
    onProgress(records);
  }
  return records;
}
