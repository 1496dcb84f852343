/** The queries of many decisions as one read. */

import { TallyForecast } from "./_guards.ts";
import type { PendingDecision } from "./_ticket.ts";
import type { Read } from "./contract.ts";
import { readsMax } from "./limits.ts";

/** Collects queries, each record once, and hands every decision its own results. */
export class ReadPlan {
  readonly queries: Read[] = [];
  readonly #records = new Map<string, number>();
  readonly #places = new Map<PendingDecision, readonly number[]>();
  readonly #guarded = new Map<string, { index: number; fields: Set<string> }>();

  /** Adds the queries of a decision, or answers false where they do not fit beside those that are there. */
  add(ticket: PendingDecision): boolean {
    const { reads } = ticket.rule;
    const suspected = ticket.suspected ?? [];
    const most = this.queries.length + reads.length + suspected.length;
    if (most > readsMax && this.queries.length > 0) return false;
    this.#places.set(
      ticket,
      reads.map(query => this.#place(query)),
    );
    for (const write of suspected) if (write.type === "add") this.#guard(write.key, write.field);
    return true;
  }

  /** The results that belong to the decision, in the order of its queries. */
  stateOf(ticket: PendingDecision, results: readonly unknown[]): unknown[] {
    return (this.#places.get(ticket) ?? []).map(place => results[place]);
  }

  /** What was read of the tallies whose guards are to be foreseen. */
  guards(results: readonly unknown[]): TallyForecast {
    const known = new TallyForecast();
    for (const [key, { index, fields }] of this.#guarded) {
      known.learn(key, fields, results[index] as ReadonlyMap<string, number>);
    }
    return known;
  }

  #place(query: Read): number {
    if (query.type !== "record") return this.queries.push(query) - 1;
    const known = this.#records.get(query.key);
    if (known !== undefined) return known;
    const place = this.queries.push(query) - 1;
    this.#records.set(query.key, place);
    return place;
  }

  #guard(key: string, field: string): void {
    let guarded = this.#guarded.get(key);
    if (guarded === undefined) {
      guarded = { index: this.queries.length, fields: new Set() };
      this.#guarded.set(key, guarded);
    }
    guarded.fields.add(field);
    this.queries[guarded.index] = { type: "tally", key, fields: [...guarded.fields] };
  }
}
