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
