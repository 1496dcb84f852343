import { expirySlackMs } from "./options.ts";
import type { Database, Session } from "./session.ts";

const sweepIntervalMs = 10_000;

/** What a part of the adapter makes garbage of. */
type Garbage = "records" | "limits" | "uploads";

/** Removes garbage every 10 s until it is disposed. What fails is tried again the next time, by this process or another. */
export class Sweeper implements Disposable {
  readonly #sweeping: NodeJS.Timeout;
  #isSweeping = false;

  /** @param clock Unix ms. Without one the time of the server counts, as that of the process may be wrong. */
  constructor(database: Database, session: Session, garbage: Garbage, clock?: () => number) {
    const slack = garbage === "uploads" ? [] : [expirySlackMs];
    const statement = database.statement(`sweep_${garbage}_1`, 1 + slack.length);
    const sweep = async (): Promise<number> => {
      const now = clock === undefined ? null : Math.floor(clock());
      const [[swept = null] = []] = await session.call(statement, [now, ...slack]);
      return Number(swept);
    };
    this.#sweeping = setInterval(() => void this.#sweep(sweep), sweepIntervalMs).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeping);
  }

  async #sweep(sweep: () => Promise<number>): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      while ((await sweep()) > 0);
    } catch {
      // See above.
    }
    this.#isSweeping = false;
  }
}
