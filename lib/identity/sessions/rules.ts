/**
 * What may happen to the sessions of a user. Each rule is one decision in the user's partition, so that none of them
 * can see or leave the sessions half-changed, whoever else decides at the same time.
 *
 * @module
 */

import type { ReadBoard, ReadRecord, Rule } from "../../storage/mod.ts";
import type { Provider, User } from "../users.ts";
import { advance, type Presented } from "./advance.ts";
import { isBanned } from "./ban.ts";
import {
  boardRead,
  cutoffOf,
  cutoffRead,
  cutoffWrite,
  endWrites,
  liveRow,
  rowWrites,
  type SessionRow,
  sessionRead,
} from "./session_row.ts";
import { type Session, sessionsPerUserMax } from "./sessions.ts";

/** Reads a user, in the user's own partition. */
export const userRead: ReadRecord = { type: "record", key: "user" };

/** Opens the session at its `createdAt`. The first to end make room for it, those that are over are swept out. */
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

/** How a refresh came out. */
export type Refreshed =
  | { readonly type: "refreshed" | "reused"; readonly row: SessionRow; readonly user: User }
  | { readonly type: "banned"; readonly user: User }
  | { readonly type: "revoked" | "mismatch" | "elsewhere" };

/** A refresh token that was presented. Times in Unix ms. */
export interface RefreshAttempt extends Presented {
  readonly sid: string;
  readonly deviceId: string;
  /** Undefined: any. */
  readonly provider: Provider | undefined;
  readonly now: number;
}

/** Advances the session, or ends it where the token was used before. */
export function refreshRule(
  attempt: RefreshAttempt,
): Rule<readonly [ReadRecord, ReadRecord, ReadRecord], Refreshed> {
  const { sid, deviceId, provider, now } = attempt;
  return {
    reads: [userRead, sessionRead(sid), cutoffRead],
    // Deciding again finds the counter one ahead, which answers the same.
    idempotent: true,
    apply: ([storedUser, stored, cutoff]) => {
      const row = liveRow(stored, cutoff, now);
      if (storedUser === null || row === null) return { writes: [], answer: { type: "revoked" } };
      const user = JSON.parse(storedUser.value) as User;
      if ((provider ?? user.provider) !== user.provider) return { writes: [], answer: { type: "elsewhere" } };
      if (isBanned(user, now)) return { writes: [], answer: { type: "banned", user } };
      if (row.deviceId !== deviceId) return { writes: [], answer: { type: "mismatch" } };
      const step = advance(row, attempt, now);
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

/** Notes that the answer of the last rotation arrived, unless there was another one since. */
export function confirmRule(sid: string, counter: number): Rule<readonly [ReadRecord], undefined> {
  return {
    reads: [sessionRead(sid)],
    idempotent: true,
    apply: ([stored]) => {
      const row = stored === null ? null : (JSON.parse(stored.value) as SessionRow);
      const isNews = row !== null && row.counter === counter && !row.isConfirmed;
      return { writes: isNews ? rowWrites({ ...row, isConfirmed: true }) : [], answer: undefined };
    },
  };
}

/** Ends one session; whether it was alive at `now`, in Unix ms. */
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

/** Which sessions end at `now`, in Unix ms. */
export interface RevokeAll {
  readonly now: number;
  /** A session that goes on, if it is alive. */
  readonly except?: string;
  /** A session without which, alive, nothing may be ended. */
  readonly by?: string;
}

/** Ends all sessions and starts a new epoch; the number that ended. */
export function revokeAllRule({
  now,
  except,
  by,
}: RevokeAll): Rule<readonly [ReadRecord, ReadBoard, ReadRecord], number> {
  const named = except ?? by ?? "";
  return {
    reads: [cutoffRead, boardRead, sessionRead(named)],
    apply: ([storedCutoff, { entries }, stored]) => {
      const row = liveRow(stored, storedCutoff, now);
      if (by !== undefined && row === null) return { writes: [], answer: 0 };
      const cutoff = { epoch: cutoffOf(storedCutoff).epoch + 1, at: now };
      const kept = except === undefined ? null : row;
      const ended = entries.filter(({ member }) => member !== kept?.sid);
      return {
        writes: [
          ...ended.flatMap(({ member }) => endWrites(member)),
          ...(kept === null ? [] : rowWrites({ ...kept, epoch: cutoff.epoch })),
          cutoffWrite(cutoff, now),
        ],
        answer: ended.filter(({ score }) => score > now).length,
      };
    },
  };
}
