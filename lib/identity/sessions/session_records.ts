/**
 * Session records as the identity API answers them.
 *
 * @module
 */

import { type MasterSecret, recordKey, signRecord, verifyRecord } from "../../auth/mod.ts";
import type { UserIds } from "../users.ts";

/** A signed session record. Times in Unix seconds. */
export interface IssuedRecord {
  readonly deviceId: string;
  readonly timeStamp: number;
  readonly signature: string;
  readonly externalId: string;
  readonly userId: string;
  readonly signUp: number;
}

/** What a record is made of beside its signature. */
export type RecordFacts = UserIds & {
  readonly deviceId: string;
  readonly timeStamp: number;
  readonly signUp: number;
};

/** Signs and verifies the session records of projects. */
export interface SessionRecords {
  issue(projectId: string, facts: RecordFacts): IssuedRecord;
  verify(projectId: string, record: IssuedRecord): boolean;
}

/** Number of projects whose record key a process keeps; derivation costs some 20 microseconds. */
const recordKeysMax = 1_000;

/** Creates the records of all projects under one master secret. */
export function createSessionRecords(secret: MasterSecret): SessionRecords {
  const keys = new Map<string, Uint8Array>();
  function keyOf(projectId: string): Uint8Array {
    const known = keys.get(projectId);
    if (known !== undefined) return known;
    if (keys.size >= recordKeysMax) keys.clear();
    const key = recordKey(secret, projectId);
    keys.set(projectId, key);
    return key;
  }
  return {
    issue: (projectId, facts) => {
      const { deviceId, timeStamp, externalId, userId, signUp } = facts;
      const signature = signRecord(keyOf(projectId), {
        projectId,
        deviceId,
        timeStamp,
        externalId,
        userId,
        signUp,
      });
      return { deviceId, timeStamp, signature, externalId, userId, signUp };
    },
    verify: (projectId, record) => verifyRecord(keyOf(projectId), { ...record, projectId }),
  };
}
