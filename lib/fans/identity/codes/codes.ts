/**
 * One-time codes that prove the control of an e-mail address.
 *
 * Every address that asks gets a code, with or without a user, so that neither answers nor the number of operations
 * reveal users. Addresses and codes are stored as hashes only.
 */

import { deriveKey, keyedTag } from "../../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes } from "../../../auth/mod.ts";
import { dummyHash, type HashCost, type PasswordHasher } from "../../../auth/passwords/mod.ts";
import {
  type Decision,
  decide,
  type Partition,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import { emailHashKey, emailTag } from "../lookup_keys.ts";

/** The cost of a code's hash, 16 MiB: in a stolen copy of the store it has to protect a code for minutes only. */
export const codeCost: HashCost = { algorithm: "scrypt", logN: 14, r: 8, p: 1 };

/** A code is valid for one purpose: a new password, the verification of the address, or a login. */
const purposes = ["password", "email", "login"] as const;

export type CodePurpose = (typeof purposes)[number];

interface CodesOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly hasher: PasswordHasher;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

const codeName = "code";
const reads = [{ type: "record", key: codeName }] as const;

/** The address of a code, and who asks for it or tries it: the login, or the network, that tries belong to. */
interface CodeOwner {
  readonly email: string;
  readonly holder: string;
}

export type Codes = ReturnType<typeof createCodes>;

export function createCodes(options: CodesOptions) {
  const { store, secret, hasher, clock, random } = options;
  const partitionOf = (projectId: string | null, purpose: CodePurpose, email: string): Partition => {
    const tag = emailTag(emailHashKey(secret, projectId ?? "authors"), email);
    return projectId === null
      ? platformPartition("code", purpose, tag)
      : tenantPartition({ project: projectId }, "code", purpose, tag);
  };
  const holderKey = deriveKey(secret, "code_holder");
  const holderTag = (holder: string): string => keyedTag(holderKey, [holder.toWellFormed()]);
  const dummy = dummyHash(hasher);
  return {
    /** Issues a code of 8 digits, which replaces the one before. Codes without a project are those of authors. */
    async issue(
      projectId: string | null,
      purpose: CodePurpose,
      { email, holder }: CodeOwner,
    ): Promise<string> {
      const code = randomCode(random);
      const hash = await hasher.hash(code);
      const expireAt = clock() + codeAgeMsMax;
      await store.commit(partitionOf(projectId, purpose, email), {
        writes: [
          putCode({ hash, holder: holderTag(holder), triesLeft: [codeTriesMax, codeTriesMax], expireAt }),
        ],
      });
      return code;
    },
    /** Consumes the code once; a wrong one spends a try. Always costs one key derivation. */
    async redeem(
      projectId: string | null,
      purpose: CodePurpose,
      { email, holder, code }: CodeOwner & { readonly code: string },
    ): Promise<boolean> {
      const partition = partitionOf(projectId, purpose, email);
      const apply = (state: CodeState) => reserveTry(state, holderTag(holder));
      const hash = await decide(store, partition, { reads, apply });
      // People paste "1234 5678", and what mail programs put around it.
      const { ok } = await hasher.verify(hash ?? dummy, code.normalize("NFKC").replace(/\D+/g, ""));
      if (!ok || hash === null) return false;
      return await decide(store, partition, { reads, apply: state => consume(state, hash) });
    },
    async revoke(projectId: string, email: string, purpose?: CodePurpose): Promise<void> {
      const writes = [{ type: "delete", shape: "record", key: codeName }] as const;
      await Promise.all(
        (purpose === undefined ? purposes : [purpose]).map(each =>
          store.commit(partitionOf(projectId, each, email), { writes }),
        ),
      );
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

/** The life of a code, in ms (OWASP ASVS 5.0, 6.5.5). */
export const codeAgeMsMax = 600_000;
/** Tries of one code: those of its holder, and those of all others together. */
export const codeTriesMax = 5;

interface CodeRecord {
  /** PHC string, whose salt distinguishes this code from every other. */
  readonly hash: string;
  readonly holder: string;
  /** Tries of the holder, and of all others. */
  readonly triesLeft: readonly [own: number, others: number];
  /** Unix ms. */
  readonly expireAt: number;
}

type CodeState = readonly [code: Stored | null];

function putCode(code: CodeRecord): Write {
  return { type: "put", key: codeName, value: JSON.stringify(code), expireAt: code.expireAt };
}

/**
 * Spends a try before the comparison, so that racers share the tries. Returns the hash to compare with, or null if there
 * is no code or no try left.
 */
function reserveTry([stored]: CodeState, holder: string): Decision<string | null> {
  const code = stored === null ? null : (JSON.parse(stored.value) as CodeRecord);
  const index = code?.holder === holder ? 0 : 1;
  const left = code?.triesLeft[index] ?? 0;
  if (code === null || left < 1) return { writes: [], answer: null };
  const triesLeft = code.triesLeft.with(index, left - 1) as [number, number];
  return { writes: [putCode({ ...code, triesLeft })], answer: code.hash };
}

/** Consumes the code that was compared. Returns true for exactly one of the racers with the right code. */
function consume([stored]: CodeState, hash: string): Decision<boolean> {
  const isLive = stored !== null && (JSON.parse(stored.value) as CodeRecord).hash === hash;
  return { writes: isLive ? [{ type: "delete", shape: "record", key: codeName }] : [], answer: isLive };
}
