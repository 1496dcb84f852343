/** Everything by WebCrypto, whose work is off the event loop. */

import type { Primitives } from "./primitives.ts";
import { webCtr, webGcm } from "./web_cipher.ts";

/** The primitives over a runtime's WebCrypto. */
export function webPrimitives(subtle: SubtleCrypto): Primitives {
  return {
    gcm: secret => webGcm(subtle, secret),
    async ctr(key, counter, bytes) {
      const imported = await subtle.importKey("raw", Uint8Array.from(key), "AES-CTR", false, ["encrypt"]);
      return await webCtr(subtle, imported, { counter, bytes });
    },
    async pbkdf2(password, salt, iterations) {
      const material = await subtle.importKey("raw", Uint8Array.from(password), "PBKDF2", false, [
        "deriveBits",
      ]);
      const algorithm = { name: "PBKDF2", hash: "SHA-256", salt: Uint8Array.from(salt), iterations };
      return new Uint8Array(await subtle.deriveBits(algorithm, material, 256));
    },
  };
}
