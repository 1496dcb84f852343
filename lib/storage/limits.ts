/**
 * Bounds of the storage contract and its side ports. Every adapter refuses larger arguments with a `RangeError` before any
 * effect.
 */
export const storageLimits = {
  /** Longest partition name, in UTF-8 bytes. */
  partitionBytesMax: 512,
  /** Longest key, tally field or board member, in UTF-8 bytes; the shortest is one byte. */
  nameBytesMax: 512,
  /** Largest record or log entry, in UTF-8 bytes. */
  valueBytesMax: 1_048_576,
  /** Most queries in one `read`. */
  readsMax: 512,
  /** Most entries that one board or log query may ask for. */
  rangeLimitMax: 1_000,
  /** Most checks in one `commit`. */
  checksMax: 200,
  /** Most writes in one `commit`. */
  writesMax: 1_000,
  /** Most bytes of values in one `commit`. */
  commitBytesMax: 8_388_608,
  /** Most fields that a tally may hold. */
  tallyFieldsMax: 10_000,
  /** Largest `maxLength` of a log. */
  logLengthMax: 100_000,
  /** Largest tie stamp: 13 decimal digits, which as Unix milliseconds lasts until the year 2286. */
  tieMax: 9_999_999_999_999,
  /** Most rules that one `take` of a limiter may spend. */
  limitRulesMax: 16,
  /** Most messages in one `push`, `take` or `ack` of a queue. */
  queueBatchMax: 1_000,
  /** Longest lease of a message, in ms. */
  leaseMsMax: 86_400_000,
  /** Longest name of a blob, in characters. */
  blobNameCharactersMax: 256,
} as const;
