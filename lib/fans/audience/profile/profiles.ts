/** Reading and changing profiles. */

import type { Clock } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import { decide, type ReadRecord, type Store, type Stored } from "../../../storage/mod.ts";
import type { Loyalty, SpaceUser } from "../../loyalty/mod.ts";
import type { MetricChange } from "../../loyalty/user/history.ts";
import { spaceUserPartition } from "../../loyalty/user/state.ts";
import type { LoyaltySummary } from "../../loyalty/views/loyalty_reader.ts";
import {
  type Account,
  parseAccount,
  readAccountNote,
  userBoards,
  userIndexPartition,
} from "../../users/mod.ts";
import type { FieldIndexes } from "./field_index.ts";
import { applyPatch, type ProfilePatch } from "./patch.ts";
import {
  markReads,
  markWrites,
  type ProfileRecord,
  parseMark,
  parseProfileRecord,
  putProfileRecord,
  readProfileRecord,
  type UpdateId,
  type UpdateMark,
} from "./record.ts";

export interface Profile {
  readonly record: Stored | null;
  /** How the user signed up; null for users who did not. */
  readonly account: Stored | null;
  readonly loyalty: LoyaltySummary;
  /** When the user was first known, as searches show it, Unix ms; null for users whom no index lists. */
  readonly createdAt: number | null;
}

export interface ProfileChange {
  /** The id under which it takes effect once. Omitted: a repetition takes effect again. */
  readonly once?: UpdateId | undefined;
  readonly patch: ProfilePatch;
  /** Changes of metrics, applied together with the patch or not at all. */
  readonly metrics?: readonly MetricChange[];
  /** Tells whether the change may be applied to this version. Omitted: to any. */
  readonly isExpectedVersion?: ((version: number) => boolean) | undefined;
  /**
   * True if the change says what an export shows: a display name that is the registered name stands for none, and a user who
   * signed up needs no record. @default false
   */
  readonly isImport?: boolean;
}

interface ProfileChanged {
  readonly version: number;
  /** The transaction that changed metrics; null if none did. */
  readonly transactionId: string | null;
  /** False if everything was as it should be. */
  readonly isChanged: boolean;
}

/** Reads and changes profiles; a read is one round trip. */
export type Profiles = ReturnType<typeof createProfiles>;

/** Age in ms at which times of creation are read again, as a user may be removed and come back. */
const creationAgeMs = 60_000;

export function createProfiles(
  store: Store,
  clock: Clock,
  {
    loyalty,
    fields,
  }: {
    readonly loyalty: Pick<Loyalty, "adjust" | "findAdjustment" | "register" | "reader">;
    readonly fields: FieldIndexes;
  },
) {
  const creationOf = readCreations(store, clock);
  const services: WriteServices = { store, clock, loyalty };
  async function apply(user: SpaceUser, change: ProfileChange): Promise<ProfileChanged> {
    const { metrics = [] } = change;
    if (metrics.length === 0) return { ...(await write(services, user, change)), transactionId: null };
    return await adjust(loyalty, user, { ...change, metrics, now: clock });
  }
  async function read(user: SpaceUser): Promise<Profile & { readonly isKnown: boolean }> {
    const [{ view, isKnown, extraRecords }, createdAt] = await Promise.all([
      loyalty.reader.summary(user, readProfileRecord, readAccountNote),
      creationOf(user),
    ]);
    const [record = null, account = null] = extraRecords;
    return { record, account, loyalty: view, createdAt, isKnown };
  }
  return {
    /** Returns a user's profile; null for an unknown user. */
    async get(user: SpaceUser): Promise<Profile | null> {
      const profile = await read(user);
      const hasAccount = parseAccount(profile.account) !== null;
      return profile.isKnown || profile.record !== null || hasAccount ? profile : null;
    },
    /** Returns a user's profile, which is created if there is none. */
    async getOrCreate(user: SpaceUser): Promise<Profile> {
      const profile = await read(user);
      if (profile.record !== null) return profile;
      await write(services, user, { patch: {} });
      return await read(user);
    },
    /**
     * Changes a profile. A change without effect keeps the version. One whose id took effect before is answered as then.
     *
     * @throws {AppError} `precondition_failed` for an unexpected version; `validation_failed` if the preferences become too
     *   large or the space has no such metric.
     */
    async change(user: SpaceUser, change: ProfileChange): Promise<ProfileChanged> {
      const index = await fields.begin(user, change.patch.customFields);
      const changed = await apply(user, change);
      await index?.();
      return changed;
    },
  };
}

