import type { Batch, Commit, Put, Write } from "../../lib/storage/contract.ts";
import { tallyFieldsMax } from "../../lib/storage/limits.ts";
import { expirySlackMs } from "./bounds.ts";
import { keyOf } from "./keys.ts";
import { encodeCheck, encodeRecord, encodeStamp } from "./stored.ts";

const scoreOps = { set: "=", min: "<", max: ">", add: "+" } as const;
const kinds = { record: "r", tally: "t", log: "l" } as const;
const guardedAt = 2;
/** `commit.lua` answers `-1000000 - m` where write m would make its tally too large. */
const sizeRefusal = -1_000_000;

/** A batch translated for `commit.lua`, and its answer translated back. */
export class CommitPlan {
  readonly keys: string[] = [];
  readonly args: string[];
  readonly #root: string;
  readonly #batch: Batch;
  readonly #now: number;
  readonly #version: string;

  /** @param now Unix ms. @param version The version of every record that the batch puts. */
  constructor(root: string, batch: Batch, { now, version }: { now: number; version: string }) {
    this.#root = root;
    this.#batch = batch;
    this.#now = now;
    this.#version = version;
    const { checks = [], writes } = batch;
    this.args = [String(now), String(checks.length), ""];
    for (const check of checks) {
      this.keys.push(keyOf(root, "r", check.key));
      this.args.push(encodeCheck(check.version));
    }
    for (const write of writes) this.#push(write);
  }

  /**
   * Reads the answer of `commit.lua`.
   *
   * @throws {RangeError} A tally would have more fields than it may.
   */
  decode(reply: unknown): Commit {
    const { checks = [], writes } = this.#batch;
    if (typeof reply === "number") {
      if (reply > 0) return { ok: false, because: "check", key: checks[reply - 1]?.key ?? "" };
      if (reply > sizeRefusal) return { ok: false, because: "guard", key: writes[-reply - 1]?.key ?? "" };
      throw new RangeError(`Cannot add to the tally: it must have at most ${tallyFieldsMax} fields`);
    }
    const answers = reply as readonly string[];
    let next = 0;
    const results = writes.map(({ type }) => {
      if (type === "append") return answers[next++] ?? null;
      return type === "add" || type === "score" ? Number(answers[next++]) : null;
    });
    return { ok: true, version: this.#version, results };
  }

  #push(write: Write): void {
    const { keys, args } = this;
    const root = this.#root;
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
        args[guardedAt] = String(tallyFieldsMax);
        return;
      case "score":
        this.#pushBoard(write.key);
        args.push(scoreOps[write.op], write.member, String(write.score), encodeStamp(write.tie, write.asOf));
        if (write.op === "add") args[guardedAt] = String(tallyFieldsMax);
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
    this.keys.push(keyOf(this.#root, "b", key), keyOf(this.#root, "m", key));
  }

  #pushPut({ value, expireAt }: Put): void {
    if (expireAt !== undefined && expireAt <= this.#now) {
      // A record that has expired already is an absent one.
      this.args.push("d");
      return;
    }
    const stored = encodeRecord(this.#version, value, expireAt);
    if (expireAt === undefined) this.args.push("p", stored);
    else this.args.push("P", stored, String(expireAt - this.#now + expirySlackMs));
  }
}

function bound(value: number | undefined): string {
  return value === undefined ? "" : String(value);
}
