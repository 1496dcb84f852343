/**
 * One-time codes that prove the control of an e-mail address.
 *
 * Every address that asks gets a code, with or without a user, so that neither answers nor the number of operations
 * reveal users. Addresses and codes are stored as hashes only.
 *
 * @module
 */

import type { Clock, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import { dummyHash, type HashCost, type PasswordHasher } from "../../auth/passwords/mod.ts";
import { decide, type Partition, platformPartition, type Store, tenantPartition } from "../../storage/mod.ts";
import { emailHashKey, emailTag } from "../email.ts";
import { codeAgeMsMax, codeName, codeTriesMax, consume, putCode, reserveTry, wrongName } from "./rules.ts";

/** The cost of a code's hash, 16 MiB: in a stolen copy of the store it has to protect a code for minutes only. */
export const codeCost: HashCost = { algorithm: "scrypt", logN: 14, r: 8, p: 1 };

/** The purposes of codes of users: a new password, and the verification of the address. A code is valid for one of them. */
const purposes = ["password", "email"] as const;

/** The purpose of a code. */
export type CodePurpose = (typeof purposes)[number] | "login";

/** Options of {@linkcode createCodes}. */
export interface CodesOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  /** Hashes codes at {@linkcode codeCost}. */
  readonly hasher: PasswordHasher;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

const reads = [
  { type: "record", key: codeName },
  { type: "record", key: wrongName },
] as const;

/** Issues and redeems codes. */
export type Codes = ReturnType<typeof createCodes>;

/** Creates the codes of all projects over a store. */
export function createCodes(options: CodesOptions) {
  const { store, secret, hasher, clock, random } = options;
  const partitionOf = (projectId: string | null, purpose: CodePurpose, email: string): Partition => {
    const tag = emailTag(emailHashKey(secret, projectId ?? "authors"), email);
    return projectId === null
      ? platformPartition("code", purpose, tag)
      : tenantPartition({ project: projectId }, "code", purpose, tag);
  };
  const deleteRecords = async (
    projectId: string,
    email: string,
    { of, keys }: { readonly of: readonly CodePurpose[]; readonly keys: readonly string[] },
  ): Promise<void> => {
    const writes = keys.map(key => ({ type: "delete", shape: "record", key }) as const);
    await Promise.all(of.map(purpose => store.commit(partitionOf(projectId, purpose, email), { writes })));
  };
  const dummy = dummyHash(hasher);
  return {
    /** Issues a code of 8 digits, which replaces the one before. Codes without a project are those of authors. */
    async issue(projectId: string | null, purpose: CodePurpose, email: string): Promise<string> {
      const code = randomCode(random);
      const hash = await hasher.hash(code);
      await store.commit(partitionOf(projectId, purpose, email), {
        writes: [putCode({ hash, triesLeft: codeTriesMax, expireAt: clock() + codeAgeMsMax })],
      });
      return code;
    },
    /** Consumes the code once; a wrong one spends a try. Always costs one key derivation. */
    async redeem(
      projectId: string | null,
      purpose: CodePurpose,
      email: string,
      code: string,
    ): Promise<boolean> {
      const partition = partitionOf(projectId, purpose, email);
      const reservedAt = clock();
      const hash = await decide(store, partition, { reads, apply: state => reserveTry(state, reservedAt) });
      const { ok } = await hasher.verify(hash ?? dummy, code);
      if (!ok || hash === null) return false;
      return await decide(store, partition, {
        reads,
        apply: state => consume(state, { hash, reservedAt }),
      });
    },
    /** Revokes all codes of the address, and forgets its wrong tries. */
    async revokeAll(projectId: string, email: string): Promise<void> {
      await deleteRecords(projectId, email, { of: purposes, keys: [codeName, wrongName] });
    },
    /** Revokes the codes of the address: those of one purpose, or all. Wrong tries still count. */
    async revoke(projectId: string, email: string, purpose?: CodePurpose): Promise<void> {
      await deleteRecords(projectId, email, {
        of: purpose === undefined ? purposes : [purpose],
        keys: [codeName],
      });
    },
  };
}

const codeDigits = 8;

const codeCount = 10 ** codeDigits;
/** The largest multiple of `codeCount` in 32 bits: numbers beyond would make low codes likelier. */
const fairMax = Math.floor(2 ** 32 / codeCount) * codeCount;
/** One in 45 draws is unfair, so a working generator never needs as many. */
const drawsMax = 64;

/**
 * Draws a code, each of the 10^8 equally likely.
 *
 * @throws {Error} The generator gives the same unusable numbers again and again.
 */
export function randomCode(random: RandomBytes): string {
  for (let draw = 0; draw < drawsMax; draw++) {
    const bytes = random(4);
    const number = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0);
    if (number < fairMax) return String(number % codeCount).padStart(codeDigits, "0");
  }
  throw new Error("Cannot draw a code: the random generator does not work");
}
