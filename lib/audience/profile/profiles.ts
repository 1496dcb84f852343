/**
 * Profiles: looking at them, and changing what users and back ends may change.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { decide, type Partition, type Rule, type Store, type Stored } from "../../storage/mod.ts";
import type { AudienceMember } from "../member.ts";
import type { LoyaltySight, MetricChange, SeenLoyalty } from "../sight.ts";
import { type ProfilePatch, patched } from "./patch.ts";
import { type ProfileRecord, parseProfileRecord, putProfileRecord, readProfileRecord } from "./record.ts";

/** A profile with the user's loyalty. */
export interface Profile {
  /** The profile's record as it is stored; null where there is none. */
  readonly record: Stored | null;
  readonly loyalty: SeenLoyalty;
}

/** A change of a profile that was checked. */
export interface ProfileChange {
  readonly patch: ProfilePatch;
  /** Changes of metrics, which take effect together with the rest or not at all. @default none */
  readonly metrics?: readonly MetricChange[];
  /** Throws where the profile must not be changed because it is of this version. */
  readonly admit?: ((version: number) => void) | undefined;
}

/** What a change made. */
export interface ChangedProfile {
  readonly version: number;
  /** Of the change of metrics; null where there was none. */
  readonly transactionId: string | null;
}

/** Looks at profiles and changes them. Every look is one read. */
export interface Profiles {
  /** A user's profile; null where nothing is known of the user. */
  see(member: AudienceMember): Promise<Profile | null>;
  /** A user's own profile, which is made where there is none. */
  own(member: AudienceMember): Promise<Profile>;
  /**
   * Changes a profile; one that stays as it is keeps its version.
   *
   * @throws {AppError} `validation_failed` where it would become too large, or the space has no such metric.
   */
  change(member: AudienceMember, change: ProfileChange): Promise<ChangedProfile>;
}

/** What profiles need. */
export interface ProfilesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly loyalty: LoyaltySight;
  /** Where a user's records are. */
  readonly partitionOf: (member: Pick<AudienceMember, "organisationId" | "userId">) => Partition;
}

const reason = "Profile update";

/** Creates the profiles of all users. */
export function createProfiles(options: ProfilesOptions): Profiles {
  const { store, clock, loyalty, partitionOf } = options;
  async function write(member: AudienceMember, change: ProfileChange): Promise<ProfileRecord> {
    const rule: Rule<readonly [typeof readProfileRecord], ProfileRecord> = {
      reads: [readProfileRecord],
      idempotent: change.admit === undefined,
      apply: ([stored]) => {
        const { put, record } = changed(stored, change, clock());
        return { writes: put === null ? [] : [put], answer: record };
      },
      ready: loyalty.register(member),
    };
    return await decide(store, partitionOf(member), rule);
  }
  return {
    async see(member) {
      const { view, isKnown, extraRecord } = await loyalty.reader.summary(member, readProfileRecord);
      if (!isKnown && extraRecord === null) return null;
      return { record: extraRecord, loyalty: view };
    },
    async own(member) {
      const { view, extraRecord } = await loyalty.reader.summary(member, readProfileRecord);
      if (extraRecord !== null) return { record: extraRecord, loyalty: view };
      await write(member, { patch: {} });
      const made = await loyalty.reader.summary(member, readProfileRecord);
      return { record: made.extraRecord, loyalty: made.view };
    },
    async change(member, change) {
      const { metrics = [] } = change;
      if (metrics.length === 0)
        return { version: (await write(member, change)).version, transactionId: null };
      let version = 0;
      const transactionId = await loyalty.adjust(member, {
        changes: metrics,
        reason,
        extraRecord: {
          read: readProfileRecord,
          write: stored => {
            const { put, record } = changed(stored, change, clock());
            version = record.version;
            return put;
          },
        },
      });
      return { version, transactionId };
    },
  };
}

/** A profile is made by the first change, even one that leaves it as it is. */
function changed(
  stored: Stored | null,
  { patch, admit }: ProfileChange,
  now: number,
): { readonly put: ReturnType<typeof putProfileRecord>["put"] | null; readonly record: ProfileRecord } {
  const before = parseProfileRecord(stored);
  admit?.(before.version);
  const content = patched(before, patch);
  if (content === null && stored !== null) return { put: null, record: before };
  return putProfileRecord(before, content ?? before, now);
}

/** Admits changes of one version alone. */
export function requireVersion(expected: number): (version: number) => void {
  return version => {
    if (version === expected) return;
    throw new AppError("precondition_failed", "Cannot change the profile: it has changed since it was read");
  };
}
