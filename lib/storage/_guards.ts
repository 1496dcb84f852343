/** Foresees which guarded adds the store would refuse, so that sold-out stock does not cost a commit each. */

import type { PendingWrites } from "./_overlay.ts";
import type { Write } from "./contract.ts";

/** What is known of the tallies that refused an earlier commit. */
export class TallyForecast {
  readonly #known = new Map<string, { fields: ReadonlySet<string>; sums: ReadonlyMap<string, number> }>();

  /** Takes note of the fields of a tally as they were read; a field that is not among the sums is 0. */
  learn(key: string, fields: ReadonlySet<string>, sums: ReadonlyMap<string, number>): void {
    this.#known.set(key, { fields, sums });
  }

  /** The first key whose bounds the writes would leave, or null where it cannot be told that one refuses, or which. */
  refusal(writes: readonly Write[], overlay: PendingWrites): string | null {
    if (this.#known.size === 0) return null;
    const running = new Map<string, Map<string, number>>();
    for (const write of writes) {
      if (isOpaque(write)) return null;
      if (write.type !== "add") continue;
      if (!this.#known.get(write.key)?.fields.has(write.field)) return null;
      const sums = running.get(write.key) ?? this.#sums(write.key, overlay);
      running.set(write.key, sums);
      const sum = (sums.get(write.field) ?? 0) + write.by;
      const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = write;
      if (sum < min || sum > max || !Number.isSafeInteger(sum)) return write.key;
      sums.set(write.field, sum);
    }
    return null;
  }

  #sums(key: string, overlay: PendingWrites): Map<string, number> {
    const seen = overlay.view({ type: "tally", key }, this.#known.get(key)?.sums ?? new Map());
    return new Map(seen as ReadonlyMap<string, number>);
  }
}

/** Whether only the store can tell what the write does to a guard: a tally begun anew, a sum of scores. */
function isOpaque(write: Write): boolean {
  return (
    (write.type === "delete" && write.shape === "tally") || (write.type === "score" && write.op === "add")
  );
}
