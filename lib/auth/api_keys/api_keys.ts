/**
 * API keys of organisations, which authenticate trusted back ends.
 *
 * A verified key stays in memory for a few seconds, so that a busy back end costs no round trip per request. Every
 * process sees a revocation or a rotation within that time.
 */

import { AppError } from "../../base/errors/mod.ts";
import { Cache, mapConcurrent } from "../../storage/background/mod.ts";
import { type Decision, decide, type Store, tenantPartition } from "../../storage/mod.ts";
import {
  type Clock,
  constantTimeEqual,
  deriveKeys,
  type MasterSecret,
  type RandomBytes,
} from "../crypto/mod.ts";
import {
  type ApiKeyRecord,
  apiKeyPartition,
  apiKeyRecord,
  apiKeyUse,
  hasLiveSecret,
  isApiKeyId,
  isApiSecret,
  isLiveFor,
  isLiveSecret,
  newApiKeyId,
  newApiSecret,
  type Permission,
  pepperedHash,
  permissions,
  type SecretHash,
  type StoredSecret,
} from "./record.ts";

/** Age in ms at which a key in memory is read again: the longest that a revoked key still works elsewhere. */
const cachedKeyMs = 5_000;
const cachedKeysMax = 10_000;
export const apiKeyNameCharsMax = 100;
/** Default time that the old secret works after a rotation: a day. */
const rotationGraceMs = 86_400_000;

interface ApiKeysOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Hashes secrets for storage; replace it to keep the pepper elsewhere. @default HMAC under a key of the master secret */
  readonly hash?: SecretHash;
}

export interface NewApiKey {
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
  /** For people, 1 to 100 characters. */
  readonly name: string;
}

/** A key with its new secret, which cannot be read again. */
export interface IssuedApiKey {
  /** The value of `X-API-Key`. */
  readonly key: string;
  /** The value of `X-API-Secret`. */
  readonly secret: string;
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
}

/** A key without its secrets. */
export interface ApiKeyInfo {
  /** The value of `X-API-Key`. */
  readonly key: string;
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
  readonly name: string;
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms, up to a minute and a round of background work late; null for a key that was never used. */
  readonly lastUsedAt: number | null;
  /** The live secrets, newest first. */
  readonly secrets: readonly Omit<StoredSecret, "hash">[];
}

/** The caller of a verified key and secret. */
export interface ApiKeyPrincipal {
  /** The value of `X-API-Key`; `user:<user>/<token>` where an admin calls with an access token. */
  readonly keyId: string;
  readonly organisationId: string;
  readonly permissions: readonly Permission[];
}

/** A key of an organisation. Keys of other organisations count as unknown. */
interface ApiKeyReference {
  readonly organisationId: string;
  readonly keyId: string;
}

/** Creates the API keys of a platform. Create one per process, as it caches keys. */
export function createApiKeys(options: ApiKeysOptions): ApiKeys {
  return new ApiKeys(options);
}

interface CachedKey {
  readonly record: ApiKeyRecord;
  readonly principal: ApiKeyPrincipal;
  /** Unix ms. */
  readonly until: number;
  /** The secret that was verified last: to hash it again would cost an eighth of the way of a score over HTTP. */
  readonly seen: GivenSecret | undefined;
}

interface GivenSecret {
  readonly secret: string;
  /** Under the master secret, then under others. */
  readonly hashes: readonly string[];
}

/** Issues, verifies and ends API keys. */
export class ApiKeys {
  readonly #options: ApiKeysOptions;
  readonly #hash: SecretHash;
  readonly #olderHashes: readonly SecretHash[];
  readonly #verified = new Map<string, CachedKey>();
  readonly #uses: ApiKeyUses;

  constructor(options: ApiKeysOptions) {
    this.#options = options;
    this.#uses = new ApiKeyUses(options.store);
    const [pepper, ...older] = deriveKeys(options.secret, "api_key");
    this.#hash = options.hash ?? pepperedHash(pepper);
    this.#olderHashes = older.map(pepperedHash);
  }

