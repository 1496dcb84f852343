/** The stored profile: a record of the user's partition beside loyalty. */

import type { Members } from "../../../base/json/mod.ts";
import { JsonMembers } from "../../../base/text/mod.ts";
import type { Put, ReadRecord, Store, Stored, Write } from "../../../storage/mod.ts";
import { profileKey, type SpaceUser, spaceUserPartition } from "../../loyalty/user/state.ts";
import type { CustomValue } from "./custom_fields.ts";

/** The part of a profile that users and back ends write. */
export interface ProfileRecord {
  readonly displayName: string | null;
  readonly preferences: Members;
  readonly customFields: Readonly<Record<string, CustomValue>>;
  /** Unix ms; null without a record. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** Number of changes, the creation included; 0 without a record. */
  readonly version: number;
}

type PutRecord = Extract<Write, { readonly type: "put" }>;

export const readProfileRecord: ReadRecord = { type: "record", key: profileKey };

const emptyRecord: ProfileRecord = {
  displayName: null,
  preferences: {},
  customFields: {},
  createdAt: null,
  updatedAt: null,
  version: 0,
};

/** Parses a stored record; null is an empty one. */
export function parseProfileRecord(stored: Stored | null): ProfileRecord {
  return stored === null ? emptyRecord : (JSON.parse(stored.value) as ProfileRecord);
}

/** The JSON of single members of a stored record, found without parsing it. */
export class ProfileMembers {
  readonly #members: JsonMembers | null;

  constructor(stored: Stored | null) {
    this.#members = stored === null ? null : new JsonMembers(stored.value);
  }

  /** Returns the JSON of a member. Members are found fastest in the order of the record. */
  text(name: keyof ProfileRecord): string {
    return this.#members?.text(name) ?? JSON.stringify(emptyRecord[name]);
  }
}

/** Reads the display name of a user's profile; null if it has none. */
export async function readDisplayName(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
): Promise<string | null> {
  const [stored] = await store.read(spaceUserPartition(user), [readProfileRecord]);
  return stored === null
    ? null
    : (JSON.parse(new ProfileMembers(stored).text("displayName")) as string | null);
}

/** Writes the record with other content, one version later. */
export function putProfileRecord(
  before: ProfileRecord,
  content: Pick<ProfileRecord, "displayName" | "preferences" | "customFields">,
  now: number,
): { readonly put: PutRecord; readonly record: ProfileRecord } {
  const { displayName, preferences, customFields } = content;
  const record: ProfileRecord = {
    displayName,
    preferences,
    customFields,
    createdAt: before.createdAt ?? now,
    updatedAt: now,
    version: before.version + 1,
  };
  return { put: { type: "put", key: readProfileRecord.key, value: JSON.stringify(record) }, record };
}

export interface UpdateId {
  readonly id: string;
  /** For how long it is remembered, in ms. */
  readonly rememberedMs: number;
}

/**
 * Says that an update took effect: a record of the user's partition, written by the commit of the update. So a repeated update, and
 * one whose answer was lost, is answered as it was the first time.
 */
export interface UpdateMark {
  readonly version: number;
  /** Unix ms, no later than its transaction. */
  readonly at: number;
}

export function markReads(once: UpdateId | undefined): readonly ReadRecord[] {
  return once === undefined ? [] : [{ type: "record", key: keyOf(once) }];
}

export function markWrites(
  once: UpdateId | undefined,
  { version }: Pick<ProfileRecord, "version">,
  at: number,
): readonly Put[] {
  if (once === undefined) return [];
  const value = JSON.stringify({ version, at } satisfies UpdateMark);
  return [{ type: "put", key: keyOf(once), value, expireAt: at + once.rememberedMs }];
}

export function parseMark(stored: Stored | null): UpdateMark | null {
  return stored === null ? null : (JSON.parse(stored.value) as UpdateMark);
}

function keyOf({ id }: UpdateId): string {
  return `update:${id}`;
}
