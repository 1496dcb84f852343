/** The search of users, as exports and programs use it. */

/** The type of a field's values. A `time` is ISO 8601 text. Every value may also be null. */
export type FieldKind = "string" | "number" | "boolean" | "time" | "json";

/** A field of users that can be shown. */
export interface FieldSpec {
  /** As `fields` names it: `metrics.points`. */
  readonly name: string;
  readonly kind: FieldKind;
}

/** The users to find and the fields to show. */
export interface SearchCriteria {
  /** The space whose metrics, sets and challenges filter and fields name. */
  readonly spaceId: string;
  /** A condition or its short form. @default every user */
  readonly filter?: unknown;
  /** Names of fields. @default the fields of a search page */
  readonly fields?: readonly string[] | undefined;
  /** Shows custom fields and metrics as a column each, as files for spreadsheets do. @default false */
  readonly isFlat?: boolean;
}

/** The order of a search. */
export interface SortOrder {
  readonly field: string;
  readonly order: "asc" | "desc";
}

/** A page of a walk over users. */
export interface PrintedPage {
  /** The JSON of the values of each user, in the order of the fields. */
  readonly rows: readonly (readonly string[])[];
  /** Continues the walk, in other processes too; null at its end. */
  readonly cursor: string | null;
  /** Number of users examined. */
  readonly examined: number;
}

/** A checked search. */
export interface CompiledSearch {
  /** The fields of rows, in their order. */
  readonly fields: readonly FieldSpec[];
  /**
   * Examines up to `limit` users from a cursor (null: from the beginning). Every user who exists for the whole walk and matches is in
   * exactly one page. A page may have no rows although more follow.
   */
  printedPage(options: { readonly cursor: string | null; readonly limit: number }): Promise<PrintedPage>;
  /** Returns the number of users of the organisation, an upper bound of the matches. One small read per shard. */
  estimate(): Promise<number>;
}

/** Searches the users of organisations. */
export interface UserSearch {
  /** @throws {AppError} `validation_failed` with a pointer into the criteria for every error. */
  compile(organisationId: string, criteria: SearchCriteria): Promise<CompiledSearch>;
}

/** A user who may match. */
export interface Candidate {
  readonly userId: string;
  /** The time of creation, Unix ms; null if the walk does not read it. */
  readonly createdAt: number | null;
  readonly nth: number;
}
