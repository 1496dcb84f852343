/**
 * Blobs in a bucket of any service that speaks the S3 protocol, through the runtime's own `fetch`.
 *
 * ```ts
 * const blobs = createS3Blobs(parseS3Url("https://key:secret@s3.example.org/bucket?region=eu-1"));
 * ```
 *
 * @module
 */
export { createS3Blobs } from "./blobs.ts";
export { parseS3Url, type S3BlobsOptions, type S3Bucket } from "./requests.ts";
