/**
 * Pools of codes, each of which is handed out once.
 *
 * A board numbers the codes of a pool in the order in which they were added. A claim advances the pool's record to the next number
 * and stores the number; the code is looked up afterwards. All claims check that one record, so many of them share a commit. Codes
 * keep their numbers, so a code that was ever added is known for good. Returned numbers are handed out before new ones.
 *
 * Codes compare without case: boards have them in upper case, and the spelling is kept where it differs. A code belongs to the pool
 * of the space that had it first.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import {
  decide,
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
} from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import type { LoyaltyServices } from "../services.ts";

export const codesAddedMax = 10_000;
const codesPerCommitMax = 400;
const poolCodesMax = 1_000_000;
/** Most returned codes of a pool; further ones stay unused. */
const codesReturnedMax = 1_000;
const lowShare = 0.1;
const codeErrorsMax = 100;
export const poolCodeCharactersMax = 128;

/** Returns true for printable ASCII without a space at either end. */
function isCode(text: string): boolean {
  return text.length <= poolCodeCharactersMax && /^[!-~](?:[ -~]*[!-~])?$/.test(text);
}

export interface PoolAddress {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly poolId: string;
}

interface PoolRecord {
  /** Number of codes that were added: all numbers are below it. */
  readonly total: number;
  /** The number of the code that is handed out next. */
  readonly next: number;
  readonly redeemed: number;
  /** Numbers below `next` that were returned. */
  readonly returned?: readonly number[];
}

interface CodeClaim {
  readonly number: number;
  /** Unix ms, exclusive; null: never. */
  readonly expiresAt: number | null;
}

/** The record of a code that was handed out. It names nobody. */
interface IssuedCode {
  /** Unix ms, exclusive; null: never. */
  readonly expiresAt: number | null;
  readonly isRevoked?: true;
  /** Unix ms. */
  readonly redeemedAt?: number;
  /** The request that redeemed it, where that had a key. */
  readonly requestId?: string | null;
}

/** A code in upper case, with its spelling. */
type SpeltCode = readonly [member: string, spelling: string];

export interface PoolCode {
  readonly code: string;
  /** Unix ms, exclusive; null: never. */
  readonly expiresAt: number | null;
}

export interface PoolFill {
  /** Number of codes that were ever added. */
  readonly total: number;
  /** Number of codes that can be handed out. */
  readonly available: number;
}

export interface CodePoolServices extends Pick<LoyaltyServices, "store" | "clock"> {
  /** Is called when a tenth of a pool's codes or less is left, as often as a code is asked for. */
  readonly onLow: (pool: PoolAddress, fill: PoolFill) => void;
}

const none: PoolRecord = { total: 0, next: 0, redeemed: 0 };
const poolRead = { type: "record", key: "pool" } as const satisfies ReadRecord;
const codesKey = "codes";
/** The pools that have codes, by their scores on the board of all codes of a space. */
const ownersRead = { type: "record", key: "pools" } as const satisfies ReadRecord;

/** The pools of all spaces: they add, hand out and redeem codes. */
export type CodePools = ReturnType<typeof createCodePools>;

