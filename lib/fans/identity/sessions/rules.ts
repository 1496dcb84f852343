/**
 * The rules of sessions. Each is one decision in the user's partition, so that none sees or leaves the sessions
 * half-changed.
 *
 * A refresh token names its session and the counter at which it was made. The current counter advances the session. The
 * counter before it, within the bounds below, gets the current one again, so that racers and clients that lost the answer
 * end up with one successor. Any older token was used by somebody else as well, and ends the session (RFC 9700, section
 * 4.14.2). The bound of a lost answer ends with the first use of an access token of the current counter: the answer
 * arrived then.
 *
 * @module
 */

import { clockSkewSecondsMax } from "../../../auth/tokens/mod.ts";
import type { ReadBoard, ReadRecord, Rule } from "../../../storage/mod.ts";
import { isBanned, type Provider, type User, type Users, userRead } from "../users.ts";
import {
  boardRead,
  cutoffOf,
  cutoffRead,
  cutoffWrite,
  endWrites,
  liveRow,
  rowWrites,
  type Session,
  type SessionRow,
  sessionRead,
  sessionsPerUserMax,
} from "./session.ts";

/** Opens the session at its `createdAt`. The first to end make room for it; expired ones are removed. */
export function openRule(session: Session): Rule<readonly [ReadRecord, ReadBoard], SessionRow> {
  const now = session.createdAt;
  return {
    reads: [cutoffRead, boardRead],
    // Deciding again puts the same row under the same id.
    idempotent: true,
    apply: ([storedCutoff, { entries }]) => {
      const cutoff = cutoffOf(storedCutoff);
      const row = { ...session, epoch: cutoff.epoch };
      const others = entries.filter(({ member }) => member !== session.sid);
      const over = others.filter(({ score }) => score <= now);
      const surplus = others.slice(
        over.length,
        Math.max(over.length, others.length - sessionsPerUserMax + 1),
      );
      const ended = [...over, ...surplus].flatMap(({ member }) => endWrites(member));
      return { writes: [...ended, ...rowWrites(row), cutoffWrite(cutoff, now)], answer: row };
    },
  };
}

/** The outcome of a refresh. */
export type Refreshed =
  | { readonly type: "refreshed" | "reused"; readonly row: SessionRow; readonly user: User }
  | { readonly type: "banned"; readonly user: User }
  | { readonly type: "revoked" | "mismatch" | "otherProvider" };

/** A presented refresh token. Times in Unix ms. */
export interface RefreshAttempt {
  /** Counter of the refresh token. */
  readonly counter: number;
  /** Counter of the access token. */
  readonly accessCounter: number;
  readonly sid: string;
  readonly deviceId: string;
  /** @default any */
  readonly provider: Provider | undefined;
  readonly now: number;
}

/** Advances the session, or ends it if the token was used before. */
export function refreshRule(
  attempt: RefreshAttempt,
  users: Pick<Users, "parse">,
): Rule<readonly [ReadRecord, ReadRecord, ReadRecord], Refreshed> {
  const { sid, deviceId, provider, now } = attempt;
  return {
    reads: [userRead, sessionRead(sid), cutoffRead],
    // Deciding again finds the counter one ahead, which answers the same.
    idempotent: true,
    apply: ([storedUser, stored, cutoff]) => {
      const row = liveRow(stored, cutoff, now);
      if (storedUser === null || row === null) return { writes: [], answer: { type: "revoked" } };
      const user = users.parse(storedUser.value);
      if ((provider ?? user.provider) !== user.provider)
        return { writes: [], answer: { type: "otherProvider" } };
      if (isBanned(user, now)) return { writes: [], answer: { type: "banned", user } };
      if (row.deviceId !== deviceId) return { writes: [], answer: { type: "mismatch" } };
      const step = rotateSession(row, attempt, now);
      switch (step.type) {
        case "advanced":
          return { writes: rowWrites(step.row), answer: { type: "refreshed", row: step.row, user } };
        case "repeated":
          return { writes: [], answer: { type: "refreshed", row, user } };
        case "reused":
          return { writes: endWrites(sid), answer: { type: "reused", row, user } };
        case "unknown":
          return { writes: [], answer: { type: "revoked" } };
      }
    },
  };
}

