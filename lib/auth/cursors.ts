/**
 * Signed cursors: where a list continues, as text that clients send back and cannot forge.
 *
 * A cursor is bound to the user, the list and its filters, and expires after a day.
 */

import { type AppError, invalidField } from "../base/errors/mod.ts";
import type { Clock } from "./crypto/mod.ts";
import { base64url, fromBase64url, isKeyedTag, type Keys, keyedTag, utf8 } from "./crypto/mod.ts";

const cursorTtlMs = 24 * 60 * 60 * 1_000;
const cursorCharactersMax = 1_024;

/** The list that a cursor belongs to. */
export interface CursorScope {
  readonly organisationId: string;
  readonly spaceId: string;
  /** The user of the list; empty for a list of all users. */
  readonly userId: string;
  readonly resource: string;
  /** An absent filter differs from an empty one. */
  readonly filters: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Seals positions into cursors and opens them, in every process with the key. */
export class Cursors {
  readonly #keys: Keys;
  readonly #clock: Clock;

  constructor(keys: Keys, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Returns the cursor of a position; null, the end of the list, stays null. */
  seal(scope: CursorScope, position: string | null): string | null {
    if (position === null) return null;
    const payload = base64url(utf8(`${this.#clock() + cursorTtlMs} ${position}`));
    return `${payload}.${keyedTag(this.#keys[0], partsOf(scope, payload))}`;
  }

  /**
   * Returns the position of a cursor; undefined, the beginning, stays undefined.
   *
   * @param parameter The parameter that has the cursor.
   * @throws {AppError} `validation_failed` if it is not a cursor of this list or has expired.
   */
  open(scope: CursorScope, cursor: string | undefined, parameter = "lastEvaluatedKey"): string | undefined {
    if (cursor === undefined) return undefined;
    const [payload = "", tag = "", ...more] = cursor.length > cursorCharactersMax ? [] : cursor.split(".");
    const bytes = fromBase64url(payload);
    const isSealed =
      bytes !== undefined && more.length === 0 && isKeyedTag(tag, this.#keys, partsOf(scope, payload));
    if (!isSealed) {
      throw invalidCursor(
        parameter,
        `Expected the ${parameter} of a page of this list with the same filters`,
      );
    }
    const text = new TextDecoder().decode(bytes);
    const space = text.indexOf(" ");
    if (Number(text.slice(0, space)) <= this.#clock())
      throw invalidCursor(parameter, "Has expired: start again without it");
    return text.slice(space + 1);
  }
}

function partsOf(scope: CursorScope, payload: string): readonly string[] {
  const { organisationId, spaceId, userId, resource, filters } = scope;
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return [organisationId, spaceId, userId, resource, JSON.stringify(given), payload];
}

function invalidCursor(parameter: string, detail: string): AppError {
  return invalidField(`Cannot continue the list as its ${parameter} is not valid`, parameter, detail);
}
