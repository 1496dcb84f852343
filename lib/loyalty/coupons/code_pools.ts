/**
 * Pools of codes, each of which is handed out once.
 *
 * A board numbers the codes of a pool in the order in which they were added. A claim advances the pool's record to the next number
 * and stores the number; the code is looked up afterwards. All claims check that one record, so many of them share a commit. Codes
 * keep their numbers, so a code that was ever added is known for good. Returned numbers are handed out before new ones.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import {
  decide,
  keyName,
  type Partition,
  type Read,
  type ReadRecord,
  type ReadStanding,
  type Rule,
  type Standing,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import type { LoyaltyServices } from "../services.ts";

/** Most codes that are added at a time. */
export const codesAddedMax = 10_000;
/** Most codes that one commit adds. */
const codesPerCommitMax = 400;
/** Most codes that a pool ever has. */
const poolCodesMax = 1_000_000;
/** Most returned codes of a pool; further ones stay unused. */
const codesReturnedMax = 1_000;
/** Most wrong codes that an error names. */
const codeErrorsMax = 100;
/** Longest code, in characters. */
export const poolCodeCharactersMax = 128;

/** Returns true for printable ASCII without a space at either end. */
function isCode(text: string): boolean {
  return text.length <= poolCodeCharactersMax && /^[!-~](?:[ -~]*[!-~])?$/.test(text);
}

/** A pool of a space. */
export interface PoolAddress {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly poolId: string;
}

/** The record of a pool. */
interface PoolRecord {
  /** Number of codes that were added: all numbers are below it. */
  readonly total: number;
  /** The number of the code that is handed out next. */
  readonly next: number;
  readonly redeemed: number;
  /** Numbers below `next` that were returned. Older records lack it. */
  readonly returned?: readonly number[];
}

const none: PoolRecord = { total: 0, next: 0, redeemed: 0 };
const poolRead = { type: "record", key: "pool" } as const satisfies ReadRecord;
const codesKey = "codes";

/** The pools of all spaces: they add, hand out and redeem codes. */
export type CodePools = ReturnType<typeof createCodePools>;

/** Creates the pools of a store. */
export function createCodePools({ store, clock }: Pick<LoyaltyServices, "store" | "clock">) {
  return {
    /**
     * Adds codes. Those that the pool had already, or that are named twice, count as duplicates, so the same codes may be added
     * again after a failure.
     *
     * @throws {AppError} `validation_failed`: too many, or texts that are no codes. `conflict`: more than 1,000,000 in the pool.
     */
    async add(pool: PoolAddress, codes: readonly string[]) {
      requireCodes(codes);
      const different = [...new Set(codes)];
      let added = 0;
      for (let start = 0; start < different.length; start += codesPerCommitMax) {
        const batch = different.slice(start, start + codesPerCommitMax);
        added += await decide(store, partitionOf(pool), addRule(batch));
      }
      return { added, duplicates: codes.length - added };
    },
    /** Hands out the next code, the same one for the same grant; null where the pool is exhausted. */
    async claim(pool: PoolAddress, grantId: string): Promise<string | null> {
      const partition = partitionOf(pool);
      const number = await decide(store, partition, claimRule(grantId, clock()));
      return number === null ? null : await codeOf(store, partition, number);
    },
    /** Returns the code of a grant that no user has seen, for the next grant. */
    release: async (pool: PoolAddress, grantId: string): Promise<void> =>
      await decide(store, partitionOf(pool), releaseRule(grantId)),
    /**
     * Marks a code as redeemed, once, and returns when that was, in Unix ms.
     *
     * @throws {AppError} `not_found`: the pool has no such code. `conflict`: it was not handed out.
     */
    redeem: async (pool: PoolAddress, code: string) =>
      await decide(store, partitionOf(pool), redeemRule(code, clock())),
    /** Counts the codes of a pool: all, those not handed out yet, those handed out and not redeemed, and those redeemed. */
    async stats(pool: PoolAddress) {
      const [stored] = await store.read(partitionOf(pool), [poolRead]);
      const { total, next, redeemed, returned = [] } = poolOf(stored);
      const out = next - returned.length;
      return { total, available: total - out, allocated: out - redeemed, redeemed };
    },
  };
}

function addRule(codes: readonly string[]): Rule<readonly Read[], number> {
  const standings = codes.map((member): ReadStanding => ({ type: "standing", key: codesKey, member }));
  return {
    reads: [poolRead, ...standings],
    apply: results => {
      const [stored, ...places] = results as [Stored | null, ...(Standing | null)[]];
      const pool = poolOf(stored);
      const fresh = codes.filter((_, index) => places[index] === null);
      if (fresh.length === 0) return { writes: [], answer: 0 };
      const total = pool.total + fresh.length;
      if (total > poolCodesMax) {
        throw new AppError("conflict", `Cannot add the codes as a pool holds at most ${poolCodesMax}`);
      }
      const scores = fresh.map(
        (member, index): Write => ({
          type: "score",
          op: "set",
          key: codesKey,
          member,
          score: pool.total + index,
        }),
      );
      return { writes: [putPool({ ...pool, total }), ...scores], answer: fresh.length };
    },
  };
}

