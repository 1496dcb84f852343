/**
 * Native functions that portable code replaces only slowly: password hashing and the encryption of exports by `node:crypto`
 * on Node, Bun and Deno.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, passwordKernels: nativeKernels() });
 * ```
 *
 * @module
 */

import { Buffer } from "node:buffer";
import * as crypto from "node:crypto";
import { createCipheriv, createDecipheriv, createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { env } from "node:process";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import type {
  Argon2idCost,
  KdfInput,
  PasswordKernels,
  ScryptCost,
} from "../../lib/auth/passwords/kernels.ts";
import type { Aes256Gcm, ExportKernels } from "../../lib/fans/exports/file/kernels.ts";

/** Threads of libuv's pool unless `UV_THREADPOOL_SIZE` is set. */
const uvThreadsDefault = 4;
const uvThreadsMax = 1_024;

/** `node:crypto.argon2`, which Node has since 24.7. */
type Argon2 = (
  algorithm: "argon2id",
  parameters: {
    readonly message: Uint8Array;
    readonly nonce: Uint8Array;
    readonly tagLength: number;
    readonly memory: number;
    readonly passes: number;
    readonly parallelism: number;
  },
  callback: (error: Error | null, key: Uint8Array) => void,
) => void;

const scryptAsync = promisify<Uint8Array, Uint8Array, number, crypto.ScryptOptions, Uint8Array>(
  crypto.scrypt,
);

/** Returns the native password hashing of this runtime. */
export function nativeKernels(): PasswordKernels {
  const { argon2 } = crypto as { readonly argon2?: Argon2 };
  return {
    scrypt,
    ...(argon2 === undefined ? {} : { argon2id: argon2idOf(argon2) }),
    concurrentMax: concurrentHashes(availableParallelism(), env.UV_THREADPOOL_SIZE),
  };
}

/**
 * Returns the most hashes to run at once. One core stays free for other requests, whose p99 grew 3 to 11 times while logins
 * had both of two cores, and one thread of libuv's pool for files and DNS.
 *
 * @param poolSize The text of `UV_THREADPOOL_SIZE`.
 */
export function concurrentHashes(cores: number, poolSize: string | undefined): number {
  const given = Number.parseInt(poolSize ?? "", 10);
  const threads = given > 0 ? Math.min(given, uvThreadsMax) : uvThreadsDefault;
  return Math.max(1, Math.min(cores - 1, threads - 1));
}

function scrypt({ password, salt, length }: KdfInput, { logN, r, p }: ScryptCost): Promise<Uint8Array> {
  const N = 2 ** logN;
  // OpenSSL counts its buffers too, and refuses more than 32 MiB by default.
  const maxmem = 128 * r * (N + p + 2);
  return scryptAsync(password, salt, length, { N, r, p, maxmem });
}

function argon2idOf(argon2: Argon2): (input: KdfInput, cost: Argon2idCost) => Promise<Uint8Array> {
  return ({ password, salt, length }, { memoryKib, passes, parallelism }) =>
    new Promise((resolve, reject) => {
      const parameters = {
        message: password,
        nonce: salt,
        tagLength: length,
        memory: memoryKib,
        passes,
        parallelism,
      };
      argon2("argon2id", parameters, (error, key) => (error ? reject(error) : resolve(key)));
    });
}

/** Bytes that become text at once; a multiple of three, and small enough for the processor's cache. */
const sliceBytes = 49_152;
const tagOptions = { authTagLength: 16 } as const;

/** Returns the native functions of Node, Bun and Deno for exports. */
export function nativeExportKernels(): Required<ExportKernels> {
  return {
    aes256Gcm: nativeGcm,
    base64: nativeBase64,
    sha256: () => createHash("sha256"),
    nextTurn: () => setImmediate(),
  };
}

const nativeGcm: Aes256Gcm = {
  encrypt({ key, iv }) {
    const cipher = createCipheriv("aes-256-gcm", key, iv, tagOptions);
    return {
      update: plain => cipher.update(plain),
      finish() {
        cipher.final();
        return cipher.getAuthTag();
      },
    };
  },
  decrypt({ key, iv }) {
    const decipher = createDecipheriv("aes-256-gcm", key, iv, tagOptions);
    return {
      update: data => decipher.update(data),
      verify(tag) {
        try {
          decipher.setAuthTag(tag);
          decipher.final();
          return true;
        } catch {
          return false;
        }
      },
    };
  },
};

function nativeBase64(bytes: Uint8Array): Uint8Array {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = Buffer.allocUnsafeSlow(Math.ceil(source.length / 3) * 4);
  let to = 0;
  for (let from = 0; from < source.length; from += sliceBytes) {
    to += text.write(source.toString("base64", from, Math.min(from + sliceBytes, source.length)), to);
  }
  return text;
}
