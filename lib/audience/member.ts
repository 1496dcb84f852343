/** A user of a space, as the audience API knows one. */
export interface AudienceMember {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** The project that the user signed in to; null where a back end acts for a user. */
  readonly projectId: string | null;
}
