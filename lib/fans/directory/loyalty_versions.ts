/**
 * The loyalty configuration of a space with its history. Every change creates a version, a rollback too, so that numbers only
 * count up and a client that holds one can tell whether the configuration has changed since.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { canonicalJson } from "../../http/requests/body.ts";
import { decide, type Results, type Store, type Write } from "../../storage/mod.ts";
import { directoryPartition } from "./records.ts";

/** Most versions of a space that are kept, the current one included; the oldest is dropped first. */
const loyaltyVersionsMax = 50;
export const loyaltyBytesMax = 524_288;

/** A version without its document. */
export interface LoyaltyVersion {
  /** Counts up from 1 within the space; never used again. */
  readonly number: number;
  /** {@linkcode documentDigest} of the document. */
  readonly digest: string;
  /** When it became the current version, in Unix ms. */
  readonly at: number;
  /** Creator: `apiKey:<key>`, `file` or `seed`. */
  readonly by: string;
  /** The version whose document this one restored. */
  readonly rollbackOf?: number;
}

/** A version with its document, as it was written. */
export interface LoyaltyRevision extends LoyaltyVersion {
  readonly document: unknown;
}

interface LoyaltyChange extends Pick<LoyaltyVersion, "by" | "rollbackOf"> {
  readonly document: unknown;
  /**
   * Throws if this version must not be replaced by the document with this digest.
   * @default every version may be replaced
   */
  readonly admit?: (current: LoyaltyVersion | null, digest: string) => void;
}

interface LoyaltyChanged {
  readonly version: LoyaltyVersion;
  /** False where the document equals the current one, which creates no version. */
  readonly isNew: boolean;
  /** True where the space had no version before. */
  readonly isFirst: boolean;
}

/** The versions of the loyalty configurations of all spaces, uncached. */
export interface LoyaltyVersions {
  current(spaceId: string): Promise<LoyaltyRevision | null>;
  /** Returns a version; null where there is none or it is no longer kept. */
  get(spaceId: string, number: number): Promise<LoyaltyRevision | null>;
  /** Lists the versions that are kept, newest first. */
  list(spaceId: string): Promise<readonly LoyaltyVersion[]>;
  /**
   * Makes a document the current version. Of racing changes, `admit` sees each winner before the next. The caller has to compile
   * the document before.
   *
   * @throws {AppError} `payload_too_large` beyond {@linkcode loyaltyBytesMax}; the errors of `admit`.
   */
  put(spaceId: string, change: LoyaltyChange): Promise<LoyaltyChanged>;
}

/** Dependencies of the versions. */
export interface LoyaltyVersionsOptions {
  readonly store: Store;
  readonly clock: Clock;
}

/** The record of the current version; each earlier one has a record of its own. */
export const currentKey = "loyalty";

const reads = [
  { type: "record", key: currentKey },
  // The versions that are kept, oldest first.
  { type: "record", key: "loyalty:versions" },
] as const;
type StoredVersions = Results<typeof reads>;

/** Creates access to the versions that a store holds. */
export function createLoyaltyVersions({ store, clock }: LoyaltyVersionsOptions): LoyaltyVersions {
  return {
    async current(spaceId) {
      const [stored] = await store.read(directoryPartition("space", spaceId), [reads[0]]);
      return stored === null ? null : parseRevision(stored.value);
    },
    async get(spaceId, number) {
      const [current, earlier] = await store.read(directoryPartition("space", spaceId), [
        reads[0],
        { type: "record", key: versionKey(number) },
      ]);
      const newest = current === null ? null : parseRevision(current.value);
      if (newest?.number === number) return newest;
      return earlier === null ? null : parseRevision(earlier.value);
    },
    async list(spaceId) {
      return versionsOf(await store.read(directoryPartition("space", spaceId), reads)).toReversed();
    },
    async put(spaceId, { document, by, rollbackOf, admit }) {
      requireSmall(document);
      const at = clock();
      const digest = documentDigest(document);
      return await decide<typeof reads, LoyaltyChanged>(store, directoryPartition("space", spaceId), {
        reads,
        apply: stored => {
          const current = versionsOf(stored).at(-1) ?? null;
          admit?.(current, digest);
          if (current?.digest === digest) {
            return { writes: [], answer: { version: current, isNew: false, isFirst: false } };
          }
          const number = (current?.number ?? 0) + 1;
          const version = { number, digest, at, by, ...(rollbackOf === undefined ? {} : { rollbackOf }) };
          const writes = writesOf(stored, { ...version, document });
          return { writes, answer: { version, isNew: true, isFirst: current === null } };
        },
      });
    },
  };
}

export function parseRevision(text: string): LoyaltyRevision {
  return JSON.parse(text) as LoyaltyRevision;
}

/**
 * Returns the digest of a JSON document: `sha256:` and the SHA-256 of its canonical form (RFC 8785) in hexadecimal digits.
 * Equal documents have equal digests, whatever their layout and the order of their members.
 */
export function documentDigest(document: unknown): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(canonicalJson(document))))}`;
}

/** Returns the versions oldest first. */
function versionsOf([, list]: StoredVersions): readonly LoyaltyVersion[] {
  return list === null ? [] : (JSON.parse(list.value) as readonly LoyaltyVersion[]);
}

/** Moves the record of the replaced version, unchanged, to a key of its own. */
function writesOf(stored: StoredVersions, next: LoyaltyRevision): Write[] {
  const [current] = stored;
  const versions = [...versionsOf(stored), withoutDocument(next)];
  const dropped = versions.slice(0, -loyaltyVersionsMax);
  const replaced = versions.at(-2);
  return [
    { type: "put", key: currentKey, value: JSON.stringify(next) },
    { type: "put", key: reads[1].key, value: JSON.stringify(versions.slice(-loyaltyVersionsMax)) },
    ...(current === null || replaced === undefined
      ? []
      : [{ type: "put", key: versionKey(replaced.number), value: current.value } as const]),
    ...dropped.map(({ number }) => ({ type: "delete", shape: "record", key: versionKey(number) }) as const),
  ];
}

function versionKey(number: number): string {
  return `loyalty:${number}`;
}

function withoutDocument({ document: _, ...version }: LoyaltyRevision): LoyaltyVersion {
  return version;
}

function requireSmall(document: unknown): void {
  const bytes = new TextEncoder().encode(JSON.stringify(document)).byteLength;
  if (bytes <= loyaltyBytesMax) return;
  const message = `Cannot keep a loyalty configuration of ${bytes} bytes: it must not exceed ${loyaltyBytesMax}`;
  throw new AppError("payload_too_large", message);
}
