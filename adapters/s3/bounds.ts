/** Bounds of the S3 adapter. */

/** Longest silence of the service, in ms: until it answers, while it takes up to a part, and between pieces of a body. */
export const s3SilenceMsMax = 30_000;
/** Most attempts of a request that the service does not answer, or answers with 429 or 5xx. */
export const s3AttemptsMax = 4;
/** Longest pause before the second attempt, in ms; each further one is twice as long. */
export const s3FirstPauseMsMax = 200;
/** Bytes of a part. A smaller blob is sent whole; of a larger one, one part at a time is in memory. */
export const partBytes = 8_388_608;
/** Most parts of a blob, by the protocol. */
export const partsMax = 10_000;
/** Time in ms after which a client may try again when the service cannot be used. */
export const s3RetryMs = 1_000;
