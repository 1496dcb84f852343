/**
 * What the runtime does natively and portable code only slowly: password hashing by `node:crypto` on Node, Bun and Deno.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, passwordKernels: nativeKernels() });
 * ```
 *
 * @module
 */

export { concurrentHashes, nativeKernels, uvThreadsDefault, uvThreadsMax } from "./kernels.ts";
