/**
 * The port through which a runtime brings its native cipher and Base64, where they are faster than what the web's
 * standards offer.
 *
 * @module
 */

/** One encryption by AES-256-GCM (NIST SP 800-38D) without additional data, fed piece by piece. */
export interface GcmEncryption {
  /**
   * The ciphertext of the next bytes, exactly as many. A piece may be any size; the next one is handed over once the
   * ciphertext of this one is there.
   */
  update(plain: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /** The tag over everything, 16 bytes. Nothing may follow. */
  finish(): Uint8Array | Promise<Uint8Array>;
}

/** What an export is encrypted with. */
export interface GcmSecret {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** 12 bytes, used with the key for one file alone. */
  readonly iv: Uint8Array;
}

/** A digest that is fed piece by piece. */
export interface Hashing {
  update(bytes: Uint8Array): unknown;
  digest(): Uint8Array;
}

/** What a runtime has natively for exports. All of it gives the same bytes as the portable code in its place. */
export interface ExportKernels {
  readonly aes256Gcm?: (secret: GcmSecret) => GcmEncryption;
  /** Standard Base64 (RFC 4648, section 4) with padding, as ASCII bytes. */
  readonly base64?: (bytes: Uint8Array) => Uint8Array;
  /** Begins a SHA-256. */
  readonly sha256?: () => Hashing;
  /** Resolves once everything else that waits for its turn has had it; cheaper than a timer. */
  readonly nextTurn?: () => Promise<void>;
}
