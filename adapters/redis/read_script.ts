/**
 * Scripts made to measure for reads: what `commit_script.ts` is for batches.
 *
 * @module
 */
import type { Read } from "../../lib/storage/contract.ts";
import { keyOf } from "./keys.ts";

/** Most queries of a read that gets a script made to measure. */
export const preparedReadsMax = 16;
/** Most fields of a tally in such a read. */
export const preparedFieldsMax = 9;

/** The queries in signs: `r` a record, `t` a tally, a digit for that many fields of a tally. */
export type ReadShape = string;

/** Returns the shape of a read, or undefined if it takes `read.lua`: it is large, or asks for a board or a log. */
export function readShape(queries: readonly Read[]): ReadShape | undefined {
  if (queries.length > preparedReadsMax) return undefined;
  let shape = "";
  for (const query of queries) {
    if (query.type === "record") shape += "r";
    else if (query.type !== "tally") return undefined;
    else if (query.fields === undefined) shape += "t";
    else if (query.fields.length >= 1 && query.fields.length <= preparedFieldsMax)
      shape += query.fields.length;
    else return undefined;
  }
  return shape;
}

/** Returns the keys and arguments of a read for the script of its shape. */
export function readArguments(root: string, queries: readonly Read[]): [string[], string[]] {
  const keys: string[] = [];
  const args: string[] = [];
  for (const query of queries) {
    keys.push(keyOf(root, query.type === "record" ? "r" : "t", query.key));
    if (query.type === "tally" && query.fields !== undefined) args.push(...query.fields);
  }
  return [keys, args];
}

/**
 * Writes the script of a shape, which answers any number of reads.
 *
 * KEYS: per read one for each query. ARGV: [1] the number of reads; per read the fields. Returns: per read and query what
 * `read.lua` answers.
 */
export function writeReadScript(shape: ReadShape): string {
  const records = [...shape].flatMap((sign, index) => (sign === "r" ? [`keys[k + ${index + 1}]`] : []));
  let [record, field] = [0, 0];
  const answers = [...shape].map((sign, index) => {
    const key = `keys[k + ${index + 1}]`;
    if (sign === "r") return `records[${++record}]`;
    if (sign === "t") return `call('HGETALL', ${key})`;
    const fields = Array.from({ length: Number(sign) }, () => `args[a + ${++field}]`);
    return `call('HMGET', ${key}, ${fields.join(", ")})`;
  });
  const read = records.length === 0 ? [] : [`local records = call('MGET', ${records.join(", ")})`];
  return [
    "local call, keys, args, answers = redis.call, KEYS, ARGV, {}",
    "for n = 0, args[1] - 1 do",
    `local k, a = ${shape.length} * n, ${field} * n + 1`,
    ...read,
    `answers[n + 1] = { ${answers.join(", ")} }`,
    "end",
    "return answers",
  ].join("\n");
}