export function createCodePools({ store, clock, onLow }: CodePoolServices) {
  function reportLow(pool: PoolAddress, { total, available }: PoolFill): void {
    if (available <= total * lowShare) onLow(pool, { total, available });
  }

  return {
    /**
     * Adds codes. Those that a pool of the space had already, in whatever case, or that are named twice, count as duplicates, so the
     * same codes may be added again after a failure.
     *
     * @throws {AppError} `validation_failed`: too many, or texts that are no codes. `conflict`: more than 1,000,000 in the pool.
     */
    async add(pool: PoolAddress, codes: readonly string[]) {
      requireCodes(codes);
      const different = withoutRepetitions(codes);
      let added = 0;
      for (let start = 0; start < different.length; start += codesPerCommitMax) {
        added += await addBatch(store, pool, different.slice(start, start + codesPerCommitMax));
      }
      return { added, duplicates: codes.length - added };
    },
    /**
     * Hands out the next code, the same one for the same grant; null where the pool is exhausted.
     *
     * @param expiresAt Unix ms from which the code cannot be redeemed; null: never. The first claim of a grant decides.
     */
    async claim(pool: PoolAddress, grantId: string, expiresAt: number | null): Promise<PoolCode | null> {
      const partition = partitionOf(pool);
      const { claimed, left } = await decide(store, partition, claimRule(grantId, expiresAt));
      if (left !== null) reportLow(pool, left);
      if (claimed === null) return null;
      return { code: await codeOf(store, partition, claimed.number), expiresAt: claimed.expiresAt };
    },
    /** Tests if there is a code to hand out. */
    async hasCode(pool: PoolAddress): Promise<boolean> {
      const left = fill(await readPool(store, pool));
      reportLow(pool, left);
      return left.available > 0;
    },
    /** Returns the code of a grant that no user has seen, for the next grant. */
    release: async (pool: PoolAddress, grantId: string): Promise<void> =>
      await decide(store, partitionOf(pool), releaseRule(grantId)),
    /** Makes the code of a grant worthless, unless it was redeemed. */
    async revoke(pool: PoolAddress, grantId: string): Promise<void> {
      const partition = partitionOf(pool);
      const [claim] = await store.read(partition, [readClaim(grantId)]);
      if (claim !== null) await decide(store, partition, revokeRule(parseClaim(claim).number));
    },
    /**
     * Marks a code as redeemed, once. A repetition with the same `requestId` gets the same answer.
     *
     * @throws {AppError} `not_found`: the pool has no such code. `code_not_issued`, `code_used`, `code_revoked`, `code_expired`.
     */
    async redeem(pool: PoolAddress, code: string, requestId: string | null = null): Promise<RedeemedCode> {
      const partition = partitionOf(pool);
      const [member] = spelt(code);
      if (!isCode(member)) throw unknownCode();
      const [standing] = await store.read(partition, [{ type: "standing", key: codesKey, member }]);
      if (standing === null) throw unknownCode();
      return await decide(store, partition, redeemRule([standing.score, member], { at: clock(), requestId }));
    },
    /** Counts the codes of a pool: all, those not handed out yet, those handed out and not redeemed, and those redeemed. */
    async stats(pool: PoolAddress) {
      const record = await readPool(store, pool);
      const { redeemed } = record;
      const { total, available } = fill(record);
      return { total, available, allocated: total - available - redeemed, redeemed };
    },
  };
}

async function readPool(store: Store, pool: PoolAddress): Promise<PoolRecord> {
  const [stored] = await store.read(partitionOf(pool), [poolRead]);
  return poolOf(stored);
}

export interface RedeemedCode {
  readonly code: string;
  /** Unix ms. */
  readonly redeemedAt: number;
}

/** Adds codes of one commit. The space's board of all codes comes first: what it alone has can be added again to the same pool. */
async function addBatch(store: Store, pool: PoolAddress, codes: readonly SpeltCode[]): Promise<number> {
  const partition = partitionOf(pool);
  const results = await store.read(partition, [poolRead, ...standingsOf(codes)]);
  const [stored, ...places] = results as unknown as [Stored | null, ...(Standing | null)[]];
  const fresh = freshCodes(poolOf(stored), codes, places);
  if (fresh.length === 0) return 0;
  const own = await decide(store, ownersPartition(pool), ownRule(pool.poolId, fresh));
  return await decide(store, partition, addRule(own));
}

/** Enters codes that no pool of the space has, and returns those that belong to the pool. */
function ownRule(poolId: string, codes: readonly SpeltCode[]): Rule<readonly Read[], readonly SpeltCode[]> {
  return {
    reads: [ownersRead, ...standingsOf(codes)],
    idempotent: true,
    apply: results => {
      const [stored, ...places] = results as [Stored | null, ...(Standing | null)[]];
      const owners = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
      const known = owners.includes(poolId) ? owners : [...owners, poolId];
      const score = known.indexOf(poolId);
      const fresh = codes.filter((_, index) => places[index] === null);
      const own = codes.filter((_, index) => (places[index]?.score ?? score) === score);
      if (fresh.length === 0) return { writes: [], answer: own };
      const scores = fresh.map(
        ([member]): Write => ({ type: "score", op: "set", key: codesKey, member, score }),
      );
      // The record changes with the board, which a commit cannot check.
      return {
        writes: [{ type: "put", key: ownersRead.key, value: JSON.stringify(known) }, ...scores],
        answer: own,
      };
    },
  };
}