  /**
   * Creates a key.
   *
   * @throws {RangeError} No permission or an unknown one, or a name that is empty or too long.
   * @throws {AppError} `conflict`: the organisation has 500 keys.
   */
  async create(key: NewApiKey): Promise<IssuedApiKey> {
    checkNewKey(key);
    const { store, clock, random } = this.#options;
    const keyId = newApiKeyId(random);
    const secret = newApiSecret(random);
    const createdAt = clock();
    const { organisationId, permissions, name } = key;
    const newest = { hash: this.#hash(keyId, secret), createdAt, expireAt: null };
    const record = {
      format: 1,
      keyId,
      organisationId,
      permissions,
      name,
      createdAt,
      secrets: [newest],
    } as const;
    // Indexed first: a crash then leaves an entry without a key, and never a key that no list shows.
    await this.#index(organisationId, keyId);
    const commit = await store.commit(apiKeyPartition(keyId), {
      checks: [{ key: apiKeyRecord, version: null }],
      writes: [{ type: "put", key: apiKeyRecord, value: JSON.stringify(record) }],
    });
    if (!commit.ok) throw new Error("Cannot create an API key: its random name is taken");
    return issued(record, secret);
  }

  /**
   * Authenticates a key and secret, without a promise while the key is in memory.
   *
   * @throws {AppError} `invalid_api_key`, the same for a malformed, unknown, revoked or wrong one.
   */
  verify(key: string, secret: string): ApiKeyPrincipal | Promise<ApiKeyPrincipal> {
    const now = this.#options.clock();
    const cached = this.#verified.get(key);
    const isSeen = cached?.seen !== undefined && constantTimeEqual(cached.seen.secret, secret);
    if (!isSeen && (!isApiKeyId(key) || !isApiSecret(secret))) throw invalidApiKey();
    const given = isSeen ? cached.seen : this.#hashed(key, secret);
    const isFresh = cached !== undefined && now < cached.until;
    if (isFresh && hasLiveSecret(cached.record, given.hashes, now)) {
      this.#uses.note(key, now);
      return cached.principal;
    }
    // An unknown secret may be one that another process has just made.
    return this.#verifyStored(key, given, now);
  }

  /**
   * Tests if the key was not revoked, seen at most 5 s ago, and if what was issued for it (Unix seconds) may be for a secret that
   * works; without a promise while the key is in memory.
   */
  isAlive(token: ApiKeyReference & { readonly issuedAt?: number }): boolean | Promise<boolean> {
    const now = this.#options.clock();
    const cached = this.#verified.get(token.keyId);
    if (cached === undefined || now >= cached.until) return this.#isStored(token, now);
    this.#uses.note(token.keyId, now);
    return isLiveFor(cached.record, token, now);
  }

  /** Lists the keys of an organisation, oldest first. */
  async list(organisationId: string): Promise<readonly ApiKeyInfo[]> {
    const indexed = await indexedKeys(this.#options.store, organisationId);
    const found = await Promise.all(indexed.map(keyId => this.find({ organisationId, keyId })));
    return found.filter(info => info !== null);
  }

  async find({ organisationId, keyId }: ApiKeyReference): Promise<ApiKeyInfo | null> {
    if (!isApiKeyId(keyId)) return null;
    const [stored, use] = await this.#options.store.read(apiKeyPartition(keyId), [
      { type: "record", key: apiKeyRecord },
      { type: "record", key: apiKeyUse },
    ]);
    const record: ApiKeyRecord | null = stored === null ? null : JSON.parse(stored.value);
    if (record === null || record.organisationId !== organisationId) return null;
    return infoOf(record, {
      now: this.#options.clock(),
      lastUsedAt: use === null ? null : Number(use.value),
    });
  }

  /** Writes the last uses that verification only keeps in memory. Call it every few seconds. */
  flushUses(): Promise<void> {
    return this.#uses.flush();
  }

