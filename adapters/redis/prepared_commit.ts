import {
  type Add,
  type Batch,
  type Check,
  type Commit,
  type Put,
  type Score,
  storageLimits,
  type Write,
} from "../../lib/storage/contract.ts";
import type { CommitShape } from "./commit_script.ts";
import { keyOf } from "./keys.ts";
import {
  encodeCheck,
  encodeEntry,
  encodeHead,
  encodeRecord,
  encodeStamp,
  entryIdOf,
  msUntilCleared,
} from "./stored.ts";

/** Most checks, and most writes, of a batch that gets a script made to measure. */
export const preparedWritesMax = 16;

/** A sum may be refused, so {@linkcode commitScript} makes it. */
const scoreSigns = { set: "=", min: "<", max: ">", add: undefined } as const;
const kinds = { record: "r", tally: "t", log: "l", board: "b" } as const;

export interface CommitContext {
  readonly root: string;
  /** Unix ms. */
  readonly now: number;
  readonly version: string;
}

/**
 * Returns the shape of a batch, or undefined if it takes {@linkcode commitScript}: it is large, removes or adds to a score, has several
 * scores, which {@linkcode commitScript} writes together, or adds to one tally otherwise than in a row of unbounded or highest sums of different
 * fields.
 */
export function commitShape(batch: Batch, now: number): CommitShape | undefined {
  const { checks = [], writes } = batch;
  if (writes.length > preparedWritesMax || checks.length > preparedWritesMax) return undefined;
  let shape = "";
  let before: Check | undefined;
  for (const check of checks) {
    shape += isSameField(check, before) ? "g" : checkSign(check);
    before = check;
  }
  shape += "|";
  const mark = markOf(batch);
  for (const [index, write] of writes.entries()) {
    const sign = write === mark ? "M" : isChecked(write, batch) ? "q" : signOf(write, { writes, index, now });
    if (sign === undefined) return undefined;
    if (write.type === "score" && writes.some((other, at) => at < index && other.type === "score")) {
      return undefined;
    }
    shape += sign;
  }
  return shape;
}

export function commitArguments(batch: Batch, { root, now, version }: CommitContext): [string[], string[]] {
  const { checks = [], writes } = batch;
  const keys: string[] = [];
  const args: string[] = [String(now)];
  let before: Check | undefined;
  for (const check of checks) {
    const isField = "absent" in check;
    keys.push(keyOf(root, isField ? "t" : "r", check.key));
    if (!isField) {
      if (check.version !== null) args.push(encodeHead(check.version));
    } else if (!isSameField(check, before)) {
      args.push(check.absent);
    }
    before = check;
  }
  const mark = markOf(batch);
  for (const [index, write] of writes.entries()) {
    if (write === mark) continue;
    switch (write.type) {
      case "put":
        if (!isChecked(write, batch)) keys.push(keyOf(root, "r", write.key));
        if (isGone(write, now)) break;
        args.push(encodeRecord(version, write.value, write.expireAt));
        if (write.expireAt !== undefined) args.push(msUntilCleared(write.expireAt, now));
        break;
      case "add":
        if (!isNext(writes, index)) keys.push(keyOf(root, "t", write.key));
        args.push(write.field, String(write.by));
        if (write.min !== undefined) args.push(String(write.min));
        if (write.max !== undefined) args.push(String(write.max));
        break;
      case "append":
        keys.push(keyOf(root, "l", write.key));
        args.push(encodeEntry(write), String(write.maxLength));
        break;
      case "score":
        keys.push(keyOf(root, "b", write.key), keyOf(root, "m", write.key));
        args.push(write.member, String(write.score), encodeStamp(write.tie, write.asOf));
        break;
      case "delete":
        keys.push(keyOf(root, kinds[write.shape], write.key));
        if (write.shape === "board") keys.push(keyOf(root, "m", write.key));
    }
  }
  return [keys, args];
}

/** Returns true if the put leaves nothing: a record that has expired already is an absent one. */
function isGone({ expireAt }: Put, now: number): boolean {
  return expireAt !== undefined && expireAt <= now;
}

/** Returns true if the check looks for the field of the one before it, in another tally. */
function isSameField(check: Check, before: Check | undefined): boolean {
  return before !== undefined && "absent" in check && "absent" in before && check.absent === before.absent;
}

/** Returns true if the write puts, for good, the record that the first check is about. */
function isChecked(write: Write, { checks }: Batch): boolean {
  const first = checks?.[0];
  if (first === undefined || "absent" in first) return false;
  return write.type === "put" && write.expireAt === undefined && write.key === first.key;
}

/** Returns the first addition, where it adds 1 to the field that the last check finds absent, and nothing else changes the tally. */
function markOf({ checks, writes }: Batch): Add | undefined {
  const last = checks?.at(-1);
  if (last === undefined || !("absent" in last)) return undefined;
  const first = writes.find(({ type }) => type === "add");
  if (first?.type !== "add" || first.by !== 1 || first.min !== undefined || first.max !== undefined) {
    return undefined;
  }
  if (first.field !== last.absent || first.key !== last.key) return undefined;
  return writes.some(write => write !== first && isOfTally(write, last.key)) ? undefined : first;
}

function checkSign(check: Check): string {
  if ("absent" in check) return "f";
  return check.version === null ? "n" : "c";
}

function signOf(
  write: Write,
  { writes, index, now }: { readonly writes: readonly Write[]; readonly index: number; readonly now: number },
): string | undefined {
  switch (write.type) {
    case "put":
      if (write.expireAt === undefined) return "p";
      return isGone(write, now) ? "d" : "P";
    case "delete":
      return write.shape === "board" ? "D" : "d";
    case "add":
      if (isNext(writes, index)) return nextAddSign(write, writes.slice(0, index));
      return isTallyTouched(writes, index) ? undefined : addSign(write);
    case "append":
      return "l";
    case "score":
      return scoreSigns[write.op];
    default:
      return undefined;
  }
}