/** Confirms that the answer of the last rotation arrived, unless there was another one since. */
export function confirmRule(sid: string, counter: number): Rule<readonly [ReadRecord], undefined> {
  return {
    reads: [sessionRead(sid)],
    idempotent: true,
    apply: ([stored]) => {
      const row = stored === null ? null : (JSON.parse(stored.value) as SessionRow);
      const isUnconfirmed = row !== null && row.counter === counter && !row.isConfirmed;
      return { writes: isUnconfirmed ? rowWrites({ ...row, isConfirmed: true }) : [], answer: undefined };
    },
  };
}

/** Ends one session; returns if it was alive at `now`, in Unix ms. */
export function revokeRule(sid: string, now: number): Rule<readonly [ReadRecord, ReadRecord], boolean> {
  return {
    reads: [sessionRead(sid), cutoffRead],
    // Deciding again ends nothing more.
    idempotent: true,
    apply: ([stored, cutoff]) => ({
      writes: stored === null ? [] : endWrites(sid),
      answer: liveRow(stored, cutoff, now) !== null,
    }),
  };
}

/** The sessions that end at `now`, in Unix ms. */
export interface RevokeAll {
  readonly now: number;
  /** A session that survives, if it is alive. */
  readonly except?: string;
  /** The session that asks: if it is over, nothing ends. */
  readonly by?: string;
  /** True where the user gets no new proofs of identity. Those from processes whose clocks are ahead end too. @default false */
  readonly isFinal?: boolean;
}

/** Ends all sessions and starts a new epoch; returns the number that ended. */
export function revokeAllRule({
  now,
  except,
  by,
  isFinal = false,
}: RevokeAll): Rule<readonly [ReadRecord, ReadBoard, ReadRecord], number> {
  const named = except ?? by ?? "";
  return {
    reads: [cutoffRead, boardRead, sessionRead(named)],
    apply: ([storedCutoff, { entries }, stored]) => {
      const row = liveRow(stored, storedCutoff, now);
      if (by !== undefined && row === null) return { writes: [], answer: 0 };
      const at = isFinal ? now + clockSkewSecondsMax * 1_000 : now;
      const cutoff = { epoch: cutoffOf(storedCutoff).epoch + 1, at };
      const survivor = except === undefined ? null : row;
      const ended = entries.filter(({ member }) => member !== survivor?.sid);
      return {
        writes: [
          ...ended.flatMap(({ member }) => endWrites(member)),
          ...(survivor === null ? [] : rowWrites({ ...survivor, epoch: cutoff.epoch })),
          cutoffWrite(cutoff, now),
        ],
        answer: ended.filter(({ score }) => score > now).length,
      };
    },
  };
}

/** Time after a rotation for which the token before it is still accepted. */
const refreshGraceMs = 30_000;
/** The same while the answer of the rotation is unconfirmed: 24 hours. */
const refreshRetryMs = 24 * 3_600_000;

/** The outcome of a rotation: the session continues with `row`, the token is unknown, or the session must end. */
export type SessionRotation =
  | { readonly type: "advanced" | "repeated"; readonly row: SessionRow }
  | { readonly type: "unknown" | "reused" };

/** Decides on a refresh at `now`, in Unix ms. */
function rotateSession(
  row: SessionRow,
  presented: Pick<RefreshAttempt, "counter" | "accessCounter">,
  now: number,
): SessionRotation {
  const { counter, rotatedAt } = row;
  if (presented.counter > counter) return { type: "unknown" };
  if (presented.counter === counter) {
    const next = { ...row, counter: counter + 1, rotatedAt: now, isConfirmed: false, lastSeen: now };
    return { type: "advanced", row: next };
  }
  const isConfirmed = row.isConfirmed || presented.accessCounter === counter;
  const acceptedMs = isConfirmed ? refreshGraceMs : refreshRetryMs;
  const isAccepted = presented.counter === counter - 1 && now - rotatedAt <= acceptedMs;
  return isAccepted ? { type: "repeated", row } : { type: "reused" };
}
