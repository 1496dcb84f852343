/**
 * Where exported users come from: the search of users, as far as exports need it.
 *
 * @module
 */

/** Which users, and what of them. */
export interface ExportCriteria {
  /** The space whose metrics, sets and challenges filter and fields name. */
  readonly spaceId: string;
  /** A condition over users; undefined: all users. */
  readonly filter?: unknown;
  /** Names of fields in the order of the columns; undefined: those that a search answers. */
  readonly fields?: readonly string[] | undefined;
}

/** A part of the users in the order of the walk. */
export interface SourcePage {
  /** The JSON of the values of each user that the criteria fit, in the order of the fields; `null` where one is absent. */
  readonly rows: readonly (readonly string[])[];
  /** Where the next page begins, good for another process too; null where nothing is left. */
  readonly cursor: string | null;
  /** How many users were looked at. */
  readonly examined: number;
}

/** Criteria that have been checked. */
export interface CompiledSource {
  readonly fields: readonly { readonly name: string }[];
  /** Looks at up to `limit` users. Gives every user who is there throughout the walk exactly once. */
  printedPage(options: { readonly cursor: string | null; readonly limit: number }): Promise<SourcePage>;
  /** How many users the organisation has: an upper bound of those that fit. */
  estimate(): Promise<number>;
}

/** Finds the users of an organisation. */
export interface ExportSource {
  /** @throws {AppError} `validation_failed`: the criteria are wrong, with pointers. */
  compile(organisationId: string, criteria: ExportCriteria): Promise<CompiledSource>;
}