function addRule(codes: readonly SpeltCode[]): Rule<readonly Read[], number> {
  return {
    reads: [poolRead, ...standingsOf(codes)],
    apply: results => {
      const [stored, ...places] = results as [Stored | null, ...(Standing | null)[]];
      const pool = poolOf(stored);
      const fresh = freshCodes(pool, codes, places);
      if (fresh.length === 0) return { writes: [], answer: 0 };
      const writes = fresh.flatMap(([member, spelling], index): Write[] => {
        const number = pool.total + index;
        const score: Write = { type: "score", op: "set", key: codesKey, member, score: number };
        if (spelling === member) return [score];
        return [score, { type: "put", key: readSpelling(number).key, value: spelling }];
      });
      return {
        writes: [putPool({ ...pool, total: pool.total + fresh.length }), ...writes],
        answer: fresh.length,
      };
    },
  };
}

/**
 * Returns the codes that a pool does not have.
 *
 * @throws {AppError} `conflict`: the pool has no room for them.
 */
function freshCodes(
  { total }: PoolRecord,
  codes: readonly SpeltCode[],
  places: readonly (Standing | null)[],
): readonly SpeltCode[] {
  const fresh = codes.filter((_, index) => places[index] === null);
  if (total + fresh.length <= poolCodesMax) return fresh;
  throw new AppError("conflict", `Cannot add the codes as a pool holds at most ${poolCodesMax}`);
}

/** The answer to a claim: the code's number, and the fill of the pool where the claim was the first of its grant. */
interface ClaimAnswer {
  readonly claimed: CodeClaim | null;
  readonly left: PoolFill | null;
}

function claimRule(
  grantId: string,
  expiresAt: number | null,
): Rule<readonly [ReadRecord, ReadRecord], ClaimAnswer> {
  const read = readClaim(grantId);
  return {
    reads: [poolRead, read],
    idempotent: true,
    apply: ([stored, claim]) => {
      if (claim !== null) return { writes: [], answer: { claimed: parseClaim(claim), left: null } };
      const pool = poolOf(stored);
      const [again, ...returned] = pool.returned ?? [];
      const number = again ?? pool.next;
      if (number >= pool.total) return { writes: [], answer: { claimed: null, left: fill(pool) } };
      const after = again === undefined ? { ...pool, next: number + 1 } : { ...pool, returned };
      const claimed: CodeClaim = { number, expiresAt };
      return {
        writes: [
          putPool(after),
          { type: "put", key: read.key, value: JSON.stringify(claimed) },
          putIssued(number, { expiresAt }),
        ],
        answer: { claimed, left: fill(after) },
      };
    },
  };
}

function releaseRule(grantId: string): Rule<readonly [ReadRecord, ReadRecord], void> {
  const read = readClaim(grantId);
  return {
    reads: [poolRead, read],
    idempotent: true,
    apply: ([stored, claim]) => {
      const pool = poolOf(stored);
      const { returned = [] } = pool;
      if (claim === null || returned.length >= codesReturnedMax) return { writes: [], answer: undefined };
      const { number } = parseClaim(claim);
      return {
        writes: [
          putPool({ ...pool, returned: [...returned, number] }),
          { type: "delete", shape: "record", key: read.key },
          { type: "delete", shape: "record", key: readIssued(number).key },
        ],
        answer: undefined,
      };
    },
  };
}

function revokeRule(number: number): Rule<readonly [ReadRecord], void> {
  return {
    reads: [readIssued(number)],
    idempotent: true,
    apply: ([stored]) => {
      const issued = issuedOf(stored);
      const isOpen = issued !== null && issued.redeemedAt === undefined;
      return { writes: isOpen ? [putIssued(number, { ...issued, isRevoked: true })] : [], answer: undefined };
    },
  };
}

