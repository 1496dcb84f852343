/**
 * One-time codes that prove the control of an e-mail address.
 *
 * A code exists for every address that asks for one, whether it belongs to a user or not, so that neither answers nor
 * the number of operations tell who is a user. Nothing stored can be read back into an address or a code.
 *
 * @module
 */

import type { Clock, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import { dummyHash, type HashCost, type PasswordHasher } from "../../auth/passwords/mod.ts";
import { decide, type Partition, type Store, tenantPartition } from "../../storage/mod.ts";
import { randomCode } from "./digits.ts";
import { emailHashKey, emailKey } from "./email.ts";
import { codeAgeMsMax, codeName, codeTriesMax, consume, putCode, reserveTry, wrongName } from "./rules.ts";

/**
 * Cost of a code's hash, 16 MiB: a code lives for minutes and has five tries, so that the hash only has to outlast a
 * stolen copy of the store for that long.
 */
export const codeCost: HashCost = { algorithm: "scrypt", logN: 14, r: 8, p: 1 };

/** What a code is for; a code for one purpose is none for another. */
export type CodePurpose = "password";

/** Issues and redeems codes. */
export interface Codes {
  /** A new code for the address (8 digits), which ends the one before; also for addresses without a user. */
  issue(projectId: string, purpose: CodePurpose, email: string): Promise<string>;
  /** Consumes the code once; a wrong one spends a try. Always costs one code KDF. */
  redeem(projectId: string, purpose: CodePurpose, email: string, code: string): Promise<boolean>;
  /** Ends the address' code; nothing happens where it has none. Its wrong tries still count. */
  revoke(projectId: string, purpose: CodePurpose, email: string): Promise<void>;
}

/** What codes need. */
export interface CodesOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  /** Hashes codes; made with {@linkcode codeCost}. */
  readonly hasher: PasswordHasher;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

const reads = [
  { type: "record", key: codeName },
  { type: "record", key: wrongName },
] as const;

/** Creates the codes of all projects over a store. */
export function createCodes(options: CodesOptions): Codes {
  const { store, secret, hasher, clock, random } = options;
  const partitionOf = (projectId: string, purpose: CodePurpose, email: string): Partition =>
    tenantPartition(
      { project: projectId },
      "code",
      purpose,
      emailKey(emailHashKey(secret, projectId), email),
    );
  const nothing = dummyHash(hasher);
  return {
    async issue(projectId, purpose, email) {
      const code = randomCode(random);
      const hash = await hasher.hash(code);
      await store.commit(partitionOf(projectId, purpose, email), {
        writes: [putCode({ hash, triesLeft: codeTriesMax, expireAt: clock() + codeAgeMsMax })],
      });
      return code;
    },
    async redeem(projectId, purpose, email, code) {
      const partition = partitionOf(projectId, purpose, email);
      const reservedAt = clock();
      const hash = await decide(store, partition, { reads, apply: state => reserveTry(state, reservedAt) });
      const { ok } = await hasher.verify(hash ?? nothing, code);
      if (!ok || hash === null) return false;
      return await decide(store, partition, {
        reads,
        apply: state => consume(state, { hash, reservedAt }),
      });
    },
    async revoke(projectId, purpose, email) {
      await store.commit(partitionOf(projectId, purpose, email), {
        writes: [{ type: "delete", shape: "record", key: codeName }],
      });
    },
  };
}
