/**
 * Checks for other areas that the session of a token is alive.
 *
 * The guard reads session and cut-off in the user's partition and trusts the answer for five seconds, so that a logout
 * everywhere takes effect everywhere by then. The end of a session is final, so it is kept for the life of an access
 * token.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { Cache, type Loaded } from "../../../storage/background/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import { userPartition } from "../users.ts";
import { accessTokenTtlSecondsMax, cutoffOf, cutoffRead, liveRow, sessionRead } from "./session.ts";

/** Time for which a session may be accepted after it ended, in ms. */
export const sessionStalenessMsMax = 5_000;
const entriesMax = 100_000;

/** The origin of a token. */
export interface SessionClaim {
  readonly projectId: string;
  readonly userId: string;
  /** The session of the token; absent for a user without sessions. */
  readonly sessionId?: string;
  /** Time of the proof of identity, in Unix seconds: what ends all sessions ends older ones without a session too. @default 0 */
  readonly issuedAt?: number;
}

/** Refuses tokens of ended sessions. Create one per process, as it caches answers. */
export class SessionGuard {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Unix seconds from which proofs count; infinite for a session that is over. */
  readonly #notBefore: Cache<number>;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#notBefore = new Cache({ entriesMax, maxAgeMs: sessionStalenessMsMax, clock });
  }

  /** Number of cached sessions and users. */
  get size(): number {
    return this.#notBefore.size;
  }

  /**
   * Accepts a token of a live session, or of a user who has not ended all sessions since.
   *
   * @throws {AppError} `session_revoked`; `storage_unavailable` if it is neither cached nor readable.
   */
  async check(claim: SessionClaim): Promise<void> {
    const name = JSON.stringify([claim.projectId, claim.userId, claim.sessionId]);
    requireSince(claim, await this.#notBefore.getOrLoad(name, () => this.#read(claim)));
  }

  async #read({ projectId, userId, sessionId }: SessionClaim): Promise<Loaded<number>> {
    const now = this.#clock();
    const partition = userPartition(projectId, userId);
    if (sessionId === undefined) {
      const [cutoff] = await this.#store.read(partition, [cutoffRead]);
      const { at } = cutoffOf(cutoff);
      // Proofs have whole seconds: one of the very second of the cut-off may be older.
      return { value: at === 0 ? 0 : Math.floor(at / 1_000) + 1 };
    }
    const [stored, cutoff] = await this.#store.read(partition, [sessionRead(sessionId), cutoffRead]);
    return liveRow(stored, cutoff, now) === null
      ? { value: Number.POSITIVE_INFINITY, until: now + accessTokenTtlSecondsMax * 1_000 }
      : { value: 0 };
  }
}

function requireSince({ issuedAt = 0 }: SessionClaim, notBefore: number): void {
  if (issuedAt >= notBefore) return;
  throw new AppError("session_revoked", "Cannot serve the request as the session is over: log in again");
}
