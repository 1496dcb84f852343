/** Signed session records, as the identity API answers them. */

import {
  type Keys,
  type MasterSecret,
  recordKeys,
  type SignedSessionRecord,
  signRecord,
  verifyRecord,
} from "../../../auth/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import type { User, Users } from "../users.ts";

type IssuedRecord = Omit<SignedSessionRecord, "projectId">;
type SignedDevice = Pick<IssuedRecord, "deviceId" | "timeStamp" | "signature">;

/** Deriving a key costs some 20 microseconds. */
const recordKeysMax = 1_000;

export class SessionRecords {
  readonly #secret: MasterSecret;
  readonly #users: Pick<Users, "externalIdOf">;
  readonly #keys = new Cache<Keys>({ entriesMax: recordKeysMax });

  constructor(secret: MasterSecret, users: Pick<Users, "externalIdOf">) {
    this.#secret = secret;
    this.#users = users;
  }

  async issue(
    projectId: string,
    user: User,
    facts: Pick<IssuedRecord, "deviceId" | "timeStamp">,
  ): Promise<IssuedRecord> {
    const { deviceId, timeStamp } = facts;
    const { userId, signUp } = user;
    const externalId = await this.#users.externalIdOf(user);
    const record = { projectId, deviceId, timeStamp, externalId, userId, signUp };
    const signature = signRecord(this.#keysOf(projectId)[0], record);
    return { deviceId, timeStamp, signature, externalId, userId, signUp };
  }

  /** Verifies a record as it was received. */
  verify(projectId: string, record: Omit<Parameters<typeof verifyRecord>[1], "projectId">): boolean {
    return this.#keysOf(projectId).some(key => verifyRecord(key, { ...record, projectId }));
  }

  async isOf(projectId: string, user: User, presented: SignedDevice): Promise<boolean> {
    const { userId, signUp } = user;
    return this.verify(projectId, {
      ...presented,
      userId,
      signUp,
      externalId: await this.#users.externalIdOf(user),
    });
  }

  /** Lists the devices of a user, each with the session record of its last login. */
  async devicesOf(
    projectId: string,
    user: User,
  ): Promise<(SignedDevice & Pick<User, "userId" | "signUp"> & { lastLogin: number })[]> {
    const { userId, signUp, devices } = user;
    const list = devices.map(async ({ deviceId, lastLogin }) => {
      const { signature, timeStamp } = await this.issue(projectId, user, { deviceId, timeStamp: lastLogin });
      return { deviceId, lastLogin, signUp, userId, timeStamp, signature };
    });
    return await Promise.all(list);
  }

  #keysOf(projectId: string): Keys {
    const cached = this.#keys.get(projectId);
    if (cached !== undefined) return cached;
    const keys = recordKeys(this.#secret, projectId);
    this.#keys.set(projectId, keys);
    return keys;
  }
}
