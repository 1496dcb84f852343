/** The port through which a runtime brings its native cipher, Base64 and SHA-256, which are faster than portable code. */

/** The key material of one encrypted file. */
export interface GcmSecret {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** 12 bytes, used with the key for one file only. */
  readonly iv: Uint8Array;
}

/** One encryption by AES-256-GCM (NIST SP 800-38D) without additional data, fed piece by piece. */
export interface GcmEncryption {
  /** Encrypts the next bytes into as many. Wait for the result before the next call. */
  update(plain: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** Returns the tag of all bytes, 16 bytes. Nothing may follow. */
  finish(): Uint8Array | Promise<Uint8Array>;
}

/** One decryption by AES-256-GCM, fed piece by piece. Its output is not authenticated until `verify` returns true. */
export interface GcmDecryption {
  /** Decrypts the next bytes into as many. Wait for the result before the next call. */
  update(cipher: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** Returns true if the 16 bytes are the tag of all bytes. Nothing may follow. */
  verify(tag: Uint8Array): boolean | Promise<boolean>;
}

/** An implementation of AES-256-GCM. All of them produce the same bytes. */
export interface Aes256Gcm {
  encrypt(secret: GcmSecret): GcmEncryption;
  decrypt(secret: GcmSecret): GcmDecryption;
}

/** A hash that is fed piece by piece. */
export interface Hash {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

/** Native functions for exports. Portable code that produces the same bytes replaces each one that is missing. */
export interface ExportKernels {
  readonly aes256Gcm?: Aes256Gcm;
  /** Encodes standard Base64 (RFC 4648, section 4) with padding, as ASCII bytes. */
  readonly base64?: (bytes: Uint8Array) => Uint8Array;
  readonly sha256?: () => Hash;
  /** Resolves after all other work that is ready has run; cheaper than a timer. */
  readonly nextTurn?: () => Promise<void>;
}
