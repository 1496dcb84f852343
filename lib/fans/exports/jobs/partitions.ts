/** Partitions, keys and names of stored exports. */

import { type Partition, tenantPartition } from "../../../storage/mod.ts";
import { keyName, platformPartition } from "../../../storage/names.ts";

export const exportKeys = {
  /** Board: exports by the time of their request. */
  jobs: "jobs",
  /** Record: the ids of unfinished exports. */
  open: "open",
  /** Log: requests, results and downloads. */
  trail: "trail",
  /** Board: exports of all organisations by the time at which they are due. */
  due: "due",
} as const;

export interface ExportRef {
  readonly organisationId: string;
  readonly exportId: string;
}

/** Returns the partition of an organisation's exports: a job, the bound on open jobs and the trail change in one commit. */
export function exportsPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "exports");
}

export function duePartition(): Partition {
  return platformPartition("exports");
}

export function jobKey(exportId: string): string {
  return keyName("job", exportId);
}

/** Returns the key of a sealed password, which expires before its job. */
export function secretKey(exportId: string): string {
  return keyName("secret", exportId);
}

/** Returns the member of the due queue for an export. Ids of organisations have no slash. */
export function dueMember({ organisationId, exportId }: ExportRef): string {
  return `${organisationId}/${exportId}`;
}

export function parseDueMember(member: string): ExportRef {
  const slash = member.indexOf("/");
  return { organisationId: member.slice(0, slash), exportId: member.slice(slash + 1) };
}
