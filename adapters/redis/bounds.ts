/** Bounds of the Redis adapter, in addition to those of the storage contract. */

/** Longest time in which a call is answered or fails, in ms; once more after the server lacked its script. */
export const answerMsMax = 1_000;
/** Most calls of one store, limiter or queue that may wait for an answer at a time. */
export const pendingCallsMax = 20_000;
/** Longest silence of a server that owes an answer before its connection is given up, in ms. */
export const serverSilenceMsMax = 3_000;
/** Longest pause between two attempts to connect, in ms. */
export const reconnectMsMax = 500;
/** Time in ms after which a client may try again when Redis cannot be used. */
export const redisRetryMs = 1_000;
/** Time in ms for which Redis keeps an expired key: the adapter's clock decides expiry, Redis only collects garbage. */
export const expirySlackMs = 60_000;
