/**
 * AES-256-GCM in portable JavaScript, for runtimes without native kernels.
 *
 * AES-CTR and GHASH are those of noble, whose own GCM takes whole messages only. This module feeds them piece by piece and
 * lets other work run between slices. The modules of noble are loaded on first use.
 */

import type { Aes256Gcm, GcmDecryption, GcmEncryption, GcmSecret } from "./kernels.ts";

const blockBytes = 16;
/** Most bytes of one message, because the counter has 32 bits (NIST SP 800-38D, section 5.2.1.1). */
const messageBytesMax = 2 ** 36 - 32;
/** Bytes processed before other work gets a turn, about 3 ms; a multiple of the block. */
const sliceBytes = 131_072;

export const nobleGcm: Aes256Gcm = {
  encrypt: secret => new NobleGcmStream(secret, "output"),
  decrypt: secret => new NobleGcmStream(secret, "input"),
};

interface NobleModules {
  readonly ctr: typeof import("./noble.ts")["ctr"];
  readonly ghash: ReturnType<typeof import("./noble.ts")["ghash"]["create"]>;
  readonly equalBytes: typeof import("./noble.ts")["equalBytes"];
}

class NobleGcmStream implements GcmEncryption, GcmDecryption {
  readonly #key: Uint8Array;
  readonly #iv: Uint8Array;
  /** The side of the cipher that the tag authenticates: the ciphertext. */
  readonly #hashed: "input" | "output";
  readonly #noble: Promise<NobleModules>;
  #position = 0;
  /** Ciphertext of the unfinished block, which GHASH takes only as a whole. */
  readonly #block: Uint8Array = new Uint8Array(blockBytes);

  constructor({ key, iv }: GcmSecret, hashed: "input" | "output") {
    this.#key = Uint8Array.from(key);
    this.#iv = Uint8Array.from(iv);
    this.#hashed = hashed;
    this.#noble = loadNoble(this.#key);
  }

  async update(bytes: Uint8Array): Promise<Uint8Array> {
    if (this.#position + bytes.length > messageBytesMax) {
      throw new RangeError(`Cannot encrypt more than ${messageBytesMax} bytes`);
    }
    const noble = await this.#noble;
    const output = new Uint8Array(bytes.length);
    for (let from = 0; from < bytes.length; from += sliceBytes) {
      if (from > 0) await new Promise(resolve => setTimeout(resolve, 0));
      const input = bytes.subarray(from, from + sliceBytes);
      const slice = this.#applyKeyStream(noble, input);
      output.set(slice, from);
      this.#authenticate(noble, this.#hashed === "input" ? input : slice);
      this.#position += slice.length;
    }
    return output;
  }

  async finish(): Promise<Uint8Array> {
    const { ctr, ghash } = await this.#noble;
    const started = this.#position % blockBytes;
    if (started > 0) ghash.update(this.#block.slice(0, started));
    const lengths = new Uint8Array(blockBytes);
    new DataView(lengths.buffer).setBigUint64(8, BigInt(this.#position) * 8n);
    ghash.update(lengths);
    return ctr(this.#key, counterBlock(this.#iv, -1)).encrypt(ghash.digest());
  }

  async verify(tag: Uint8Array): Promise<boolean> {
    const { equalBytes } = await this.#noble;
    return equalBytes(await this.finish(), Uint8Array.from(tag));
  }

  /** Continues the key stream at the current position, which may be inside a block. */
  #applyKeyStream({ ctr }: NobleModules, input: Uint8Array): Uint8Array {
    const started = this.#position % blockBytes;
    const aligned = new Uint8Array(started + input.length);
    aligned.set(input, started);
    const counter = counterBlock(this.#iv, (this.#position - started) / blockBytes);
    return ctr(this.#key, counter).encrypt(aligned).subarray(started);
  }

  #authenticate({ ghash }: NobleModules, cipher: Uint8Array): void {
    const started = this.#position % blockBytes;
    const missing = started === 0 ? 0 : Math.min(blockBytes - started, cipher.length);
    this.#block.set(cipher.subarray(0, missing), started);
    if (started + missing === blockBytes) ghash.update(Uint8Array.from(this.#block));
    const whole = cipher.length - ((cipher.length - missing) % blockBytes);
    if (whole > missing) ghash.update(cipher.slice(missing, whole));
    if (whole < cipher.length) this.#block.set(cipher.subarray(Math.max(whole, missing)));
  }
}

/** Loads noble and keys its hash with the encrypted zero block. */
async function loadNoble(key: Uint8Array): Promise<NobleModules> {
  const { ctr, ghash, equalBytes } = await import("./noble.ts");
  const zeros = new Uint8Array(blockBytes);
  return { ctr, ghash: ghash.create(ctr(key, zeros).encrypt(zeros), sliceBytes), equalBytes };
}

/** The counter block of a block of the data; the tag is masked by that of block -1. */
function counterBlock(iv: Uint8Array, block: number): Uint8Array {
  const counter = new Uint8Array(blockBytes);
  counter.set(iv);
  new DataView(counter.buffer).setUint32(iv.length, block + 2);
  return counter;
}
