/** Where exports are kept. */

import { keyName, type Partition, platformPartition, tenantPartition } from "../../storage/mod.ts";

/** The keys of an organisation's exports. */
export const exportKeys = {
  /** Board: the exports by the time at which they were asked for. */
  jobs: "jobs",
  /** Record: the ids of exports that are not finished. */
  open: "open",
  /** Log: who asked for what, and who fetched it. */
  trail: "trail",
  /** Board: when somebody has to look at an export, over all organisations. */
  due: "due",
} as const;

/** An export and whose it is. */
export interface ExportAddress {
  readonly organisationId: string;
  readonly exportId: string;
}

/** All exports of an organisation, so that a job, the bound on jobs and the trail change together. */
export function exportsPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "exports");
}

/** The list of what is due. */
export function duePartition(): Partition {
  return platformPartition("exports");
}

/** The record of a job. */
export function jobKey(exportId: string): string {
  return keyName("job", exportId);
}

/** The record of its sealed password, apart from the job because it ends before it. */
export function secretKey(exportId: string): string {
  return keyName("secret", exportId);
}

/** An export's name on the list of what is due. Ids of organisations have no slash. */
export function dueMember({ organisationId, exportId }: ExportAddress): string {
  return `${organisationId}/${exportId}`;
}

/** The export of that name. */
export function dueAddress(member: string): ExportAddress {
  const slash = member.indexOf("/");
  return { organisationId: member.slice(0, slash), exportId: member.slice(slash + 1) };
}
