/**
 * The loyalty configuration of a space as a document with a history: each change is a new version, and going back makes
 * one too, so that numbers only ever count up and whoever holds one can tell whether something has changed since.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import { decide, type Results, type Store, type Write } from "../storage/mod.ts";
import { directoryPartition } from "./_partitions.ts";
import { documentDigest } from "./document_digest.ts";
import {
  currentKey,
  type LoyaltyRevision,
  type LoyaltyVersion,
  parseRevision,
  versionKey,
  versionOf,
  versionsKey,
} from "./loyalty_record.ts";

/** Most versions of a space that are kept, the current one included; the oldest is dropped first. */
export const loyaltyVersionsMax = 50;
/** Largest document, in bytes of its JSON. */
export const loyaltyBytesMax = 524_288;

/** A change of a configuration. */
export interface LoyaltyChange {
  readonly document: unknown;
  /** Who makes it: `apiKey:<key>`, `file` or `seed`. */
  readonly by: string;
  /** The version whose document this is, where an earlier one is brought back. */
  readonly rollbackOf?: number;
  /**
   * Throws where the change, whose document has this digest, must not replace this version.
   * @default every version may be replaced
   */
  readonly admit?: (current: LoyaltyVersion | null, digest: string) => void;
}

/** What a change came to. */
export interface LoyaltyChanged {
  /** The version that is now the current one. */
  readonly version: LoyaltyVersion;
  /** Whether it is a new one; a document that is equal to the current one makes none. */
  readonly isNew: boolean;
  /** Whether the space had none before. */
  readonly isFirst: boolean;
}

/** The versions of the loyalty configurations of all spaces. Nothing here is cached. */
export interface LoyaltyVersions {
  current(spaceId: string): Promise<LoyaltyRevision | null>;
  /** The version of this number; null where there is none or it is no longer kept. */
  get(spaceId: string, number: number): Promise<LoyaltyRevision | null>;
  /** The versions that are kept, newest first. */
  list(spaceId: string): Promise<readonly LoyaltyVersion[]>;
  /**
   * Makes a document the current version. Of changes that race for one version, `admit` sees each winner before the next.
   * The document is not checked here: whoever puts it has compiled it.
   *
   * @throws {AppError} `payload_too_large` beyond {@linkcode loyaltyBytesMax}; whatever `admit` throws.
   */
  put(spaceId: string, change: LoyaltyChange): Promise<LoyaltyChanged>;
}

/** What versions need. */
export interface LoyaltyVersionsOptions {
  readonly store: Store;
  readonly clock: Clock;
}

const reads = [
  { type: "record", key: currentKey },
  { type: "record", key: versionsKey },
] as const;
type Kept = Results<typeof reads>;

/** Opens the versions that a store holds. */
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
      const kept = await store.read(directoryPartition("space", spaceId), reads);
      return versionsOf(kept).toReversed();
    },
    async put(spaceId, { document, by, rollbackOf, admit }) {
      requireSmall(document);
      const at = clock();
      const digest = documentDigest(document);
      return await decide<typeof reads, LoyaltyChanged>(store, directoryPartition("space", spaceId), {
        reads,
        apply: kept => {
          const current = versionsOf(kept).at(-1) ?? null;
          admit?.(current, digest);
          if (current?.digest === digest) {
            return { writes: [], answer: { version: current, isNew: false, isFirst: false } };
          }
          const number = (current?.number ?? 0) + 1;
          const version = { number, digest, at, by, ...(rollbackOf === undefined ? {} : { rollbackOf }) };
          const writes = writesOf(kept, { ...version, document });
          return { writes, answer: { version, isNew: true, isFirst: current === null } };
        },
      });
    },
  };
}

/** Oldest first. A space from before versions were kept has its document alone. */
function versionsOf([current, list]: Kept): readonly LoyaltyVersion[] {
  if (list !== null) return JSON.parse(list.value) as readonly LoyaltyVersion[];
  return current === null ? [] : [versionOf(parseRevision(current.value))];
}

/** The record of the version that is replaced moves as it is to a place of its own. */
function writesOf(kept: Kept, next: LoyaltyRevision): Write[] {
  const [current] = kept;
  const versions = [...versionsOf(kept), versionOf(next)];
  const dropped = versions.slice(0, -loyaltyVersionsMax);
  const replaced = versions.at(-2);
  return [
    { type: "put", key: currentKey, value: JSON.stringify(next) },
    { type: "put", key: versionsKey, value: JSON.stringify(versions.slice(-loyaltyVersionsMax)) },
    ...(current === null || replaced === undefined
      ? []
      : [{ type: "put", key: versionKey(replaced.number), value: current.value } as const]),
    ...dropped.map(({ number }) => ({ type: "delete", shape: "record", key: versionKey(number) }) as const),
  ];
}

function requireSmall(document: unknown): void {
  const bytes = new TextEncoder().encode(JSON.stringify(document)).byteLength;
  if (bytes <= loyaltyBytesMax) return;
  const message = `Cannot keep a loyalty configuration of ${bytes} bytes: it must not exceed ${loyaltyBytesMax}`;
  throw new AppError("payload_too_large", message);
}
