/** Where trails are kept. */

import { type Partition, tenantPartition } from "../../storage/mod.ts";

/** Number of logs over which the trail of a project is spread, because one log is one place of a cluster. */
export const auditLogs = 16;
/** Most entries of each log of a project; the oldest are dropped. */
export const projectEntriesMax = 4_096;
/** Most entries of a user's trail; the oldest are dropped. */
export const userEntriesMax = 50;
/** Entries of a page that asks for no other number. */
export const auditPageDefault = 50;
/** Most entries of a page. */
export const auditPageMax = 100;

/** The key of every log of a project, and of the record in the user's own partition. */
export const auditKey = "audit";

/** The partition of one of a project's logs. */
export function projectLog(projectId: string, shard: number): Partition {
  return tenantPartition({ project: projectId }, "audit", String(shard));
}
