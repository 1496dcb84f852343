import type { Batch, Commit, Put, Score, Write } from "../../lib/storage/contract.ts";
import { storageLimits } from "../../lib/storage/limits.ts";
import { keyOf } from "./keys.ts";
import { type CommitContext, isGone } from "./prepared_commit.ts";
import { encodeCheck, encodeRecord, encodeStamp, msUntilCleared } from "./stored.ts";

const scoreOps = { set: "=", min: "<", max: ">", add: "+" } as const;
const kinds = { record: "r", tally: "t", log: "l" } as const;
const guardedAt = 2;
/** {@linkcode commitScript} answers `-1000000 - m` where write m would make its tally too large. */
const sizeRefusal = -1_000_000;

/** Scores of one board that one command sets together. Each member occurs once. */
interface ScoreRun {
  readonly key: string;
  readonly members: Set<string>;
  /** Index of their number among the arguments. */
  readonly countAt: number;
}

/** A batch translated for {@linkcode commitScript}. */
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
        args.push("l", write.value, String(write.at), String(write.maxLength));
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
    if (reply === 0) return { ok: true, version, results: writes.map(() => null) };
    if (reply > 0) return { ok: false, because: "check", key: checks[reply - 1]?.key ?? "" };
    if (reply > sizeRefusal) return { ok: false, because: "guard", key: writes[-reply - 1]?.key ?? "" };
    throw new RangeError(
      `Cannot add to the tally: it must have at most ${storageLimits.tallyFieldsMax} fields`,
    );
  }
  const answers = reply as readonly string[];
  let next = 0;
  const results = writes.map(({ type }) => {
    if (type === "append") return answers[next++] ?? null;
    return type === "add" || type === "score" ? Number(answers[next++]) : null;
  });
  return { ok: true, version, results };
}

function bound(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