function redeemRule(
  [number, member]: readonly [number: number, member: string],
  { at, requestId }: { readonly at: number; readonly requestId: string | null },
): Rule<readonly [ReadRecord, ReadRecord, ReadRecord], RedeemedCode> {
  return {
    reads: [poolRead, readIssued(number), readSpelling(number)],
    idempotent: requestId !== null,
    apply: ([stored, issuedRecord, spelling]) => {
      const code = spelling?.value ?? member;
      const issued = issuedOf(issuedRecord);
      if (issued === null) {
        throw new AppError("code_not_issued", "Cannot redeem the code as it was not handed out to anybody");
      }
      const { redeemedAt } = issued;
      if (redeemedAt !== undefined && requestId !== null && issued.requestId === requestId) {
        return { writes: [], answer: { code, redeemedAt } };
      }
      requireRedeemable(issued, at);
      const pool = poolOf(stored);
      return {
        writes: [
          putPool({ ...pool, redeemed: pool.redeemed + 1 }),
          putIssued(number, { ...issued, redeemedAt: at, requestId }),
        ],
        answer: { code, redeemedAt: at },
      };
    },
  };
}

/** Refuses a code that was redeemed, revoked or has expired, in this order. */
function requireRedeemable({ redeemedAt, isRevoked, expiresAt }: IssuedCode, now: number): void {
  if (redeemedAt !== undefined) {
    const time = isoTime(redeemedAt);
    throw new AppError("code_used", `Cannot redeem the code as it was redeemed at ${time}`, {
      details: { redeemedAt: time },
    });
  }
  if (isRevoked === true) {
    throw new AppError("code_revoked", "Cannot redeem the code as its coupon was refunded");
  }
  if (expiresAt !== null && expiresAt <= now) {
    const time = isoTime(expiresAt);
    throw new AppError("code_expired", `Cannot redeem the code as its coupon expired at ${time}`, {
      details: { expiredAt: time },
    });
  }
}

/** Names the claim of a grant. Ids of grants name users, who may be removed, so that only a digest is kept. */
function readClaim(grantId: string): ReadRecord {
  const digest = bytesToHex(sha256(utf8ToBytes(grantId)).subarray(0, 16));
  return { type: "record", key: keyName("claim", digest) };
}

function readIssued(number: number): ReadRecord {
  return { type: "record", key: keyName("issued", String(number)) };
}

function readSpelling(number: number): ReadRecord {
  return { type: "record", key: keyName("spelling", String(number)) };
}

function standingsOf(codes: readonly SpeltCode[]): readonly ReadStanding[] {
  return codes.map(([member]) => ({ type: "standing", key: codesKey, member }));
}

/** Spells codes in their order, each once and as it comes first. */
function withoutRepetitions(codes: readonly string[]): readonly SpeltCode[] {
  const spellings = new Map<string, string>();
  for (const [member, spelling] of codes.map(spelt)) {
    if (!spellings.has(member)) spellings.set(member, spelling);
  }
  return [...spellings];
}

/** Returns a code as boards have it, with its spelling. */
function spelt(code: string): SpeltCode {
  const spelling = code.trim();
  return [spelling.toUpperCase(), spelling];
}

function parseClaim({ value }: Stored): CodeClaim {
  return JSON.parse(value) as CodeClaim;
}

function issuedOf(stored: Stored | null): IssuedCode | null {
  return stored === null ? null : (JSON.parse(stored.value) as IssuedCode);
}

function putIssued(number: number, issued: IssuedCode): Write {
  return { type: "put", key: readIssued(number).key, value: JSON.stringify(issued) };
}

function fill({ total, next, returned = [] }: PoolRecord): PoolFill {
  return { total, available: total - next + returned.length };
}

async function codeOf(store: Store, partition: Partition, number: number): Promise<string> {
  const [{ entries }, spelling] = await store.read(partition, [
    { type: "board", key: codesKey, min: number, max: number, limit: 1 },
    readSpelling(number),
  ]);
  const [entry] = entries;
  if (entry === undefined) throw new AppError("internal_error", `Cannot find the code number ${number}`);
  return spelling?.value ?? entry.member;
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

/** Names the partition of all codes of a space, which says whose they are. */
function ownersPartition({ organisationId, spaceId }: PoolAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "codes", spaceId);
}
