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

export { nativeExportKernels } from "./export_kernels.ts";
export { nativeKernels } from "./kernels.ts";
