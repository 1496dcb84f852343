/**
 * Reading and changing profiles.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  type Loyalty,
  type LoyaltySummary,
  type MetricChange,
  type SpaceUser,
  spaceUserPartition,
} from "../../loyalty/mod.ts";
import { decide, type Store, type Stored } from "../../storage/mod.ts";
import { applyPatch, type ProfilePatch } from "./patch.ts";
import { type ProfileRecord, parseProfileRecord, putProfileRecord, readProfileRecord } from "./record.ts";

/** A profile with the user's loyalty. */
export interface Profile {
  /** The stored profile; null if there is none. */
  readonly record: Stored | null;
  readonly loyalty: LoyaltySummary;
}

/** A checked change of a profile. */
export interface ProfileChange {
  readonly patch: ProfilePatch;
  /** Changes of metrics, applied together with the patch or not at all. */
  readonly metrics?: readonly MetricChange[];
  /** Tells whether the change may be applied to this version. Omitted: to any. */
  readonly isExpectedVersion?: ((version: number) => boolean) | undefined;
}

/** Reads and changes profiles; a read is one round trip. */
export type Profiles = ReturnType<typeof createProfiles>;

/** Creates the profiles of all users. */
export function createProfiles(
  store: Store,
  clock: Clock,
  loyalty: Pick<Loyalty, "adjust" | "register" | "reader">,
) {
  async function write(user: SpaceUser, change: ProfileChange): Promise<ProfileRecord> {
    return await decide(store, spaceUserPartition(user), {
      reads: [readProfileRecord],
      idempotent: change.isExpectedVersion === undefined,
      apply: ([stored]) => {
        const { put, record } = changedRecord(stored, change, clock());
        return { writes: put === null ? [] : [put], answer: record };
      },
      ready: loyalty.register(user),
    });
  }
  async function read(user: SpaceUser): Promise<Profile & { readonly isKnown: boolean }> {
    const { view, isKnown, extraRecord } = await loyalty.reader.summary(user, readProfileRecord);
    return { record: extraRecord, loyalty: view, isKnown };
  }
  return {
    /** Returns a user's profile; null for an unknown user. */
    async get(user: SpaceUser): Promise<Profile | null> {
      const profile = await read(user);
      return profile.isKnown || profile.record !== null ? profile : null;
    },
    /** Returns a user's profile, which is created if there is none. */
    async getOrCreate(user: SpaceUser): Promise<Profile> {
      const profile = await read(user);
      if (profile.record !== null) return profile;
      await write(user, { patch: {} });
      return await read(user);
    },
    /**
     * Changes a profile, and returns its version and the transaction that changed metrics, or null. A change without effect keeps
     * the version.
     *
     * @throws {AppError} `precondition_failed` for an unexpected version; `validation_failed` if the preferences become too
     *   large or the space has no such metric.
     */
    async change(
      user: SpaceUser,
      change: ProfileChange,
    ): Promise<{ readonly version: number; readonly transactionId: string | null }> {
      const { metrics: changes = [] } = change;
      if (changes.length === 0) {
        return { version: (await write(user, change)).version, transactionId: null };
      }
      let version = 0;
      const transactionId = await loyalty.adjust(user, {
        changes,
        reason: "Profile update",
        extraRecord: {
          read: readProfileRecord,
          write: stored => {
            const { put, record } = changedRecord(stored, change, clock());
            version = record.version;
            return put;
          },
        },
      });
      return { version, transactionId };
    },
  };
}

/** Applies a change to the stored record. The first change creates it, even one without effect. */
function changedRecord(
  stored: Stored | null,
  { patch, isExpectedVersion }: ProfileChange,
  now: number,
): { readonly put: ReturnType<typeof putProfileRecord>["put"] | null; readonly record: ProfileRecord } {
  const before = parseProfileRecord(stored);
  if (isExpectedVersion?.(before.version) === false) {
    throw new AppError("precondition_failed", "Cannot change the profile: it has changed since it was read");
  }
  const content = applyPatch(before, patch);
  if (content === null && stored !== null) return { put: null, record: before };
  return putProfileRecord(before, content ?? before, now);
}
