/** Encodings, ids, sealed texts and keyed tags. */

import { expand, extract } from "@noble/hashes/hkdf.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha1 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";

const base32Digits = "abcdefghijklmnopqrstuvwxyz234567";
const encoder = new TextEncoder();
/** Refuses malformed UTF-8 instead of replacing it, so that two inputs never decode to one text. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text);
}

/**
 * Decodes UTF-8.
 *
 * @throws {TypeError} The bytes are not UTF-8.
 */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Encodes bytes in RFC 4648 base32, in lower case without padding. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += base32Digits.charAt((buffer >>> bits) & 31);
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + base32Digits.charAt((buffer << (5 - bits)) & 31);
}

/** Encodes bytes in RFC 4648 base64url, without padding. */
export function base64url(bytes: Uint8Array): string {
  let binary = "";
  // In slices, as a call takes only so many arguments.
  for (let from = 0; from < bytes.length; from += 4_096)
    binary += String.fromCharCode.apply(null, bytes.subarray(from, from + 4_096) as never);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Decodes base64url without padding; undefined for any other text. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

/**
 * Joins texts unambiguously as netstrings: `<UTF-8 length>:<text>,` for every part.
 *
 * @throws {TypeError} A part has a lone surrogate, which UTF-8 cannot carry.
 */
export function netstrings(parts: readonly string[]): Uint8Array {
  let joined = "";
  for (const part of parts) {
    if (!part.isWellFormed()) throw new TypeError("Cannot encode a text with a lone surrogate");
    joined += `${utf8(part).length}:${part},`;
  }
  return utf8(joined);
}

/** Returns the current time in Unix ms. */
export type Clock = () => number;

/** Returns `length` unpredictable bytes. */
export type RandomBytes = (length: number) => Uint8Array;

/** Reads the clock of the machine. */
export function systemClock(): number {
  return Date.now();
}

/** Bytes drawn ahead for short requests, as a call of the generator costs 5 µs on Node for however few bytes. */
const drawn = new Uint8Array(1_024);
let drawnFrom = drawn.length;

/** Reads the cryptographic generator of the runtime, at most 65,536 bytes at once. */
export function systemRandom(length: number): Uint8Array {
  if (length > drawn.length / 8) return crypto.getRandomValues(new Uint8Array(length));
  if (drawnFrom + length > drawn.length) {
    crypto.getRandomValues(drawn);
    drawnFrom = 0;
  }
  const end = drawnFrom + length;
  const bytes = drawn.slice(drawnFrom, end);
  drawn.fill(0, drawnFrom, end);
  drawnFrom = end;
  return bytes;
}

/** 160 bits. */
const capabilityIdBytes = 20;

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Makes a random UUID (RFC 9562, version 4) in lower case. It is an identifier and never a secret. */
export function uuid(random: RandomBytes): string {
  return formatUuid(random(16).slice(), 4);
}

/** Makes the UUID of a name in a namespace (RFC 9562, version 5), in lower case. */
export function uuidOfName(namespace: string, name: string): string {
  const bytes = concatBytes(hexToBytes(namespace.replaceAll("-", "")), utf8(name));
  return formatUuid(sha1(bytes).slice(0, 16), 5);
}

function formatUuid(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytesToHex(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function isUuid(text: string): boolean {
  return text.length === 36 && uuidShape.test(text);
}

/** Makes an unguessable id that serves as a capability: 32 characters of `a-z2-7`, 160 bits. */
export function capabilityId(random: RandomBytes): string {
  return base32(random(capabilityIdBytes));
}

/** Compares two texts or byte strings. The duration depends on their lengths alone. */
export function constantTimeEqual<T extends string | Uint8Array>(left: T, right: T): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= unitAt(left, index) ^ unitAt(right, index);
  return difference === 0;
}

function unitAt(value: string | Uint8Array, index: number): number {
  return typeof value === "string" ? value.charCodeAt(index) : (value[index] ?? 0);
}

const sealedTextBytesMax = 65_536;
const versionPrefix = "v1.";
const nonceBytes = 12;

interface SealContext {
  readonly context: readonly string[];
}

/**
 * Seals a text under a 32-byte key, as `v1.<base64url of nonce, cipher text and tag>`.
 *
 * @throws {RangeError} The text is longer than 65,536 UTF-8 bytes.
 */
export async function seal(
  key: Uint8Array,
  text: string,
  options: SealContext & { readonly random: RandomBytes },
): Promise<string> {
  const plain = utf8(text);
  if (plain.length > sealedTextBytesMax) {
    throw new RangeError(`Cannot seal ${plain.length} bytes, at most ${sealedTextBytesMax} are allowed`);
  }
  const nonce = options.random(nonceBytes);
  const encrypting = await importKey(key, "encrypt");
  const body = await crypto.subtle.encrypt(gcm(nonce, options), encrypting, Uint8Array.from(plain));
  const sealed = new Uint8Array(nonceBytes + body.byteLength);
  sealed.set(nonce);
  sealed.set(new Uint8Array(body), nonceBytes);
  return versionPrefix + base64url(sealed);
}

/** Opens a sealed text; undefined if no key or another context sealed it, or the text was changed. */
export async function unseal(
  keys: readonly Uint8Array[],
  sealed: string,
  options: SealContext,
): Promise<string | undefined> {
  for (const key of keys) {
    const text = await unsealWith(key, sealed, options);
    if (text !== undefined) return text;
  }
  return undefined;
}

async function unsealWith(
  key: Uint8Array,
  sealed: string,
  options: SealContext,
): Promise<string | undefined> {
  if (!sealed.startsWith(versionPrefix)) return undefined;
  const bytes = fromBase64url(sealed.slice(versionPrefix.length));
  if (bytes === undefined || bytes.length <= nonceBytes) return undefined;
  const decrypting = await importKey(key, "decrypt");
  try {
    const algorithm = gcm(bytes.subarray(0, nonceBytes), options);
    const plain = await crypto.subtle.decrypt(algorithm, decrypting, bytes.slice(nonceBytes));
    return fromUtf8(new Uint8Array(plain));
  } catch {
    return undefined;
  }
}

/**
 * Replaces texts that must not be stored readably by their HMAC-SHA-256, 43 characters of base64url.
 *
 * @throws {TypeError} A text has a lone surrogate.
 */
export function keyedTag(key: Uint8Array, parts: readonly string[]): string {
  return base64url(hmac(sha256, key, netstrings(parts)));
}

async function importKey(key: Uint8Array, usage: "encrypt" | "decrypt"): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", Uint8Array.from(key), "AES-GCM", false, [usage]);
}

function gcm(nonce: Uint8Array, { context }: SealContext): AesGcmParams {
  const additionalData = Uint8Array.from(netstrings(["grandstand.seal.v1", ...context]));
  return { name: "AES-GCM", iv: Uint8Array.from(nonce), additionalData };
}

/** In UTF-8 bytes. */
const masterSecretBytesMin = 32;
const masterSecretHexDigitsMin = 64;
const masterSecretVarietyMin = 10;
const derivedKeyBytes = 32;

const extractionSalt = utf8("grandstand.master.v1");
const howToMake = "make one with `openssl rand -base64 48`";

/** The secret that the processes of one deployment share. It cannot be read back, printed or serialised. */
export class MasterSecret {
  readonly #pseudoRandomKey: Uint8Array;
  readonly #others: readonly MasterSecret[];

  /**
   * @param texts Any text of at least 32 bytes: base64, hexadecimal (at least 64 digits) or a long passphrase.
   *   Of several the first seals and signs, and all open and verify.
   * @throws {RangeError} The text is too short or too uniform; the message says how to make a good one.
   */
  constructor(texts: string | readonly string[]) {
    const [text = "", ...others] = [texts].flat();
    this.#others = others.map(each => new MasterSecret(each));
    const bytes = utf8(text);
    if (bytes.length < masterSecretBytesMin) {
      throw new RangeError(
        `The master secret has ${bytes.length} bytes, at least ${masterSecretBytesMin} are needed: ${howToMake}`,
      );
    }
    if (/^[0-9a-f]*$/i.test(text) && text.length < masterSecretHexDigitsMin) {
      throw new RangeError(
        `The master secret has ${text.length} hexadecimal digits, at least ${masterSecretHexDigitsMin} are needed: ${howToMake}`,
      );
    }
    if (new Set(text).size < masterSecretVarietyMin) {
      throw new RangeError(
        `The master secret has fewer than ${masterSecretVarietyMin} different characters: ${howToMake}`,
      );
    }
    this.#pseudoRandomKey = extract(sha256, bytes, extractionSalt);
  }

  /** Secrets that open and verify as well, and neither seal nor sign: those before it, or the next one. */
  get others(): readonly MasterSecret[] {
    return this.#others;
  }

  /** Expands the secret for one `info` (HKDF-Expand). Use {@linkcode deriveKey}, which cannot confuse two infos. */
  expand(info: Uint8Array): Uint8Array {
    return expand(sha256, this.#pseudoRandomKey, info, derivedKeyBytes);
  }
}

/** Generates a master secret as text, with 384 bits of randomness. */
export function generateMasterSecret(random: RandomBytes): string {
  return base64url(random(48));
}

/**
 * Derives the 32-byte key for one purpose and context: the same in every process, and another one for any other split
 * of the same text over the arguments.
 */
export function deriveKey(secret: MasterSecret, purpose: string, ...context: readonly string[]): Uint8Array {
  return secret.expand(netstrings(["grandstand.key.v1", purpose, ...context]));
}

/** Derives the keys of a purpose: the one that seals and signs, then those that only open and verify. */
export function deriveKeys(secret: MasterSecret, purpose: string, ...context: readonly string[]): Keys {
  return [
    deriveKey(secret, purpose, ...context),
    ...secret.others.map(each => deriveKey(each, purpose, ...context)),
  ];
}

/** Keys of one purpose: the one that seals and signs, then those that only open and verify. */
export type Keys = readonly [first: Uint8Array, ...others: Uint8Array[]];

export function isKeyedTag(tag: string, keys: Keys, parts: readonly string[]): boolean {
  return keys.some(key => constantTimeEqual(tag, keyedTag(key, parts)));
}

/** A record with its signature, which covers the other members. */
export interface SignedSessionRecord {
  readonly projectId: string;
  readonly externalId: string;
  readonly userId: string;
  readonly deviceId: string;
  /** Time of issue, Unix seconds. */
  readonly timeStamp: number;
  /** Time of sign-up, Unix seconds. */
  readonly signUp: number;
  readonly signature: string;
}

/** Derives the 32-byte key of a project's records. A back end that has it can verify records, and sign them too. */
export function recordKey(secret: MasterSecret, projectId: string): Uint8Array {
  return deriveKey(secret, "session_record", projectId);
}

/** Derives the keys of a project's records, that which signs first. */
export function recordKeys(secret: MasterSecret, projectId: string): Keys {
  return deriveKeys(secret, "session_record", projectId);
}

/**
 * Signs a record: 64 upper-case hexadecimal digits.
 *
 * @throws {TypeError} A text has a lone surrogate, or a time is not an integer.
 */
export function signRecord(key: Uint8Array, record: Omit<SignedSessionRecord, "signature">): string {
  const { projectId, externalId, userId, deviceId, timeStamp, signUp } = record;
  if (!Number.isSafeInteger(timeStamp) || !Number.isSafeInteger(signUp)) {
    throw new TypeError("Cannot sign a session record whose times are not integers");
  }
  const message = netstrings([
    "grandstand.session_record.v1",
    projectId,
    externalId,
    userId,
    deviceId,
    String(timeStamp),
    String(signUp),
  ]);
  return bytesToHex(hmac(sha256, key, message)).toUpperCase();
}

/** A record as the identity API answers it: the creation of a `noLogin` user names the time of sign-up `signup`. */
type ReceivedSessionRecord = Omit<SignedSessionRecord, "signUp"> & {
  readonly signUp?: number | undefined;
  readonly signup?: number | undefined;
};

/** Verifies the signature of a record of unknown origin, as it was received, in constant time. */
export function verifyRecord(key: Uint8Array, received: ReceivedSessionRecord): boolean {
  const { signup, signUp = signup ?? Number.NaN } = received;
  // A caller may read either member, so both must be the signed time.
  if (signup !== undefined && signup !== signUp) return false;
  const record = { ...received, signUp };
  if (!isRecordShaped(record)) return false;
  return constantTimeEqual(signRecord(key, record), record.signature);
}

function isRecordShaped(record: SignedSessionRecord): boolean {
  const texts: readonly unknown[] = [record.projectId, record.externalId, record.userId, record.deviceId];
  return (
    typeof record.signature === "string" &&
    texts.every(text => typeof text === "string" && text.isWellFormed()) &&
    Number.isSafeInteger(record.timeStamp) &&
    Number.isSafeInteger(record.signUp)
  );
}
