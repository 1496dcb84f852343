/**
 * Kinds of records about users. Each area declares those that it keeps, beside the functions that read and remove them, so that a copy
 * of everything about a user and a removal know the same records.
 */

/** A kind of record about a user. */
export interface UserRecordKind {
  readonly name: string;
  readonly description: string;
  /** Where it is stored: kind of tenant and partition, and a key up to its first colon. */
  readonly stored: readonly `${"organisation" | "project" | "platform"}/${string} ${string}`[];
  /** `removed` with the user; `expires`, if not removed before; or `stays`. */
  readonly removal: "removed" | "expires" | "stays";
  /** The reason why a removal leaves it, and for how long. */
  readonly reason?: string;
  /** The reason why a copy of the user's data lacks it. */
  readonly leftOut?: string;
}

/** A user whose records are read. */
export interface RecordedPerson {
  readonly organisationId: string;
  readonly userId: string;
  /** All projects of the organisation. */
  readonly projectIds: readonly string[];
}

/** A record about a user as stored, without secrets. */
export interface UserRecord {
  /** The name of its kind. */
  readonly kind: string;
  readonly projectId?: string;
  readonly data: unknown;
}

/** The records that one area keeps about users. */
export interface UserRecords {
  readonly kinds: readonly UserRecordKind[];
  /** Reads them page by page, so that a long history takes no memory. */
  read(person: RecordedPerson): AsyncIterable<UserRecord>;
}