function claimRule(grantId: string, at: number): Rule<readonly [ReadRecord, ReadRecord], number | null> {
  const key = keyName("claim", grantId);
  return {
    reads: [poolRead, { type: "record", key }],
    idempotent: true,
    apply: ([stored, claimed]) => {
      if (claimed !== null) return { writes: [], answer: claimedNumber(claimed) };
      const pool = poolOf(stored);
      const [again, ...returned] = pool.returned ?? [];
      const number = again ?? pool.next;
      if (number >= pool.total) return { writes: [], answer: null };
      const after = again === undefined ? { ...pool, next: number + 1 } : { ...pool, returned };
      return {
        writes: [putPool(after), { type: "put", key, value: JSON.stringify({ number, at }) }],
        answer: number,
      };
    },
  };
}

function releaseRule(grantId: string): Rule<readonly [ReadRecord, ReadRecord], void> {
  const key = keyName("claim", grantId);
  return {
    reads: [poolRead, { type: "record", key }],
    idempotent: true,
    apply: ([stored, claimed]) => {
      const pool = poolOf(stored);
      const { returned = [] } = pool;
      if (claimed === null || returned.length >= codesReturnedMax) return { writes: [], answer: undefined };
      return {
        writes: [
          putPool({ ...pool, returned: [...returned, claimedNumber(claimed)] }),
          { type: "delete", shape: "record", key },
        ],
        answer: undefined,
      };
    },
  };
}

function redeemRule(
  code: string,
  at: number,
): Rule<
  readonly [ReadRecord, ReadRecord, ReadStanding],
  { readonly redeemedAt: number; readonly wasRedeemed: boolean }
> {
  if (!isCode(code)) throw unknownCode();
  const key = keyName("redeemed", code);
  return {
    reads: [poolRead, { type: "record", key }, { type: "standing", key: codesKey, member: code }],
    apply: ([stored, redeemed, standing]) => {
      if (redeemed !== null) {
        return { writes: [], answer: { redeemedAt: Number(redeemed.value), wasRedeemed: true } };
      }
      const pool = poolOf(stored);
      if (standing === null) throw unknownCode();
      if (standing.score >= pool.next || (pool.returned ?? []).includes(standing.score)) {
        throw new AppError("conflict", "Cannot redeem the code as it was not handed out to anybody");
      }
      return {
        writes: [putPool({ ...pool, redeemed: pool.redeemed + 1 }), { type: "put", key, value: String(at) }],
        answer: { redeemedAt: at, wasRedeemed: false },
      };
    },
  };
}

function claimedNumber(claim: Stored): number {
  return (JSON.parse(claim.value) as { readonly number: number }).number;
}

async function codeOf(store: Store, partition: Partition, number: number): Promise<string> {
  const [{ entries }] = await store.read(partition, [
    { type: "board", key: codesKey, min: number, max: number, limit: 1 },
  ]);
  const [entry] = entries;
  if (entry === undefined) throw new AppError("internal_error", `Cannot find the code number ${number}`);
  return entry.member;
}

function requireCodes(codes: readonly string[]): void {
  if (codes.length > codesAddedMax) {
    throw invalid([{ pointer: "/codes", detail: `Expected at most ${codesAddedMax} codes` }]);
  }
  const wrong = codes.flatMap((code, index) => (isCode(code) ? [] : [index]));
  if (wrong.length === 0) return;
  throw invalid(
    wrong.slice(0, codeErrorsMax).map(index => ({
      pointer: `/codes/${index}`,
      detail: `Expected 1 to ${poolCodeCharactersMax} printable ASCII characters, without a space at either end`,
    })),
  );
}

function invalid(fields: readonly { readonly pointer: string; readonly detail: string }[]): AppError {
  return new AppError("validation_failed", "Cannot add the codes as some of them are none", { fields });
}

function unknownCode(): AppError {
  return new AppError("not_found", "Cannot redeem the code as the pool has no such code");
}

function putPool(pool: PoolRecord): Write {
  return { type: "put", key: poolRead.key, value: JSON.stringify(pool) };
}

function poolOf(stored: Stored | null): PoolRecord {
  return stored === null ? none : (JSON.parse(stored.value) as PoolRecord);
}

function partitionOf({ organisationId, spaceId, poolId }: PoolAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "pool", spaceId, poolId);
}
