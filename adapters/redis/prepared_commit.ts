import type { Add, Batch, Check, Put, Write } from "../../lib/storage/contract.ts";
import type { CommitShape } from "./commit_script.ts";
import { keyOf } from "./keys.ts";
import { encodeCheck, encodeRecord, msUntilCleared } from "./stored.ts";

/** Most checks, and most writes, of a batch that gets a script made to measure. */
export const preparedWritesMax = 16;

const kinds = { record: "r", tally: "t", log: "l", board: "b" } as const;

/** What the translation of a batch depends on besides the batch. */
export interface CommitContext {
  /** What all keys of the partition begin with. */
  readonly root: string;
  /** Unix ms. */
  readonly now: number;
  /** The version of every record that the batch puts. */
  readonly version: string;
}

/** The shape of a batch, or undefined where it takes `commit.lua`: it is large, has scores, or guards on one tally twice. */
export function commitShape({ checks = [], writes }: Batch, now: number): CommitShape | undefined {
  if (writes.length > preparedWritesMax || checks.length > preparedWritesMax) return undefined;
  let shape = "";
  for (const check of checks) shape += checkSign(check);
  shape += "|";
  for (const [index, write] of writes.entries()) {
    const sign = isMark(write, checks) ? "A" : signOf(write, now);
    if (sign === undefined || (write.type === "add" && isTallyTouched(writes, index))) return undefined;
    shape += sign;
  }
  return shape;
}

/** The keys and arguments of a batch for the script of its shape. */
export function commitArguments(batch: Batch, { root, now, version }: CommitContext): [string[], string[]] {
  const { checks = [], writes } = batch;
  const keys: string[] = [];
  const args: string[] = [String(now)];
  for (const check of checks) {
    const isField = "absent" in check;
    keys.push(keyOf(root, isField ? "t" : "r", check.key));
    if (isField) args.push(check.absent);
    else if (check.version !== null) args.push(encodeCheck(check.version));
  }
  for (const write of writes) {
    switch (write.type) {
      case "put":
        keys.push(keyOf(root, "r", write.key));
        if (isGone(write, now)) break;
        args.push(encodeRecord(version, write.value, write.expireAt));
        if (write.expireAt !== undefined) args.push(msUntilCleared(write.expireAt, now));
        break;
      case "add":
        keys.push(keyOf(root, "t", write.key));
        args.push(write.field, String(write.by));
        if (write.min !== undefined) args.push(String(write.min));
        if (write.max !== undefined) args.push(String(write.max));
        break;
      case "append":
        keys.push(keyOf(root, "l", write.key));
        args.push(write.value, String(write.at), String(write.maxLength));
        break;
      case "delete":
        keys.push(keyOf(root, kinds[write.shape], write.key));
        if (write.shape === "board") keys.push(keyOf(root, "m", write.key));
    }
  }
  return [keys, args];
}

/** Whether the put leaves nothing: a record that has expired already is an absent one. */
export function isGone({ expireAt }: Put, now: number): boolean {
  return expireAt !== undefined && expireAt <= now;
}

/** Whether the write adds to a field that a check has just found absent, without bounds. */
function isMark(write: Write, checks: readonly Check[]): boolean {
  if (write.type !== "add" || write.min !== undefined || write.max !== undefined) return false;
  for (const check of checks) {
    if ("absent" in check && check.absent === write.field && check.key === write.key) return true;
  }
  return false;
}

function checkSign(check: Check): string {
  if ("absent" in check) return "f";
  return check.version === null ? "n" : "c";
}

function signOf(write: Write, now: number): string | undefined {
  switch (write.type) {
    case "put":
      if (write.expireAt === undefined) return "p";
      return isGone(write, now) ? "d" : "P";
    case "delete":
      return write.shape === "board" ? "D" : "d";
    case "add":
      return addSign(write);
    case "append":
      return "l";
    default:
      return undefined;
  }
}

function addSign({ min, max }: Add): string {
  if (min === undefined) return max === undefined ? "a" : "x";
  return max === undefined ? "m" : "r";
}

/** Whether a write before the one at `end` changes its tally, so that its guard must see the change. */
function isTallyTouched(writes: readonly Write[], end: number): boolean {
  const key = writes[end]?.key;
  for (let index = 0; index < end; index++) {
    const write = writes[index];
    if (write?.key !== key) continue;
    if (write?.type === "add" || (write?.type === "delete" && write.shape === "tally")) return true;
  }
  return false;
}