  /**
   * Makes a new secret. The one before it works for another `graceMs`, any older one ends now.
   *
   * @throws {AppError} `not_found`; `conflict` when other processes keep changing the key.
   */
  async rotate(
    reference: ApiKeyReference,
    options: { readonly graceMs?: number } = {},
  ): Promise<IssuedApiKey> {
    const { clock, random } = this.#options;
    const secret = newApiSecret(random);
    const hash = this.#hash(reference.keyId, secret);
    const changed = await this.#change(reference, record => {
      const now = clock();
      const previous = { ...record.secrets[0], expireAt: now + (options.graceMs ?? rotationGraceMs) };
      return { ...record, secrets: [{ hash, createdAt: now, expireAt: null }, previous] };
    });
    return issued(changed, secret);
  }

  /**
   * Ends a key for good.
   *
   * @throws {AppError} `not_found`; `conflict` when other processes keep changing the key.
   */
  async revoke(reference: ApiKeyReference): Promise<void> {
    await this.#change(reference, () => null);
    await removeFromIndex(this.#options.store, reference.organisationId, new Set([reference.keyId]));
  }

  /** Adds a key to the index. A full index first loses the keys that interrupted changes left in it. */
  async #index(organisationId: string, keyId: string): Promise<void> {
    const { store } = this.#options;
    const indexed = await indexedKeys(store, organisationId);
    if (indexed.length >= apiKeysPerOrganisationMax) {
      const alive = new Set((await this.list(organisationId)).map(({ key }) => key));
      await removeFromIndex(store, organisationId, new Set(indexed.filter(id => !alive.has(id))));
    }
    await addToIndex(store, organisationId, keyId);
  }

  async #verifyStored(key: string, given: GivenSecret, now: number): Promise<ApiKeyPrincipal> {
    const record = await this.#read(key);
    const isValid = hasLiveSecret(record, given.hashes, this.#options.clock());
    if (record === null || !isValid) throw invalidApiKey();
    return this.#remember(await this.#hashedAnew(record, given), now, given);
  }

  #hashed(key: string, secret: string): GivenSecret {
    const hashes = [this.#hash, ...this.#olderHashes].map(hash => hash(key, secret));
    return { secret, hashes };
  }

  /** Stores a secret that is hashed under another master secret under the first, as only its holder can show it. */
  async #hashedAnew(
    record: ApiKeyRecord,
    { hashes: [newest = "", ...older] }: GivenSecret,
  ): Promise<ApiKeyRecord> {
    if (!record.secrets.some(({ hash }) => older.includes(hash))) return record;
    return await this.#change(record, before => {
      const anew = (secret: StoredSecret) =>
        older.includes(secret.hash) ? { ...secret, hash: newest } : secret;
      const [first, previous] = before.secrets;
      const secrets =
        previous === undefined ? ([anew(first)] as const) : ([anew(first), anew(previous)] as const);
      return { ...before, secrets };
    });
  }

  async #isStored(token: ApiKeyReference & { readonly issuedAt?: number }, now: number): Promise<boolean> {
    const record = await this.#read(token.keyId);
    if (record === null || !isLiveFor(record, token, now)) return false;
    this.#remember(record, now);
    return true;
  }

  /** Caches keys with a verified secret or token only, so that guesses cannot evict them. */
  #remember(record: ApiKeyRecord, now: number, given?: GivenSecret): ApiKeyPrincipal {
    const { keyId, organisationId } = record;
    const seen = given ?? this.#verified.get(keyId)?.seen;
    const principal = Object.freeze({
      keyId,
      organisationId,
      permissions: Object.freeze(record.permissions),
    });
    this.#uses.note(keyId, now);
    this.#verified.delete(keyId);
    this.#verified.set(keyId, { record, principal, until: now + cachedKeyMs, seen });
    if (this.#verified.size > cachedKeysMax) {
      const [oldest] = this.#verified.keys();
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    return principal;
  }

  async #read(keyId: string): Promise<ApiKeyRecord | null> {
    const [stored] = await this.#options.store.read(apiKeyPartition(keyId), [
      { type: "record", key: apiKeyRecord },
    ]);
    return stored === null ? null : JSON.parse(stored.value);
  }

  /** Replaces the record by the result of `apply`, or deletes it for null; returns the last state. */
  async #change(
    { organisationId, keyId }: ApiKeyReference,
    apply: (record: ApiKeyRecord) => ApiKeyRecord | null,
  ): Promise<ApiKeyRecord> {
    if (!isApiKeyId(keyId)) throw unknownApiKey();
    const change = decide(this.#options.store, apiKeyPartition(keyId), {
      reads: [{ type: "record", key: apiKeyRecord }],
      apply: ([stored]): Decision<ApiKeyRecord> => {
        const record: ApiKeyRecord | null = stored === null ? null : JSON.parse(stored.value);
        if (record === null || record.organisationId !== organisationId) throw unknownApiKey();
        const next = apply(record);
        if (next !== null) {
          return { writes: [{ type: "put", key: apiKeyRecord, value: JSON.stringify(next) }], answer: next };
        }
        const keys = [apiKeyRecord, apiKeyUse];
        return { writes: keys.map(key => ({ type: "delete", shape: "record", key })), answer: record };
      },
    });
    return await change.finally(() => this.#verified.delete(keyId));
  }
}

function unknownApiKey(): AppError {
  return new AppError("not_found", "The organisation has no such API key");
}

function infoOf(
  record: ApiKeyRecord,
  { now, lastUsedAt }: { readonly now: number; readonly lastUsedAt: number | null },
): ApiKeyInfo {
  const { keyId, organisationId, permissions, name, createdAt } = record;
  const live = record.secrets.filter(secret => isLiveSecret(secret, now));
  const secrets = live.map(secret => ({ createdAt: secret.createdAt, expireAt: secret.expireAt }));
  return { key: keyId, organisationId, permissions, name, createdAt, lastUsedAt, secrets };
}

function issued(record: ApiKeyRecord, secret: string): IssuedApiKey {
  const { keyId, organisationId, permissions, name, createdAt } = record;
  return { key: keyId, secret, organisationId, permissions, name, createdAt };
}

