/**
 * What an action does to a user's state: a pure function of configuration, state, action and time.
 *
 * All conditions are decided against the state before the action. Then rules apply in their order, missions advance,
 * and challenges whose missions are all done complete, once, and give their rewards. Metrics are clamped to their
 * bounds; what is reported as a change is the real difference.
 *
 * @module
 */

import { own } from "./_own.ts";
import type { CompiledConfig, CompiledMission, Scope } from "./compile.ts";
import type { Challenge, NotificationSetting, Reward } from "./config.ts";
import type { ChangePayload, Notification, Transaction } from "./history.ts";
import type { ChallengeProgress, UserState } from "./state.ts";

/** A reported action. */
export interface Action {
  readonly name: string;
  readonly data: Readonly<Record<string, string | number | boolean>>;
  /** Unix ms. */
  readonly at: number;
}

/** The effects of one action. */
export interface Outcome {
  readonly state: UserState;
  readonly transactions: readonly Transaction[];
  readonly notifications: readonly Notification[];
  /** Difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
}

/** Applies an action. An action that the configuration does not name has no effects. */
export function applyAction(compiled: CompiledConfig, state: UserState, action: Action): Outcome {
  const plan = compiled.actions.get(action.name);
  const change = new Change(compiled, state);
  if (plan === undefined) return change.outcome();
  const scope: Scope = { data: action.data, metric: id => change.before(id) };
  const firing = plan.rules.filter(({ when }) => when(scope));
  const advancing = plan.missions.filter(
    ({ challenge, when }) => isRunning(challenge, action.at) && when(scope),
  );
  for (const { rule } of firing)
    change.record("actionRewarded", change.give(rule.effects as readonly Reward[]));
  for (const mission of advancing) change.advance(mission);
  return change.outcome();
}

function isRunning({ time }: Challenge, at: number): boolean {
  const seconds = at / 1_000;
  return seconds >= time.from && (time.to === 0 || seconds < time.to);
}

class Change {
  readonly #compiled: CompiledConfig;
  readonly #before: UserState;
  #metrics: Record<string, number>;
  #inventory: Record<string, readonly string[]>;
  #challenges: Record<string, ChallengeProgress>;
  readonly #transactions: Transaction[] = [];
  readonly #notifications: Notification[] = [];

  constructor(compiled: CompiledConfig, before: UserState) {
    this.#compiled = compiled;
    this.#before = before;
    this.#metrics = before.metrics;
    this.#inventory = before.inventory;
    this.#challenges = before.challenges;
  }

  before(metricId: string): number {
    return own(this.#before.metrics, metricId) ?? this.#default(metricId);
  }

  /** Gives rewards and says what they changed. */
  give(rewards: readonly Reward[]): ChangePayload {
    const metricsBefore = this.#metrics;
    const received: { setId: string; itemId: string }[] = [];
    for (const reward of rewards) {
      if (reward.type === "metric") {
        this.#addToMetric(reward.metricId, reward.metricQuantity);
      } else if (
        reward.type === "inventory" &&
        this.#addToInventory(reward.inventorySetId, reward.inventoryItemId)
      ) {
        received.push({ setId: reward.inventorySetId, itemId: reward.inventoryItemId });
      }
    }
    return {
      metricChanges: this.#metricChangesSince(metricsBefore),
      inventoryChanges: { received, lost: [] },
      milestoneChanges: {},
    };
  }

  /** Counts an action for a mission, and completes the mission and its challenge when they are done. */
  advance({ challenge, mission }: CompiledMission): void {
    const progress = own(this.#challenges, challenge.id) ?? {
      counts: {},
      missionsCompleted: [],
      status: "in_progress" as const,
      run: "1",
      startedAt: 0,
      endsAt: null,
      endedAt: null,
      completions: 0,
    };
    if (progress.status === "completed" || progress.missionsCompleted.includes(mission.id)) return;
    const count = (own(progress.counts, mission.id) ?? 0) + 1;
    const isMissionDone = count >= ("count" in mission.rule ? mission.rule.count : 1);
    const missionsCompleted = isMissionDone
      ? [...progress.missionsCompleted, mission.id]
      : progress.missionsCompleted;
    const isCompleted = challenge.missions.every(({ id }) => missionsCompleted.includes(id));
    const counts = { ...progress.counts, [mission.id]: count };
    this.#challenges = {
      ...this.#challenges,
      [challenge.id]: {
        ...progress,
        counts,
        missionsCompleted,
        status: isCompleted ? "completed" : "in_progress",
      },
    };
    if (!isMissionDone) return;
    const ids = { challengeId: challenge.id, missionId: mission.id };
    this.#achieve("missionCompleted", mission.notification, { ...ids, ...this.give([]) });
    if (!isCompleted) return;
    const payload = { challengeId: challenge.id, ...this.give(challenge.rewards) };
    this.#achieve("challengeCompleted", challenge.notification, payload);
  }

  record(type: Transaction["type"], payload: ChangePayload): void {
    this.#transactions.push({ type, payload, entries: [] });
  }

  outcome(): Outcome {
    const changes = this.#metricChangesSince(this.#before.metrics);
    const gained = Object.entries(changes).map(
      ([id, { oldValue, newValue }]) => [id, newValue - oldValue] as const,
    );
    return {
      state: {
        ...this.#before,
        revision: this.#before.revision + 1,
        metrics: this.#metrics,
        inventory: this.#inventory,
        challenges: this.#challenges,
      },
      transactions: this.#transactions,
      notifications: this.#notifications,
      gained: Object.fromEntries(gained),
    };
  }

  #achieve(type: Notification["type"], setting: NotificationSetting, payload: ChangePayload): void {
    this.record(type, payload);
    if (setting.display !== "none") this.#notifications.push({ type, ...setting, payload });
  }

  #default(metricId: string): number {
    return this.#compiled.metrics.get(metricId)?.defaultValue ?? 0;
  }

  #addToMetric(id: string, quantity: number): void {
    const metric = this.#compiled.metrics.get(id);
    if (metric === undefined) return;
    const old = own(this.#metrics, id) ?? metric.defaultValue;
    const value = Math.min(Math.max(old + quantity, metric.minimumValue), metric.maximumValue);
    if (value !== old) this.#metrics = { ...this.#metrics, [id]: value };
  }

  #addToInventory(setId: string, itemId: string): boolean {
    const owned = own(this.#inventory, setId) ?? [];
    if (owned.includes(itemId)) return false;
    this.#inventory = { ...this.#inventory, [setId]: [...owned, itemId] };
    return true;
  }

  #metricChangesSince(old: Readonly<Record<string, number>>): ChangePayload["metricChanges"] {
    if (old === this.#metrics) return {};
    const changes = Object.entries(this.#metrics).map(([id, newValue]) => {
      return [id, { oldValue: own(old, id) ?? this.#default(id), newValue }] as const;
    });
    return Object.fromEntries(changes.filter(([, { oldValue, newValue }]) => oldValue !== newValue));
  }
}
