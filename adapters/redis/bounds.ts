/** Bounds of the Redis adapter, beside those of the storage contract. */

/** Longest time in which a call is answered or fails, in ms. */
export const answerMsMax = 1_000;
/** Most calls of one store, limiter or queue that may wait for an answer at a time. */
export const pendingCallsMax = 20_000;
/** Longest silence of a server that owes an answer before its connection is given up, in ms. */
export const silenceMsMax = 3_000;
/** Longest pause between two attempts to connect, in ms. */
export const reconnectMsMax = 500;
/** After how many ms a client may try again when Redis cannot be used. */
export const retryAfterMs = 1_000;
/** How long Redis keeps an expired key, in ms: expiry is decided by the adapter's clock, Redis only clears away. */
export const expirySlackMs = 60_000;
/** Bytes of a chunk of a blob: large enough for few commands, small enough that none holds up others. */
export const blobChunkBytes = 262_144;
/** Most chunks of a blob that are on their way to the server at a time. */
export const blobChunksInFlightMax = 4;
/** For how long the server keeps what has arrived of a blob when no more arrives, in ms. */
export const blobUploadMsMax = 3_600_000;
/** For how long those who are reading a blob when it is replaced can go on, in ms. */
export const blobReplacedMsMax = 600_000;
/** Most attempts to put a blob in place, or to remove it, while others do. */
export const blobAttemptsMax = 64;
/** About how many keys the server visits at a time where partitions are listed. */
export const scanKeysMax = 1_000;
