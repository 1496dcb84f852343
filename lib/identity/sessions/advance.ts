/**
 * Rotation of refresh tokens with one row per session.
 *
 * A refresh token names its session and the counter at which it was made. Presenting the current counter advances it,
 * and that is the only step there is: whoever presents the counter before it within the bounds below gets the current
 * one again, so that racers and clients that lost the answer all end up with one successor and none is locked out. A
 * token that is older than that was used by somebody else as well, and ends the session (RFC 9700, section 4.14.2).
 *
 * The bound of a lost answer ends as soon as an access token of the current counter was seen: then the answer arrived,
 * and whoever comes with the token before it is not whom the answer was for.
 *
 * @module
 */

import type { SessionRow } from "./session_row.ts";

/** For how long after a rotation the token before it is still good, in ms. */
export const refreshGraceMsMax = 30_000;
/** For how long it is good where nobody has used the answer of that rotation, in ms: 24 hours. */
export const refreshRetryMsMax: number = 24 * 3_600_000;

/** What a refresh brings. */
export interface Presented {
  /** Of the refresh token. */
  readonly counter: number;
  /** Of the access token that comes with it. */
  readonly accessCounter: number;
}

/** What becomes of the session: it goes on with `row`, nothing is known of this token, or the session must end. */
export type Advance =
  | { readonly type: "advanced" | "repeated"; readonly row: SessionRow }
  | { readonly type: "unknown" | "reused" };

/** Decides on a refresh at `now`, in Unix ms. */
export function advance(row: SessionRow, presented: Presented, now: number): Advance {
  const { counter, rotatedAt } = row;
  if (presented.counter > counter) return { type: "unknown" };
  if (presented.counter === counter) {
    const next = { ...row, counter: counter + 1, rotatedAt: now, isConfirmed: false, lastSeen: now };
    return { type: "advanced", row: next };
  }
  const isConfirmed = row.isConfirmed || presented.accessCounter === counter;
  const patienceMs = isConfirmed ? refreshGraceMsMax : refreshRetryMsMax;
  const isPatient = presented.counter === counter - 1 && now - rotatedAt <= patienceMs;
  return isPatient ? { type: "repeated", row } : { type: "reused" };
}
