/**
 * What is kept of a user beside loyalty: a record of the user's partition.
 *
 * @module
 */

import type { ReadRecord, Stored, Write } from "../../storage/mod.ts";
import { JsonMembers } from "../../text/mod.ts";
import type { CustomValue } from "./custom_fields.ts";
import type { JsonObject } from "./merge_patch.ts";

/** The part of a profile that users and back ends write. */
export interface ProfileRecord {
  readonly displayName: string | null;
  readonly preferences: JsonObject;
  readonly customFields: Readonly<Record<string, CustomValue>>;
  /** Unix ms; null where the user has not been met through this interface. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
  /** Number of changes, its making included; 0 where there is no record. */
  readonly version: number;
}

/** Reads the record. */
export const readProfileRecord: ReadRecord = { type: "record", key: "profile" };

/** What stands for a record that is not there. */
export const emptyProfileRecord: ProfileRecord = {
  displayName: null,
  preferences: {},
  customFields: {},
  createdAt: null,
  updatedAt: null,
  version: 0,
};

/** The record as it is stored. */
export function parseProfileRecord(stored: Stored | null): ProfileRecord {
  return stored === null ? emptyProfileRecord : (JSON.parse(stored.value) as ProfileRecord);
}

/** The JSON of the members of a record, which is not parsed for that. */
export class ProfileMembers {
  readonly #members: JsonMembers | null;

  constructor(stored: Stored | null) {
    this.#members = stored === null ? null : new JsonMembers(stored.value);
  }

  /** The JSON of a member. Those that are asked for in the order of a record are found fastest. */
  text(name: keyof ProfileRecord): string {
    return this.#members?.text(name) ?? JSON.stringify(emptyProfileRecord[name]);
  }
}

/** Writes the record with another content, one version later. */
export function putProfileRecord(
  before: ProfileRecord,
  content: Pick<ProfileRecord, "displayName" | "preferences" | "customFields">,
  now: number,
): { readonly put: Write; readonly record: ProfileRecord } {
  const record: ProfileRecord = {
    ...content,
    createdAt: before.createdAt ?? now,
    updatedAt: now,
    version: before.version + 1,
  };
  return { put: { type: "put", key: readProfileRecord.key, value: JSON.stringify(record) }, record };
}
