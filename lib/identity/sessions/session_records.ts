/**
 * Signed session records, as the identity API answers them.
 *
 * @module
 */

import type * as v from "valibot";
import {
  type MasterSecret,
  recordKey,
  type SignedSessionRecord,
  signRecord,
  verifyRecord,
} from "../../auth/mod.ts";
import { Cache } from "../../background/mod.ts";
import type { DeviceItemSchema } from "../answers.ts";
import type { User } from "../users.ts";

/** A signed session record. */
export type IssuedRecord = Omit<SignedSessionRecord, "projectId">;

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
  issue(projectId: string, facts: Omit<IssuedRecord, "signature">): IssuedRecord {
    const { deviceId, timeStamp, externalId, userId, signUp } = facts;
    const record = { projectId, deviceId, timeStamp, externalId, userId, signUp };
    const signature = signRecord(this.#keyOf(projectId), record);
    return { deviceId, timeStamp, signature, externalId, userId, signUp };
  }

  /** Verifies the signature of a record. */
  verify(projectId: string, record: IssuedRecord): boolean {
    return verifyRecord(this.#keyOf(projectId), { ...record, projectId });
  }

  /** Lists the devices of a user, each with the session record of its last login. */
  devicesOf(
    projectId: string,
    { userId, externalId, signUp, devices }: User,
  ): v.InferOutput<typeof DeviceItemSchema>[] {
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
