/**
 * How the state of a user stands in its record: as JSON without what is empty, and with board scores in a short form.
 *
 * @module
 */

import type { ScoreUpdate } from "../../leaderboards/scores/score_feed.ts";
import type { ReadRecord } from "../../storage/mod.ts";
import { JsonMembers } from "../../text/mod.ts";
import { hasEntries } from "../config/own_property.ts";
import { emptyState, type UserState } from "./state.ts";

/** Reads the record. */
export const readState: ReadRecord = { type: "record", key: "loyalty" };

/** Stands for the user's project in the names of targets. */
const projectMark = "*";

/** What is left out where time and revision are those of the state, as they mostly are. */
type StoredUpdate =
  | readonly [target: string, score: number]
  | readonly [target: string, score: number, at: number, asOf: number];

/** Members that are stored under a shorter or an older name. */
type RenamedMember = "undelivered" | "orphanedCounters" | "chainedExpiries" | "onceMarks";

type StoredState = Partial<Omit<UserState, RenamedMember>> & {
  readonly unnamed?: UserState["orphanedCounters"];
  readonly lapses?: UserState["chainedExpiries"];
  readonly seen?: UserState["onceMarks"];
  /** A whole update where its target has the mark in it. */
  readonly undelivered?: readonly (StoredUpdate | ScoreUpdate)[];
};

/** The text of a state. Each member by its name: the text is made for every action. First comes what lists of users ask for. */
export function printState(state: UserState): string {
  const stored: { readonly [K in keyof Required<StoredState>]: unknown } = {
    revision: state.revision,
    changedAt: state.changedAt,
    // Also where it is null, because whoever looks for it would have to read all the text to know that it is not there.
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

/** The state of a text. */
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

/** What lists of users ask of a state, read off its text when it is first asked for. */
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
  // A function, because a text would be read as a pattern of replacement.
  return { target: short.replace(projectMark, () => state.projectId ?? projectMark), score, at, asOf };
}
