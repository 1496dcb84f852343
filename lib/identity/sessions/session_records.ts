/**
 * Signed session records, as the identity API answers them.
 *
 * @module
 */

import { type MasterSecret, recordKey, signRecord, verifyRecord } from "../../auth/mod.ts";
import { Cache } from "../../background/mod.ts";
import type { User, UserIds } from "../users.ts";

/** The members of a record that are signed. Times in Unix seconds. */
export interface RecordFacts extends UserIds {
  readonly deviceId: string;
  readonly timeStamp: number;
  readonly signUp: number;
}

/** A signed session record. */
export interface IssuedRecord extends RecordFacts {
  readonly signature: string;
}

/** A device of a profile, with the session record of its last login. */
export interface DeviceItem extends Omit<IssuedRecord, "externalId"> {
  readonly lastLogin: number;
}

/** Deriving a key costs some 20 microseconds. */
const recordKeysMax = 1_000;

/** Signs and verifies the session records of projects. */
export class SessionRecords {
  readonly #secret: MasterSecret;
  readonly #keys = new Cache<Uint8Array>({ entriesMax: recordKeysMax });

  constructor(secret: MasterSecret) {
    this.#secret = secret;
  }

  /** Signs a record. */
  issue(projectId: string, facts: RecordFacts): IssuedRecord {
    const { deviceId, timeStamp, externalId, userId, signUp } = facts;
    const record = { projectId, deviceId, timeStamp, externalId, userId, signUp };
    const signature = signRecord(this.#keyOf(projectId), record);
    return { deviceId, timeStamp, signature, externalId, userId, signUp };
  }

  /** Verifies the signature of a record. */
  verify(projectId: string, record: IssuedRecord): boolean {
    return verifyRecord(this.#keyOf(projectId), { ...record, projectId });
  }

  /** Lists the devices of a user. */
  devicesOf(projectId: string, { userId, externalId, signUp, devices }: User): readonly DeviceItem[] {
    return devices.map(({ deviceId, lastLogin }) => {
      const facts = { deviceId, timeStamp: lastLogin, externalId, userId, signUp };
      const { signature, timeStamp } = this.issue(projectId, facts);
      return { deviceId, lastLogin, signUp, userId, timeStamp, signature };
    });
  }

  #keyOf(projectId: string): Uint8Array {
    const cached = this.#keys.get(projectId);
    if (cached !== undefined) return cached;
    const key = recordKey(this.#secret, projectId);
    this.#keys.set(projectId, key);
    return key;
  }
}
