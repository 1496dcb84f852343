import type { Journal, JournalClient, Settle } from "../../../adapters/memory/frames.ts";
import type { AppError } from "../../../lib/base/errors/mod.ts";

/** A journal whose medium is an array and whose delays are decided by the test. */
export class HeldJournal implements Journal {
  readonly durable: boolean;
  readonly kept: string[];
  #client: JournalClient | undefined;
  #waiting: { frame: string; settle: Settle }[] = [];
  /** Thrown by `append` while set. */
  refusal: AppError | undefined;

  constructor(kept: readonly string[] = [], durable = true) {
    this.kept = [...kept];
    this.durable = durable;
  }

  async open(client: JournalClient): Promise<void> {
    this.#client = client;
    for (const frame of this.kept) client.apply(frame);
  }

  append(frame: string, settle: Settle): void {
    if (this.refusal !== undefined) throw this.refusal;
    this.#waiting.push({ frame, settle });
  }

  /** Keeps the oldest `count` frames that wait. */
  keep(count: number = this.#waiting.length): void {
    for (const { frame, settle } of this.#waiting.splice(0, count)) {
      this.kept.push(frame);
      settle();
    }
  }

  /** Loses every frame that waits. */
  lose(failure: AppError): void {
    for (const { settle } of this.#waiting.splice(0)) settle(failure);
  }

  /** Starts a description of the state. */
  snapshot(): Iterator<string> {
    if (this.#client === undefined) throw new Error("The journal is not open");
    return this.#client.snapshot();
  }

  async ping(): Promise<void> {}

  async close(): Promise<void> {
    this.keep();
  }
}
