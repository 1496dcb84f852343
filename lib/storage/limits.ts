/** Bounds of the storage contract. Both adapters refuse what exceeds them with a `RangeError`, before any effect. */

/** Longest partition name, in UTF-8 bytes. */
export const partitionBytesMax = 512;
/** Longest key, tally field or board member, in UTF-8 bytes; the shortest is one byte. */
export const nameBytesMax = 512;
/** Largest record or log entry, in UTF-8 bytes. */
export const valueBytesMax = 1_048_576;
/** Most queries in one `read`. */
export const readsMax = 512;
/** Most entries that one board or log query may ask for. */
export const rangeLimitMax = 1_000;
/** Most checks in one `commit`. */
export const checksMax = 200;
/** Most writes in one `commit`. */
export const writesMax = 1_000;
/** Most bytes of values in one `commit`. */
export const commitBytesMax = 8_388_608;
/** Most fields that a tally may hold. */
export const tallyFieldsMax = 10_000;
/** Largest `maxLength` of a log. */
export const logLengthMax = 100_000;
/** Largest tie stamp: 13 decimal digits, which as Unix milliseconds lasts until the year 2286. */
export const tieMax = 9_999_999_999_999;

/** Most rules that one `take` of a limiter may spend. */
export const limitRulesMax = 16;
/** Most messages in one `push`, `take` or `ack` of a queue. */
export const queueBatchMax = 1_000;
/** Longest lease of a message, in ms. */
export const leaseMsMax = 86_400_000;
/** Longest name of a blob, in characters. */
export const blobNameCharactersMax = 256;
