/**
 * Functions on text and numbers: UTF-8 order and length, shards by name, members of JSON objects, rows of CSV, decimal sums, the
 * nearest of several words.
 *
 * @module
 */
export { type Cell, cellText, parseCsvRow, RecordSplitter, recordCharactersMax } from "./csv.ts";
export { addBounded, addDecimals, roundDecimal } from "./decimals.ts";
export { JsonMembers } from "./json_members.ts";
export { canonicalEmail, flattenString, isLoopback, shardOf } from "./strings.ts";
export { suggestion } from "./suggest.ts";
export { bytesPerUnitMax, compareUtf8, utf8Length } from "./utf8.ts";
