/**
 * The stored form of a state: JSON without empty members, and with board scores in a short form.
 *
 * @module
 */

import type { ScoreUpdate } from "../../leaderboards/mod.ts";
import type { ReadRecord } from "../../storage/mod.ts";
import { JsonMembers } from "../../text/mod.ts";
import { hasEntries } from "../config/own_property.ts";
import { emptyState, type UserState } from "./state.ts";

/** The read of the record. */
export const readState: ReadRecord = { type: "record", key: "loyalty" };

/** Replaces the id of the user's project in targets. */
const projectMark = "*";

/** Time and revision are left out if they are those of the state, as they mostly are. */
type StoredUpdate =
  | readonly [target: string, score: number]
  | readonly [target: string, score: number, at: number, asOf: number];

/** Members that are stored under a shorter or an older name. */
type RenamedMember = "undelivered" | "orphanedCounters" | "chainedExpiries" | "onceMarks";

type StoredState = Partial<Omit<UserState, RenamedMember>> & {
  readonly unnamed?: UserState["orphanedCounters"];
  readonly lapses?: UserState["chainedExpiries"];
  readonly seen?: UserState["onceMarks"];
  /** An update whose target contains the mark is stored whole. */
  readonly undelivered?: readonly (StoredUpdate | ScoreUpdate)[];
};

/** Returns the text of a state. The members that searches read come first, see {@linkcode StoredStateReader}. */
export function printState(state: UserState): string {
  const stored: { readonly [K in keyof Required<StoredState>]: unknown } = {
    revision: state.revision,
    changedAt: state.changedAt,
    // Stored even if it is null, as a reader would scan the whole text for a missing member.
    dueAt: state.dueAt,
    config: state.config === "" ? undefined : state.config,
    projectId: state.projectId ?? undefined,
    metrics: filled(state.metrics),
    lifetime: filled(state.lifetime),
    lots: filled(state.lots),
    inventory: filled(state.inventory),
    milestones: filled(state.milestones),
    challenges: filled(state.challenges),
    coupons: filled(state.coupons),
    counters: filled(state.counters),
    unnamed: filled(state.orphanedCounters),
    lapses: state.chainedExpiries === 0 ? undefined : state.chainedExpiries,
    records: state.records,
    redemptions: filled(state.redemptions),
    undelivered:
      state.undelivered.length === 0
        ? undefined
        : state.undelivered.map(update => storedUpdate(update, state)),
    sums: filled(state.sums),
    seen: state.onceMarks.generation === 0 && state.onceMarks.count === 0 ? undefined : state.onceMarks,
  };
  return JSON.stringify(stored);
}

function filled(member: object): object | undefined {
  return hasEntries(member) ? member : undefined;
}

/** Parses the text of a state. */
export function parseState(text: string): UserState {
  const { undelivered, unnamed, lapses, seen, ...stored } = JSON.parse(text) as StoredState;
  const empty = emptyState(stored.projectId ?? null);
  const state: UserState = {
    ...empty,
    ...stored,
    orphanedCounters: unnamed ?? empty.orphanedCounters,
    chainedExpiries: lapses ?? empty.chainedExpiries,
    onceMarks: seen ?? empty.onceMarks,
  };
  if (undelivered === undefined) return state;
  return { ...state, undelivered: undelivered.map(update => updateOf(update, state)) };
}

/** Reads single members from the text of a state, for searches over many users. */
export class StoredStateReader
  implements Pick<UserState, "dueAt" | "changedAt" | "metrics" | "inventory" | "challenges">
{
  readonly #members: JsonMembers;
  #metrics: UserState["metrics"] | undefined;
  #inventory: UserState["inventory"] | undefined;
  #challenges: UserState["challenges"] | undefined;

  constructor(text: string) {
    this.#members = new JsonMembers(text);
  }

  get dueAt(): number | null {
    const text = this.#members.text("dueAt");
    return text === undefined || text === "null" ? null : Number(text);
  }

  get changedAt(): number {
    return Number(this.#members.text("changedAt") ?? 0);
  }

  get metrics(): UserState["metrics"] {
    this.#metrics ??= this.#member("metrics") as UserState["metrics"];
    return this.#metrics;
  }

  get inventory(): UserState["inventory"] {
    this.#inventory ??= this.#member("inventory") as UserState["inventory"];
    return this.#inventory;
  }

  get challenges(): UserState["challenges"] {
    this.#challenges ??= this.#member("challenges") as UserState["challenges"];
    return this.#challenges;
  }

  #member(name: keyof UserState): object {
    return (this.#members.value(name) as object | undefined) ?? {};
  }
}

function storedUpdate(
  update: ScoreUpdate,
  { projectId, changedAt, revision }: UserState,
): StoredUpdate | ScoreUpdate {
  const { target, score, at, asOf } = update;
  if (target.includes(projectMark)) return update;
  const short = projectId === null ? target : target.replace(projectId, projectMark);
  return at === changedAt && asOf === revision ? [short, score] : [short, score, at, asOf];
}

function updateOf(stored: StoredUpdate | ScoreUpdate, state: UserState): ScoreUpdate {
  if ("target" in stored) return stored;
  const [short, score, at = state.changedAt, asOf = state.revision] = stored;
  // A function, because `$` has a meaning in a replacement text.
  return { target: short.replace(projectMark, () => state.projectId ?? projectMark), score, at, asOf };
}
