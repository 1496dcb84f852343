/**
 * The key ring: the keys that sign and verify tokens, shared by all processes through the store.
 *
 * Private keys are sealed under the master secret, and public keys are derived from them, so that write
 * access to the store lets nobody sign or plant a key. A process keeps the opened ring in memory. It reads the ring again when a
 * token names an unknown key, and before it signs or publishes with a copy that is a minute old.
 */

import { AppError } from "../../base/errors/mod.ts";
import { retry } from "../../storage/background/mod.ts";
import type { Store, Stored } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import {
  type Clock,
  deriveKeys,
  type Keys,
  type MasterSecret,
  type RandomBytes,
  seal,
  unseal,
} from "../crypto/mod.ts";
import {
  generatePrivateJwk,
  importPair,
  type KeyPair,
  type PublicJwk,
  type SignatureAlgorithm,
  signatureAlgorithms,
  thumbprint,
} from "./jose.ts";

const unknownKeyCooldownMs = 30_000;
const failedReloadCooldownMs = 1_000;
const changeAttemptsMax = 8;

const ringKey = "ring";

export interface KeyRingOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /**
   * Algorithm of new keys. A ring whose newest key has another one rotates when it is opened. @default that of the newest key,
   * or "EdDSA" in a new ring
   */
  readonly algorithm?: SignatureAlgorithm;
  /** Called if the ring cannot be read again; the copy in memory stays in use. @default nothing */
  readonly onReloadFailed?: (error: unknown) => void;
}

/** A key that may verify tokens until `goneAt`, in Unix ms. */
interface RingKey {
  readonly pair: KeyPair;
  readonly goneAt: number;
}

interface KeyRotation {
  readonly kid: string;
  /** Unix ms from which the key signs. */
  readonly activeFrom: number;
}

/** A change of the ring: the keys that stay, and the moment (Unix ms) from which a new key signs, if there is to be one. */
interface RingChange {
  readonly kept: readonly StoredKey[];
  readonly activeFrom?: number;
}

/** A JSON Web Key Set (RFC 7517) of public keys. */
export interface PublicKeySet {
  readonly keys: readonly PublicJwk[];
}

/**
 * Opens the key ring of the store, or creates it: of many processes that start at once, one does.
 *
 * @throws {Error} The ring was sealed under another master secret, or its record is not readable.
 */
export async function createKeyRing(options: KeyRingOptions): Promise<KeyRing> {
  const ring = new KeyRing(options);
  await ring.open();
  return ring;
}

/**
 * Checks a master secret against the key ring of a store, which a first start has yet to create.
 *
 * @throws {Error} The ring was sealed under another master secret, or its record is not readable.
 */
export async function checkMasterSecret(options: KeyRingOptions): Promise<void> {
  await new KeyRing(options).check();
}

interface OpenedKey extends RingKey {
  readonly stored: StoredKey;
}

interface Copy {
  readonly version: string;
  readonly lives: readonly KeyLife[];
  readonly keys: ReadonlyMap<string, OpenedKey>;
}

const emptyCopy: Copy = { version: "", lives: [], keys: new Map() };

/** The keys of a platform. */
export class KeyRing {
  readonly #options: KeyRingOptions;
  readonly #sealingKeys: Keys;
  readonly #partition: string = platformPartition("key_ring");
  #copy: Copy = emptyCopy;
  #readAt = Number.NEGATIVE_INFINITY;
  #reloading: Promise<void> | undefined;
  #failure: { readonly at: number; readonly error: unknown } | undefined;
  #unknownReloadAt = Number.NEGATIVE_INFINITY;

  constructor(options: KeyRingOptions) {
    this.#options = options;
    this.#sealingKeys = deriveKeys(options.secret, "key_ring");
  }

