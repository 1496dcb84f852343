/** Where trails are kept. */

import { type Partition, tenantPartition } from "../../storage/mod.ts";

/** Number of logs over which the trail of a project is spread, because one log is one place of a cluster. */
export const auditLogs = 16;
/** Most entries of each log of a project; the oldest are dropped. */
export const projectEntriesMax = 4_096;
/** Most entries of a user's log; the oldest are dropped. */
export const userEntriesMax = 200;

/** The key of every log of entries; a user's is in the user's own partition. */
export const auditKey = "audit";

/** The partition of one of a project's logs. */
export function projectLog(projectId: string, shard: number): Partition {
  return tenantPartition({ project: projectId }, "audit", String(shard));
}
