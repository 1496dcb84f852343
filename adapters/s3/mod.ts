/**
 * Blobs in a bucket of any service that speaks the protocol of S3, over the web's own `fetch`.
 *
 * ```ts
 * const blobs = createS3Blobs(parseS3Url("https://key:secret@s3.example.org/bucket?region=eu-1"));
 * ```
 *
 * @module
 */

export { createS3Blobs } from "./blobs.ts";
export * from "./bounds.ts";
export type { After, S3BlobsOptions, S3Bucket } from "./bucket.ts";
export { parseS3Url } from "./s3_url.ts";