  async open(): Promise<void> {
    await this.#change((lives, now) => {
      const algorithm = this.#algorithmAfter(lives);
      const kept = withoutStrays(lives, algorithm, now);
      if (kept.length === 0) return { kept, activeFrom: now };
      if (kept.at(-1)?.algorithm !== algorithm) return { kept, activeFrom: now + standbyMs };
      return kept.length === lives.length ? undefined : { kept };
    });
  }

  /** Algorithm of new keys. */
  get algorithm(): SignatureAlgorithm {
    return this.#algorithmAfter(this.#copy.lives);
  }

  /** Opens the stored keys, if there are any. */
  async check(): Promise<void> {
    const stored = await this.#read();
    if (stored !== null) await this.#adopt(stored, this.#options.clock());
  }

  /** Returns the pair that signs now, from a copy of the ring that is at most a minute old unless the store is down. */
  async signer(): Promise<KeyPair> {
    await this.#refresh();
    const life = signingLife(this.#copy.lives, this.#options.clock());
    const key = life === undefined ? undefined : this.#copy.keys.get(life.key.kid);
    if (key === undefined) throw new Error("Cannot sign: the key ring has not been opened");
    return key.pair;
  }

  /**
   * Finds a key that is known here and not gone at `now`, in Unix ms, without waiting. A copy that is a minute old is read again
   * meanwhile, as keys may have been revoked.
   */
  find(kid: string, now: number): RingKey | undefined {
    if (now - this.#readAt >= ringAgeMsMax) void this.#reload();
    const key = this.#copy.keys.get(kid);
    return key !== undefined && now < key.goneAt ? key : undefined;
  }

  /**
   * Finds a key, and reads the ring again for an unknown name, once per cool-down for all callers.
   *
   * @throws {AppError} `storage_unavailable`: the ring cannot be read, so it is unknown if the key exists.
   */
  async lookup(kid: string): Promise<RingKey | undefined> {
    const now = this.#options.clock();
    const key = this.find(kid, now);
    if (key !== undefined || now - this.#unknownReloadAt < unknownKeyCooldownMs) return key;
    await this.#reload();
    // A ring that cannot be opened needs an operator; only a store that is down may recover soon.
    if (this.#failure?.error instanceof AppError) throw this.#failure.error;
    this.#unknownReloadAt = now;
    return this.find(kid, now);
  }

  /** Returns the public keys that verifiers must know: standby, active and retired. */
  async jwks(): Promise<PublicKeySet> {
    await this.#refresh();
    const now = this.#options.clock();
    const keys = this.#copy.lives.flatMap(life => this.find(life.key.kid, now)?.pair.publicJwk ?? []);
    return { keys };
  }

  /**
   * Publishes a new key that signs after {@linkcode standbyMs}. While one of the algorithm is waiting already, that one is the
   * answer, so that racing rotations create one key. Waiting keys of another algorithm go.
   *
   * @throws {RangeError} The ring holds {@linkcode ringKeysMax} keys that tokens may still need.
   */
  async rotate(): Promise<KeyRotation> {
    await this.#change((lives, now) => {
      const algorithm = this.#algorithmAfter(lives);
      const kept = withoutStrays(lives, algorithm, now);
      const newest = kept.at(-1);
      const isWaiting = newest !== undefined && newest.activeFrom > now && newest.algorithm === algorithm;
      if (!isWaiting) return { kept, activeFrom: now + standbyMs };
      return kept.length === lives.length ? undefined : { kept };
    });
    const newest = this.#copy.lives.at(-1);
    if (newest === undefined) throw new Error("Cannot rotate: the key ring has not been opened");
    return { kid: newest.key.kid, activeFrom: newest.key.activeFrom };
  }

  /** Reads the ring and lists its keys, in the order in which they sign. */
  async list(): Promise<readonly KeyInfo[]> {
    const readAt = this.#options.clock();
    await this.#adopt(await this.#read(), readAt);
    const { lives } = this.#copy;
    return lives.map(life => keyInfo(life, lives, readAt));
  }

  /**
   * Ends a key that does not sign, with every token that it signed. Other processes know within {@linkcode ringAgeMsMax}. A
   * key that has not started is removed.
   *
   * @throws {AppError} `not_found`: there is no such key; `conflict`: it is the one that signs.
   */
  async revoke(kid: string): Promise<void> {
    await this.#change((lives, now) => {
      const life = lives.find(({ key }) => key.kid === kid);
      if (life === undefined) {
        throw new AppError("not_found", `Cannot revoke the key as the ring has no key ${kid}`);
      }
      if (life === signingLife(lives, now)) {
        throw new AppError(
          "conflict",
          "Cannot revoke the key as it signs: rotate, and wait for the next key to start",
        );
      }
      if (life.key.endedAt !== undefined) return undefined;
      const ended = life.key.activeFrom > now ? [] : [{ ...life.key, endedAt: now }];
      return { kept: lives.flatMap(other => (other === life ? ended : [other.key])) };
    });
  }

  /** Seals the stored keys under the first secret, so that no other is needed to open them. It may be repeated. */
  async sealAnew(): Promise<void> {
    const { store, clock, random } = this.#options;
    const attempt = async (): Promise<true | undefined> => {
      const stored = await this.#read();
      if (stored === null) return true;
      await this.#adopt(stored, clock());
      const keys = decodeRing(stored.value).map(async key => {
        const context = sealContext(key);
        if ((await unseal([this.#sealingKeys[0]], key.sealed, { context })) !== undefined) return key;
        const privateJwk = await unseal(this.#sealingKeys, key.sealed, { context });
        const sealed = await seal(this.#sealingKeys[0], privateJwk ?? "", { context, random });
        return { ...key, sealed };
      });
      const value = encodeRing(await Promise.all(keys));
      if (value === stored.value) return true;
      const commit = await store.commit(this.#partition, {
        checks: [{ key: ringKey, version: stored.version }],
        writes: [{ type: "put", key: ringKey, value }],
      });
      return commit.ok ? true : undefined;
    };
    const exhausted = () => new Error("Cannot seal the key ring anew: other processes keep changing it");
    await retry(attempt, { attemptsMax: changeAttemptsMax, exhausted });
  }

  #algorithmAfter(lives: readonly KeyLife[]): SignatureAlgorithm {
    return this.#options.algorithm ?? lives.at(-1)?.key.algorithm ?? "EdDSA";
  }

  /** Changes the ring against racing processes, and adds a key where `decide` asks for one. Keys that are gone go. */
  async #change(decide: (lives: readonly KeyLife[], now: number) => RingChange | undefined): Promise<void> {
    const { store, clock } = this.#options;
    const minted = new Map<SignatureAlgorithm, string>();
    const attempt = async (): Promise<true | undefined> => {
      const readAt = clock();
      const stored = await this.#read();
      const lives = stored === null ? [] : keyLives(decodeRing(stored.value));
      const algorithm = this.#algorithmAfter(lives);
      const gone = lives.filter(life => keyState(life, lives, readAt) === "gone").map(life => life.key.kid);
      const change = decide(lives, readAt);
      if (change === undefined) {
        await this.#adopt(stored, readAt);
        return true;
      }
      const kept = change.kept.filter(({ kid }) => !gone.includes(kid));
      const keys = [...kept];
      if (change.activeFrom !== undefined) {
        requireRoom(kept);
        const privateJwk = minted.get(algorithm) ?? (await generatePrivateJwk(algorithm));
        minted.set(algorithm, privateJwk);
        keys.push(await this.#sealed(privateJwk, algorithm, change.activeFrom));
      }
      const value = encodeRing(keys);
      const commit = await store.commit(this.#partition, {
        checks: [{ key: ringKey, version: stored?.version ?? null }],
        writes: [{ type: "put", key: ringKey, value }],
      });
      if (!commit.ok) return undefined;
      await this.#adopt({ value, version: commit.version }, readAt);
      return true;
    };
    const message = `Cannot change the key ring: other processes changed it ${changeAttemptsMax} times meanwhile`;
    await retry(attempt, { attemptsMax: changeAttemptsMax, exhausted: () => new Error(message) });
  }

  async #read(): Promise<Stored | null> {
    const [stored] = await this.#options.store.read(this.#partition, [{ type: "record", key: ringKey }]);
    return stored;
  }

  async #sealed(privateJwk: string, algorithm: SignatureAlgorithm, activeFrom: number): Promise<StoredKey> {
    const kid = await thumbprint(privateJwk);
    const context = sealContext({ kid, algorithm, activeFrom });
    const sealed = await seal(this.#sealingKeys[0], privateJwk, { context, random: this.#options.random });
    return { kid, algorithm, activeFrom, sealed };
  }

  /** Reads the ring again if the copy is too old. A failure leaves the copy in use. */
  async #refresh(): Promise<void> {
    if (this.#options.clock() - this.#readAt >= ringAgeMsMax) await this.#reload();
  }

  /** Shares one read among all callers, and pauses after a failed one. */
  async #reload(): Promise<void> {
    const now = this.#options.clock();
    if (this.#failure !== undefined && now - this.#failure.at < failedReloadCooldownMs) return;
    this.#reloading ??= this.#readAgain(now).finally(() => {
      this.#reloading = undefined;
    });
    await this.#reloading;
  }

  async #readAgain(now: number): Promise<void> {
    try {
      await this.#adopt(await this.#read(), now);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = { at: now, error };
      this.#options.onReloadFailed?.(error);
    }
  }

  async #adopt(stored: Stored | null, readAt: number): Promise<void> {
    if (stored === null) throw new Error("Cannot read the key ring: its record has been deleted");
    if (stored.version !== this.#copy.version) {
      const lives = keyLives(decodeRing(stored.value));
      const keys = await Promise.all(lives.map(life => this.#opened(life)));
      this.#copy = { version: stored.version, lives, keys: new Map(keys.map(key => [key.pair.kid, key])) };
    }
    this.#readAt = readAt;
  }

  async #opened({ key, goneAt }: KeyLife): Promise<OpenedKey> {
    const copied = this.#copy.keys.get(key.kid);
    if (copied !== undefined && isSameKey(copied.stored, key)) return { ...copied, goneAt };
    const privateJwk = await unseal(this.#sealingKeys, key.sealed, { context: sealContext(key) });
    if (privateJwk === undefined) {
      throw new Error(
        "Cannot open the key ring: it was sealed under another master secret. Use the secret that sealed it: without it " +
          "no session, session record, API key, client token and password of an export of this store is valid",
      );
    }
    return { stored: key, pair: await importPair(privateJwk, key.algorithm), goneAt };
  }
}

