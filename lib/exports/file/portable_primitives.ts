/** The choice of the primitives that need nothing but the standards. */

import { noblePrimitives } from "./noble_primitives.ts";
import type { Primitives } from "./primitives.ts";
import { webPrimitives } from "./web_primitives.ts";

const standard: SubtleCrypto | undefined = globalThis.crypto?.subtle;
const webOfRuntime = standard === undefined ? null : webPrimitives(standard);

/**
 * WebCrypto's, or noble's where there is none: in pages that were not loaded over TLS.
 *
 * @param web Those of the runtime's WebCrypto, or null.
 */
export function primitives(web: Primitives | null = webOfRuntime): Primitives {
  return web ?? noblePrimitives;
}
