import { type Partition, tenantPartition } from "../../storage/mod.ts";

/** A user of a space, as loyalty knows one. */
export interface Member {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** The project that the user signed in to; null where a back end acts for a user without saying so. */
  readonly projectId: string | null;
}

/** Where the loyalty of a user is kept. User ids are unique in an organisation. */
export function memberPartition({
  organisationId,
  userId,
}: Pick<Member, "organisationId" | "userId">): Partition {
  return tenantPartition({ organisation: organisationId }, "member", userId);
}