function isSameKey(left: StoredKey, right: StoredKey): boolean {
  return (
    left.sealed === right.sealed && left.activeFrom === right.activeFrom && left.algorithm === right.algorithm
  );
}

/** Binds a sealed key to the members stored with it, so that none of them can be changed in the store. */
function sealContext(key: Omit<StoredKey, "sealed">): readonly string[] {
  return ["key_ring", key.kid, key.algorithm, String(key.activeFrom)];
}

/** The time that clients may cache the key set, in seconds. */
export const jwksAgeSecondsMax = 600;
/** Age in ms at which a process reads the ring again before it signs or publishes. */
export const ringAgeMsMax = 60_000;
/** The longest life of a token, in seconds: 366 days. A retired key is kept as long. */
export const tokenTtlSecondsMax = 31_622_400;
/** The most that the clocks of two processes may differ, in seconds: each that serves requests is at most 30 s off. */
export const clockSkewSecondsMax = 60;
/** The time in ms for which a new key is published before it signs: every cache and process has it by then. */
export const standbyMs: number = jwksAgeSecondsMax * 1_000 + ringAgeMsMax + clockSkewSecondsMax * 1_000;
/** The time in ms for which a retired key verifies: as long as the last token that it signed may live. */
export const retentionMs: number = (tokenTtlSecondsMax + clockSkewSecondsMax) * 1_000 + ringAgeMsMax;
/** Most keys of a ring that are not gone: enough to rotate every month. */
export const ringKeysMax = 16;

