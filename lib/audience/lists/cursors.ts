/**
 * Cursors: where a list goes on, as a text that clients hand back and cannot make.
 *
 * A cursor is signed, and bound to the user, the list and its filters: one of another user or list, or one that was changed, is
 * refused like one that was made up. It ends after a day, so that none is kept for good.
 *
 * @module
 */

import { base64url, constantTimeEqual, fromBase64url, keyedTag, utf8 } from "../../auth/crypto/mod.ts";
import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";

/** How long a cursor is good, in ms: a day. */
export const cursorTtlMs: number = 24 * 60 * 60 * 1_000;
/** Longest cursor, in characters. */
export const cursorCharactersMax = 1_024;

/** What a cursor is good for. */
export interface CursorScope {
  readonly organisationId: string;
  readonly spaceId: string;
  /** The user whose list it is; empty: that of all users. */
  readonly userId: string;
  readonly resource: string;
  /** What the list is narrowed by. An absent filter is another than an empty one. */
  readonly filters: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Makes cursors and reads them. */
export interface Cursors {
  /** The cursor of a place. `null`, the end, stays null. */
  seal(scope: CursorScope, place: string | null): string | null;
  /**
   * The place of a cursor of this scope; undefined, the beginning, stays undefined.
   *
   * @throws {AppError} `validation_failed` for any other text, and where it has expired.
   */
  open(scope: CursorScope, cursor: string | undefined): string | undefined;
}

/** Creates cursors that every process with the key understands. */
export function createCursors({ key, clock }: { readonly key: Uint8Array; readonly clock: Clock }): Cursors {
  return {
    seal(scope, place) {
      if (place === null) return null;
      const payload = base64url(utf8(`${clock() + cursorTtlMs} ${place}`));
      return `${payload}.${tagOf(key, scope, payload)}`;
    },
    open(scope, cursor) {
      if (cursor === undefined) return undefined;
      const [payload = "", tag = "", ...more] = cursor.length > cursorCharactersMax ? [] : cursor.split(".");
      if (more.length > 0 || !constantTimeEqual(tag, tagOf(key, scope, payload))) {
        throw refused("Expected the lastEvaluatedKey of a page of this list with the same filters");
      }
      const text = textOf(payload);
      const space = text.indexOf(" ");
      if (Number(text.slice(0, space)) <= clock()) throw refused("Has expired: begin again without it");
      return text.slice(space + 1);
    },
  };
}

/** A JSON list of two parts cannot be taken for another one, whatever ids and filters hold. */
function tagOf(key: Uint8Array, scope: CursorScope, payload: string): string {
  const { organisationId, spaceId, userId, resource, filters } = scope;
  const given = Object.entries(filters)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return keyedTag(key, [organisationId, spaceId, userId, resource, JSON.stringify(given), payload]);
}

function textOf(payload: string): string {
  const bytes = fromBase64url(payload);
  if (bytes === undefined) throw refused("Expected the lastEvaluatedKey of a page");
  return new TextDecoder().decode(bytes);
}

function refused(detail: string): AppError {
  return new AppError(
    "validation_failed",
    "Cannot go on with the list as its lastEvaluatedKey is not valid",
    {
      fields: [{ pointer: "lastEvaluatedKey", detail }],
    },
  );
}