function addSign({ min, max }: Add): string {
  if (min === undefined) return max === undefined ? "a" : "x";
  return max === undefined ? "m" : "r";
}

/** Returns true if the write adds to the tally that the write before it adds to. */
function isNext(writes: readonly Write[], index: number): boolean {
  const [before, write] = [writes[index - 1], writes[index]];
  return before?.type === "add" && write?.type === "add" && before.key === write.key;
}

function nextAddSign({ key, field, min, max }: Add, before: readonly Write[]): string | undefined {
  const isAgain = before.some(write => write.type === "add" && write.key === key && write.field === field);
  if (isAgain || min !== undefined) return undefined;
  return max === undefined ? "A" : "X";
}

/** Returns true if a write before the one at `end` changes its tally, so that its guard must see the change. */
function isTallyTouched(writes: readonly Write[], end: number): boolean {
  const key = writes[end]?.key;
  return writes.some((write, index) => index < end && isOfTally(write, key));
}

function isOfTally(write: Write, key: string | undefined): boolean {
  return write.key === key && (write.type === "add" || (write.type === "delete" && write.shape === "tally"));
}

const scoreOps = { set: "=", min: "<", max: ">", add: "+" } as const;
const guardedAt = 2;
/** {@linkcode commitScript} answers `-1000000 - m` where write m would make its tally too large. */
const sizeRefusal = -1_000_000;

/** Scores of one board that one command sets together. Each member occurs once. */
interface ScoreRun {
  readonly key: string;
  readonly members: Set<string>;
  readonly countAt: number;
}

export class CommitPlan {
  readonly keys: string[] = [];
  readonly args: string[];
  readonly #context: CommitContext;
  #run: ScoreRun | undefined;

  constructor({ checks = [], writes }: Batch, context: CommitContext) {
    this.#context = context;
    this.args = [String(context.now), String(checks.length), ""];
    for (const check of checks) {
      const isField = "absent" in check;
      this.keys.push(keyOf(context.root, isField ? "t" : "r", check.key));
      this.args.push(isField ? `!${check.absent}` : encodeCheck(check.version));
    }
    for (const write of writes) {
      if (write.type === "score") {
        this.#pushScore(write);
        continue;
      }
      this.#run = undefined;
      this.#push(write);
    }
  }

  #pushScore({ op, key, member, score, tie, asOf }: Score): void {
    const { args } = this;
    if (op === "add") args[guardedAt] = String(storageLimits.tallyFieldsMax);
    let run = this.#run;
    if (run === undefined || run.key !== key || run.members.has(member)) {
      this.#pushBoard(key);
      run = { key, members: new Set(), countAt: args.push("s", "") - 1 };
      this.#run = run;
    }
    run.members.add(member);
    args[run.countAt] = String(run.members.size);
    args.push(scoreOps[op], member, String(score), encodeStamp(tie, asOf));
  }

  #push(write: Exclude<Write, Score>): void {
    const { keys, args } = this;
    const { root } = this.#context;
    switch (write.type) {
      case "put":
        keys.push(keyOf(root, "r", write.key));
        this.#pushPut(write);
        return;
      case "delete":
        if (write.shape === "board") this.#pushBoard(write.key);
        else keys.push(keyOf(root, kinds[write.shape], write.key));
        args.push(write.shape === "board" ? "D" : "d");
        return;
      case "add":
        keys.push(keyOf(root, "t", write.key));
        args.push("a", write.field, String(write.by), bound(write.min), bound(write.max));
        args[guardedAt] = String(storageLimits.tallyFieldsMax);
        return;
      case "unscore":
        this.#pushBoard(write.key);
        args.push("u", write.member);
        return;
      case "append":
        keys.push(keyOf(root, "l", write.key));
        args.push("l", encodeEntry(write), String(write.maxLength));
    }
  }

  #pushBoard(key: string): void {
    const { root } = this.#context;
    this.keys.push(keyOf(root, "b", key), keyOf(root, "m", key));
  }

  #pushPut(write: Put): void {
    const { now, version } = this.#context;
    const { value, expireAt } = write;
    if (isGone(write, now)) {
      this.args.push("d");
      return;
    }
    const stored = encodeRecord(version, value, expireAt);
    if (expireAt === undefined) this.args.push("p", stored);
    else this.args.push("P", stored, msUntilCleared(expireAt, now));
  }
}

/**
 * Reads the answer of {@linkcode commitScript}, or of a script made to measure.
 *
 * @throws {RangeError} A tally would have more fields than it may.
 */
export function decodeCommit({ checks = [], writes }: Batch, version: string, reply: unknown): Commit {
  if (typeof reply === "number") {
    if (reply === 0) return { ok: true, version, results: writes.map(knownResult) };
    if (reply > 0) return { ok: false, because: "check", key: checks[reply - 1]?.key ?? "" };
    if (reply > sizeRefusal) return { ok: false, because: "guard", key: writes[-reply - 1]?.key ?? "" };
    throw new RangeError(
      `Cannot add to the tally: it must have at most ${storageLimits.tallyFieldsMax} fields`,
    );
  }
  const answers = reply as readonly string[];
  let next = 0;
  const results = writes.map(write => {
    if (write.type === "append") return answers[next++] || knownResult(write);
    return write.type === "add" || write.type === "score" ? Number(answers[next++]) : null;
  });
  return { ok: true, version, results };
}

/** Returns the result of a write where the script leaves it to the client. */
function knownResult(write: Write): number | string | null {
  if (write.type === "append") return entryIdOf(write);
  return write.type === "add" ? write.by : null;
}

function bound(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