interface StoredKey {
  readonly kid: string;
  readonly algorithm: SignatureAlgorithm;
  /** Unix ms from which the key signs. */
  readonly activeFrom: number;
  /** The private JWK, sealed under the master secret and bound to the other members. */
  readonly sealed: string;
  /** Unix ms from which the key verifies nothing, if it was revoked. */
  readonly endedAt?: number;
}

type KeyState = "standby" | "active" | "retired" | "revoked" | "gone";

/** A key with the moments of its end, in Unix ms; infinite while no later key exists. */
interface KeyLife {
  readonly key: StoredKey;
  readonly goneAt: number;
  /** The end of the last token that the key may have signed. Until then a revoked key stays in the ring. */
  readonly keptUntil: number;
}

/** Computes the lives of the keys, in the order in which they sign. */
export function keyLives(keys: readonly StoredKey[]): readonly KeyLife[] {
  const ordered = keys.toSorted((left, right) => left.activeFrom - right.activeFrom);
  return ordered.map((key, index) => {
    const successor = ordered[index + 1];
    const keptUntil = successor === undefined ? Number.POSITIVE_INFINITY : successor.activeFrom + retentionMs;
    return { key, keptUntil, goneAt: Math.min(keptUntil, key.endedAt ?? keptUntil) };
  });
}