function checkNewKey({ permissions: asked, name }: NewApiKey): void {
  if (asked.length === 0 || !asked.every(one => permissions.includes(one))) {
    throw new RangeError("Cannot create an API key without a permission or with an unknown one");
  }
  if (name.length < 1 || name.length > apiKeyNameCharsMax) {
    throw new RangeError(
      `Cannot name an API key with ${name.length} characters, 1 to ${apiKeyNameCharsMax} are allowed`,
    );
  }
}

function invalidApiKey(): AppError {
  return new AppError("invalid_api_key", "The API key or its secret is not valid");
}

export const apiKeysPerOrganisationMax = 500;

const index = { type: "record", key: "index" } as const;

export async function indexedKeys(store: Store, organisationId: string): Promise<readonly string[]> {
  const [stored] = await store.read(indexPartition(organisationId), [index]);
  return stored === null ? [] : JSON.parse(stored.value);
}

/**
 * Adds a key to the index.
 *
 * @throws {AppError} `conflict`: the organisation has the most keys that it may have.
 */
export async function addToIndex(store: Store, organisationId: string, keyId: string): Promise<void> {
  await change(store, organisationId, keyIds => {
    if (keyIds.includes(keyId)) return keyIds;
    if (keyIds.length < apiKeysPerOrganisationMax) return [...keyIds, keyId];
    throw new AppError(
      "conflict",
      `Cannot create an API key: the organisation has ${apiKeysPerOrganisationMax} already, revoke one first`,
    );
  });
}

async function removeFromIndex(
  store: Store,
  organisationId: string,
  removed: ReadonlySet<string>,
): Promise<void> {
  await change(store, organisationId, keyIds => keyIds.filter(keyId => !removed.has(keyId)));
}

async function change(
  store: Store,
  organisationId: string,
  apply: (keyIds: readonly string[]) => readonly string[],
): Promise<void> {
  await decide(store, indexPartition(organisationId), {
    reads: [index],
    idempotent: true,
    apply: ([stored]) => {
      const keyIds: readonly string[] = stored === null ? [] : JSON.parse(stored.value);
      const changed = apply(keyIds);
      if (changed.length === keyIds.length) return { writes: [], answer: undefined };
      return { writes: [{ type: "put", key: index.key, value: JSON.stringify(changed) }], answer: undefined };
    },
  });
}

function indexPartition(organisationId: string): string {
  return tenantPartition({ organisation: organisationId }, "api_keys");
}

/** Least time between two writes of a key's last use, in ms. */
const writeIntervalMs = 60_000;
const notedMax = 10_000;
const concurrentWritesMax = 16;

export class ApiKeyUses {
  readonly #store: Store;
  /** Unix ms by key, still to be written. */
  readonly #noted = new Map<string, number>();
  /** Unix ms of the last write by key. */
  readonly #written = new Cache<number>({ entriesMax: notedMax });
  #flush: Promise<void> | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes that a key was used at a time, Unix ms. Beyond 10,000 waiting keys further ones are left out. */
  note(keyId: string, at: number): void {
    if (this.#noted.size < notedMax || this.#noted.has(keyId)) this.#noted.set(keyId, at);
  }

  /** Writes the uses that are due. Failed writes stay noted, and the first error is thrown. */
  flush(): Promise<void> {
    this.#flush ??= this.#writeDue().finally(() => {
      this.#flush = null;
    });
    return this.#flush;
  }

  async #writeDue(): Promise<void> {
    const due = [...this.#noted].filter(
      ([keyId, at]) => at - (this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY) >= writeIntervalMs,
    );
    const failures: unknown[] = [];
    await mapConcurrent(due, concurrentWritesMax, ([keyId, at]) =>
      this.#write(keyId, at).catch(error => failures.push(error)),
    );
    if (failures.length > 0) throw failures[0];
  }

  async #write(keyId: string, at: number): Promise<void> {
    const partition = apiKeyPartition(keyId);
    const [key, use] = await this.#store.read(partition, [
      { type: "record", key: apiKeyRecord },
      { type: "record", key: apiKeyUse },
    ]);
    const before = use === null ? Number.NEGATIVE_INFINITY : Number(use.value);
    if (key !== null && at - before >= writeIntervalMs) {
      // A failed check is harmless: the key is gone, or another process has written its use.
      await this.#store.commit(partition, {
        checks: [
          { key: apiKeyRecord, version: key.version },
          { key: apiKeyUse, version: use?.version ?? null },
        ],
        writes: [{ type: "put", key: apiKeyUse, value: String(at) }],
      });
      this.#written.set(keyId, at);
    } else if (key !== null) this.#written.set(keyId, before);
    if (this.#noted.get(keyId) === at) this.#noted.delete(keyId);
  }
}
