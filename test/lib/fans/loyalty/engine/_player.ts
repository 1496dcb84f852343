/** Short ways to drive the rules engine through time. */

import { advanceTime } from "../../../../../lib/fans/loyalty/engine/advance_time.ts";
import { applyAction, applyGrant, type Grant } from "../../../../../lib/fans/loyalty/engine/apply_change.ts";
import type { Outcome } from "../../../../../lib/fans/loyalty/engine/next_state.ts";
import { type CompiledConfig, compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import type {
  HistoryEntry,
  HistoryRecord,
  Notification,
  Transaction,
} from "../../../../../lib/fans/loyalty/user/history.ts";
import { emptyState, type UserState } from "../../../../../lib/fans/loyalty/user/state.ts";

/** Parts of a document that most tests need. */
export const base: Readonly<Record<"metrics" | "inventory" | "actions", readonly object[]>> = {
  metrics: [
    { id: "points", title: "" },
    { id: "xp", title: "", defaultValue: 2, maximumValue: 10 },
  ],
  inventory: [
    {
      id: "badges",
      title: "",
      items: [
        { id: "oracle", title: "" },
        { id: "sage", title: "" },
      ],
    },
  ],
  actions: [{ name: "go" }, { name: "stop" }],
};

export const points = (metricQuantity: unknown, metricId = "points"): object => ({
  type: "metric",
  metricId,
  metricQuantity,
});

export const badge = (inventoryItemId = "oracle"): object => ({
  type: "inventory",
  inventorySetId: "badges",
  inventoryItemId,
});

export const rule = (id: string, effects: readonly object[], more: object = {}): object => ({
  id,
  trigger: { action: "go" },
  effects,
  ...more,
});

/** A user who does things, one after the other. */
export class Player {
  readonly compiled: CompiledConfig;
  readonly records: HistoryEntry[] = [];
  readonly notifications: Notification[] = [];
  state: UserState = emptyState(null);
  last: Outcome | null = null;
  /** The custom fields of the profile at the next action. */
  profile: Readonly<Record<string, string>> | undefined;

  constructor(parts: object, { version }: { readonly version?: string } = {}) {
    this.compiled = compileConfig({ ...base, ...parts }, version);
  }

  /** Does an action, at a time in Unix ms or as an ISO 8601 text. */
  act(
    name: string,
    at: number | string = 0,
    data: Readonly<Record<string, string | number | boolean>> = {},
    { happenedAt }: { readonly happenedAt?: string } = {},
  ): Outcome {
    const instant = typeof at === "string" ? Date.parse(at) : at;
    this.pass(instant);
    const late = happenedAt === undefined ? {} : { happenedAt: Date.parse(happenedAt) };
    const options = this.profile === undefined ? {} : { profile: this.profile };
    return this.take(applyAction(this.compiled, this.state, { name, data, at: instant, ...late }, options));
  }

  grant(given: Omit<Grant, "reason">): Outcome {
    this.pass(given.at);
    return this.take(applyGrant(this.compiled, this.state, { ...given, reason: "Test" }));
  }

  /** Advances time and returns the effects. */
  pass(at: number | string): readonly Transaction[] {
    const settled = advanceTime(this.compiled, this.state, typeof at === "string" ? Date.parse(at) : at);
    this.state = settled.state;
    for (const record of settled.records) this.#keep(record);
    this.notifications.push(...settled.notifications);
    return settled.records.flatMap(({ transactions }) => transactions);
  }

  take(outcome: Outcome): Outcome {
    this.state = outcome.state;
    this.#keep(outcome.record);
    this.notifications.push(...outcome.notifications);
    this.last = outcome;
    return outcome;
  }

  #keep(record: HistoryRecord): void {
    this.records.push({ ...record, id: `${record.at}-${this.records.length}` });
  }
}

/** The types of a record's transactions. */
export function typesOf({ record }: Outcome): readonly string[] {
  return record.transactions.map(({ type }) => type);
}
