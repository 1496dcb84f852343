/**
 * What searching users gives to those who build on it: the search route, and exports.
 *
 * @module
 */

/** What the values of a field are; a `time` is an ISO 8601 text. Every value may also be null. */
export type FieldKind = "string" | "number" | "boolean" | "time" | "json";

/** A field of a user that can be shown. */
export interface FieldSpec {
  /** As `fields` names it: `metrics.points`. */
  readonly name: string;
  readonly kind: FieldKind;
}

/** The values of one user in the order of the fields; null where there is none. */
export type UserRow = readonly unknown[];

/** Which users are looked for, and what of them. */
export interface SearchCriteria {
  /** The space whose metrics, sets and challenges filter and fields name. */
  readonly spaceId: string;
  /** A condition or its short form. @default every user */
  readonly filter?: unknown;
  /** Names of fields. @default what a search answers */
  readonly fields?: readonly string[] | undefined;
}

/** A part of a walk over users. */
export interface UserPage {
  readonly rows: readonly UserRow[];
  /** Where the walk goes on, plain text that outlives the process; null at its end. */
  readonly cursor: string | null;
  /** How many users were looked at. */
  readonly examined: number;
}

/** A part of a walk over users, as text. */
export interface PrintedPage extends Omit<UserPage, "rows"> {
  /** The JSON of each value. */
  readonly rows: readonly (readonly string[])[];
}

/** Which part of a walk is asked for. */
export interface PageOptions {
  /** Where the part before ended; null: the beginning. */
  readonly cursor: string | null;
  /** Most users to look at. */
  readonly limit: number;
}

/** A search that was checked. */
export interface CompiledSearch {
  /** The fields of rows, in their order. */
  readonly fields: readonly FieldSpec[];
  /**
   * Walks on from a cursor and looks at up to `limit` users, in an order that gives every user who is there, and fits,
   * throughout the walk exactly once. A page may have no rows although there are more.
   */
  page(options: PageOptions): Promise<UserPage>;
  /** As `page`, with the JSON of each value: what is stored as JSON is not parsed to be printed again. */
  printedPage(options: PageOptions): Promise<PrintedPage>;
  /** How many users the organisation has: at least as many as fit. One small read for each shard. */
  estimate(): Promise<number>;
}

/** Looks for users of organisations. */
export interface UserSearch {
  /** @throws {AppError} `validation_failed`, with the pointer of every part at fault, as members of the criteria. */
  compile(organisationId: string, criteria: SearchCriteria): Promise<CompiledSearch>;
}
