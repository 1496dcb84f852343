/** The queries of a batch of decisions as one read. */

import type { Read } from "./contract.ts";
import type { PendingDecision } from "./decision_batch.ts";
import { storageLimits } from "./limits.ts";
import { TallyForecast } from "./pending_writes.ts";

/** Collects queries, each record once, and hands every decision its own results. */
export class ReadPlan {
  readonly queries: Read[] = [];
  readonly #records = new Map<string, number>();
  readonly #indexes = new Map<PendingDecision, readonly number[]>();
  readonly #guarded = new Map<string, { index: number; fields: Set<string> }>();

  /** Adds the queries of a decision, or returns false if the read has no room for them. */
  add(decision: PendingDecision): boolean {
    const { reads } = decision.rule;
    const suspected = decision.suspected ?? [];
    const most = this.queries.length + reads.length + suspected.length;
    if (most > storageLimits.readsMax && this.queries.length > 0) return false;
    this.#indexes.set(
      decision,
      reads.map(query => this.#add(query)),
    );
    for (const write of suspected) if (write.type === "add") this.#addGuarded(write.key, write.field);
    return true;
  }

  /** Returns the results for a decision, in the order of its queries. */
  stateOf(decision: PendingDecision, results: readonly unknown[]): unknown[] {
    return (this.#indexes.get(decision) ?? []).map(index => results[index]);
  }

  /** Returns the forecast for the tallies whose guards refused an earlier commit. */
  forecast(results: readonly unknown[]): TallyForecast {
    const forecast = new TallyForecast();
    for (const [key, { index, fields }] of this.#guarded) {
      forecast.learn(key, fields, results[index] as ReadonlyMap<string, number>);
    }
    return forecast;
  }

  #add(query: Read): number {
    if (query.type !== "record") return this.queries.push(query) - 1;
    const plannedIndex = this.#records.get(query.key);
    if (plannedIndex !== undefined) return plannedIndex;
    const index = this.queries.push(query) - 1;
    this.#records.set(query.key, index);
    return index;
  }

  #addGuarded(key: string, field: string): void {
    let guarded = this.#guarded.get(key);
    if (guarded === undefined) {
      guarded = { index: this.queries.length, fields: new Set() };
      this.#guarded.set(key, guarded);
    }
    guarded.fields.add(field);
    this.queries[guarded.index] = { type: "tally", key, fields: [...guarded.fields] };
  }
}