/**
 * Finds the key that signs at `now`: the latest that has started and was not revoked. A process whose clock is behind finds
 * none and takes the earliest.
 */
function signingLife(lives: readonly KeyLife[], now: number): KeyLife | undefined {
  const usable = lives.filter(({ key }) => key.endedAt === undefined);
  return usable.findLast(({ key }) => key.activeFrom <= now) ?? usable[0];
}

/** Computes the state of a key of the ring at `now`, in Unix ms. */
export function keyState(life: KeyLife, lives: readonly KeyLife[], now: number): KeyState {
  if (life.keptUntil <= now) return "gone";
  if (life.key.endedAt !== undefined) return "revoked";
  if (life === signingLife(lives, now)) return "active";
  return life.key.activeFrom > now ? "standby" : "retired";
}

/** A key of the ring, for operators. */
export interface KeyInfo {
  readonly kid: string;
  readonly algorithm: SignatureAlgorithm;
  readonly state: KeyState;
  /** Unix ms from which the key signs. */
  readonly activeFrom: number;
  /** Unix ms from which it verifies nothing; null while no later key exists. */
  readonly goneAt: number | null;
}

function keyInfo(life: KeyLife, lives: readonly KeyLife[], now: number): KeyInfo {
  const { kid, algorithm, activeFrom } = life.key;
  const goneAt = life.goneAt === Number.POSITIVE_INFINITY ? null : life.goneAt;
  return { kid, algorithm, state: keyState(life, lives, now), activeFrom, goneAt };
}

/**
 * Returns the keys of a ring without those of another algorithm that wait: their setting was taken back before they signed. One
 * that is about to start stays, as the clock of another process may be ahead. So do all if none has started: the clock is wrong.
 */
function withoutStrays(
  lives: readonly KeyLife[],
  algorithm: SignatureAlgorithm,
  now: number,
): readonly StoredKey[] {
  const keys = lives.map(({ key }) => key);
  if (!keys.some(({ activeFrom }) => activeFrom <= now)) return keys;
  const startedBy = now + clockSkewSecondsMax * 1_000;
  return keys.filter(key => key.algorithm === algorithm || key.activeFrom <= startedBy);
}

/** @throws {RangeError} The ring is full. */
function requireRoom(keys: readonly StoredKey[]): void {
  if (keys.length < ringKeysMax) return;
  throw new RangeError(
    `Cannot rotate: ${keys.length} keys may still be needed, at most ${ringKeysMax} are kept`,
  );
}

function encodeRing(keys: readonly StoredKey[]): string {
  return JSON.stringify({ format: 1, keys });
}

/**
 * Decodes the keys of a stored ring.
 *
 * @throws {Error} The text is not a ring of this format.
 */
export function decodeRing(text: string): readonly StoredKey[] {
  const ring: unknown = JSON.parse(text);
  const keys = isObject(ring) && ring.format === 1 && Array.isArray(ring.keys) ? ring.keys : [];
  if (keys.length === 0 || !keys.every(isStoredKey)) {
    throw new Error("Cannot read the key ring: its record is not of a known format");
  }
  return keys;
}

function isStoredKey(value: unknown): value is StoredKey {
  return (
    isObject(value) &&
    typeof value.kid === "string" &&
    signatureAlgorithms.some(algorithm => algorithm === value.algorithm) &&
    typeof value.activeFrom === "number" &&
    typeof value.sealed === "string" &&
    (value.endedAt === undefined || typeof value.endedAt === "number")
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