/** Reads when users were first known from the index of users, which searches read too. */
function readCreations(store: Store, clock: Clock): (user: SpaceUser) => Promise<number | null> {
  const creations = new Cache<number>({ entriesMax: 100_000, maxAgeMs: creationAgeMs, clock });
  return async ({ organisationId, userId }) => {
    // Ids of organisations have no slash.
    const name = `${organisationId}/${userId}`;
    const known = creations.get(name);
    if (known !== undefined) return known;
    const [standing] = await store.read(userIndexPartition(organisationId, userId), [
      { type: "standing", key: userBoards.created, member: userId },
    ]);
    if (standing === null) return null;
    creations.set(name, standing.score);
    return standing.score;
  };
}

interface WriteServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly loyalty: Pick<Loyalty, "register">;
}

/** Changes a profile alone. */
async function write(
  { store, clock, loyalty }: WriteServices,
  user: SpaceUser,
  change: ProfileChange,
): Promise<Pick<ProfileChanged, "version" | "isChanged">> {
  const { once, isExpectedVersion } = change;
  const startedAt = clock();
  return await decide(store, spaceUserPartition(user), {
    reads: changeReads(change),
    idempotent: once !== undefined || isExpectedVersion === undefined,
    apply: ([stored = null, extra = null]) => {
      const before = once === undefined ? null : parseMark(extra);
      if (before !== null) return { writes: [], answer: { version: before.version, isChanged: false } };
      const { put, record } = changedRecord(stored, change, { now: clock(), extra });
      const writes = [...(put === null ? [] : [put]), ...markWrites(once, record, startedAt)];
      return { writes, answer: { version: record.version, isChanged: put !== null } };
    },
    ready: loyalty.register(user),
  });
}

async function adjust(
  loyalty: Pick<Loyalty, "adjust" | "findAdjustment">,
  user: SpaceUser,
  change: ProfileChange & { readonly metrics: readonly MetricChange[]; readonly now: Clock },
): Promise<ProfileChanged> {
  const { metrics, once, now } = change;
  const startedAt = now();
  let before: UpdateMark | null = null;
  let [version, isChanged] = [0, false];
  const wasApplied = ([, mark = null]: readonly (Stored | null)[]): boolean => {
    before = parseMark(mark);
    return before !== null;
  };
  const transactionId = await loyalty.adjust(user, {
    changes: metrics,
    reason: "Profile update",
    id: once?.id,
    extra: {
      reads: changeReads(change),
      wasApplied: once === undefined ? undefined : wasApplied,
      writes: ([stored = null, extra = null]) => {
        const { put, record } = changedRecord(stored, change, { now: now(), extra });
        version = record.version;
        isChanged = put !== null;
        return [...(put === null ? [] : [put]), ...markWrites(once, record, startedAt)];
      },
    },
  });
  const mark = before as UpdateMark | null;
  if (mark === null || once === undefined) {
    return { version, transactionId, isChanged: isChanged || transactionId !== null };
  }
  const found = await loyalty.findAdjustment(user, { id: once.id, from: mark.at });
  return { version: mark.version, transactionId: found, isChanged: false };
}

/** Returns the reads of a change: the profile, and the mark of an update or the account of an imported user. */
function changeReads({ once, isImport = false }: ProfileChange): readonly ReadRecord[] {
  return [readProfileRecord, ...(isImport ? [readAccountNote] : markReads(once))];
}

/** Applies a change to the stored record. The first change creates it, even one without effect. */
function changedRecord(
  stored: Stored | null,
  change: ProfileChange,
  { now, extra }: { readonly now: number; readonly extra: Stored | null },
): { readonly put: ReturnType<typeof putProfileRecord>["put"] | null; readonly record: ProfileRecord } {
  const { isExpectedVersion, isImport = false } = change;
  const before = parseProfileRecord(stored);
  const account = isImport ? parseAccount(extra) : null;
  if (isExpectedVersion?.(before.version) === false) {
    throw new AppError("precondition_failed", "Cannot change the profile: it has changed since it was read");
  }
  const content = applyPatch(
    before,
    account === null ? change.patch : withoutShownName(change.patch, before, account),
  );
  if (content === null && (stored !== null || account !== null)) return { put: null, record: before };
  return putProfileRecord(before, content ?? before, now);
}

/** Leaves out a display name that exports show only because the user registered under it. */
function withoutShownName(
  patch: ProfilePatch,
  { displayName }: ProfileRecord,
  { name }: Account,
): ProfilePatch {
  if (displayName !== null || !name || patch.displayName !== name) return patch;
  const { displayName: _, ...others } = patch;
  return others;
}
