/**
 * Tells areas that never ask the identity API whether a token's session is still alive.
 *
 * A token carries its signature, not the news. The guard asks the user's partition, one read for session and cut-off, and
 * believes the answer for {@linkcode sessionStalenessMsMax}; so whoever logs out everywhere is out everywhere by then.
 * That a session is over never changes again, so it is remembered for as long as an access token lives: the list of
 * what is denied, bounded like everything remembered here.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { userPartition } from "../users.ts";
import { accessTokenTtlSecondsMax } from "./identity_tokens.ts";
import { cutoffOf, cutoffRead, liveRow, sessionRead } from "./session_row.ts";

/** For how long a session may pass after it ended, in ms. */
export const sessionStalenessMsMax = 5_000;
/** Most sessions and users remembered. */
export const sessionGuardEntriesMax = 100_000;

/** What a token says of where it comes from. */
export type SessionClaim = {
  readonly projectId: string;
  readonly userId: string;
} & (
  | { /** The session that it was made in. */ readonly sessionId: string; readonly issuedAt?: never }
  | {
      /** When identity was proven, in Unix seconds. */ readonly issuedAt: number;
      readonly sessionId?: never;
    }
);

/** Refuses tokens of sessions that are over. */
export interface SessionGuard {
  /**
   * Passes a token whose session is alive, or whose user ended no sessions since; without a promise where that is known.
   *
   * @throws {AppError} `session_revoked`; `storage_unavailable` where it is neither known nor to be learned.
   */
  check(claim: SessionClaim): void | Promise<void>;
  /** The number of sessions and users remembered. */
  readonly size: number;
}

/** What the guard needs. */
export interface SessionGuardOptions {
  readonly store: Store;
  readonly clock: Clock;
}

/** What is known of a session, or of a user. */
interface Known {
  /** Unix ms until which it is believed. */
  readonly until: number;
  /** Unix seconds from which proofs are good; infinite where the session is over. */
  readonly notBefore: number;
}

/** Creates a guard. Each remembers by itself: create one per process. */
export function createSessionGuard(options: SessionGuardOptions): SessionGuard {
  return new CachingGuard(options);
}

class CachingGuard implements SessionGuard {
  readonly #options: SessionGuardOptions;
  readonly #asking = new Map<string, Promise<Known>>();
  #young = new Map<string, Known>();
  #elder = new Map<string, Known>();

  constructor(options: SessionGuardOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#young.size + this.#elder.size;
  }

  check(claim: SessionClaim): void | Promise<void> {
    const name = JSON.stringify([claim.projectId, claim.userId, claim.sessionId]);
    const known = this.#young.get(name) ?? this.#elder.get(name);
    if (known !== undefined && this.#options.clock() < known.until) return judge(claim, known);
    return this.#ask(name, claim).then(learned => judge(claim, learned));
  }

  /** Those that ask at the same time share one read. */
  #ask(name: string, claim: SessionClaim): Promise<Known> {
    const running = this.#asking.get(name);
    if (running !== undefined) return running;
    const asked = this.#read(claim)
      .then(known => {
        this.#remember(name, known);
        return known;
      })
      .finally(() => this.#asking.delete(name));
    this.#asking.set(name, asked);
    return asked;
  }

  async #read({ projectId, userId, sessionId }: SessionClaim): Promise<Known> {
    const { store, clock } = this.#options;
    // The answer may be as old as the question.
    const now = clock();
    const partition = userPartition(projectId, userId);
    if (sessionId === undefined) {
      const [cutoff] = await store.read(partition, [cutoffRead]);
      return { until: now + sessionStalenessMsMax, notBefore: Math.floor(cutoffOf(cutoff).at / 1_000) };
    }
    const [stored, cutoff] = await store.read(partition, [sessionRead(sessionId), cutoffRead]);
    const row = liveRow(stored, cutoff, now);
    return row === null
      ? { until: now + accessTokenTtlSecondsMax * 1_000, notBefore: Number.POSITIVE_INFINITY }
      : { until: now + sessionStalenessMsMax, notBefore: 0 };
  }

  #remember(name: string, known: Known): void {
    if (this.#young.size >= sessionGuardEntriesMax / 2) {
      this.#elder = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, known);
  }
}

/** Proofs have whole seconds: one of the second in which all sessions ended may be newer than that, and passes. */
function judge({ issuedAt = 0 }: SessionClaim, { notBefore }: Known): void {
  if (issuedAt >= notBefore) return;
  throw new AppError("session_revoked", "Cannot serve the request as the session is over: log in again");
}
