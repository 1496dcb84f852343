/**
 * Scenarios: what users do and what they are expected to have then, played against a configuration without a server.
 *
 * @module
 */

import * as v from "valibot";
import { parseIsoTime } from "../../calendar/mod.ts";
import { AppError, type FieldError, jsonPointer } from "../../errors/mod.ts";
import { type BoardPreview, boardFaults, createBoardPreview, type Earning } from "../../leaderboards/mod.ts";
import { requireReportable } from "../commands/user_commands.ts";
import { compileConfig } from "../config/compile.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { choiceOf, fieldErrors, hasMember } from "../config/fields.ts";
import { ownValue } from "../config/scope.ts";
import { advanceTime, applyAction, applyGrant } from "../engine/mod.ts";
import type { HistoryRecord } from "../user/history.ts";
import { type ProfileFields, pickFields } from "../user/profile_fields.ts";
import { earningOf } from "../user/read_history.ts";
import { emptyState, type Gift, type UserState } from "../user/state.ts";

const scenariosMax = 1_000;
const stepsMax = 10_000;

const time = v.pipe(
  v.string(),
  v.transform((text): number | null => parseIsoTime(text)),
  v.number("Expected a time such as 2026-12-05T12:00:00Z"),
);
const common = { at: time, user: v.pipe(v.string(), v.minLength(1), v.maxLength(128)) };
const scalars = v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]));
const actionStep = v.strictObject({
  ...common,
  action: v.string(),
  data: v.optional(scalars, {}),
  /** For an action that is reported late. */
  happenedAt: v.exactOptional(time),
});
const profileStep = v.strictObject({
  ...common,
  profile: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.array(v.string())])),
});
const expectation = v.strictObject({
  metrics: v.optional(v.record(v.string(), v.number()), {}),
  /** Scores by the ids of boards, those of an event as `<eventId>/<boardId>`; null: not on the board. */
  boards: v.optional(v.record(v.string(), v.nullable(v.number())), {}),
  inventory: v.optional(v.record(v.string(), v.array(v.string())), {}),
  /** The highest rung of each ladder; empty before the first. */
  milestones: v.optional(v.record(v.string(), v.string()), {}),
  challenges: v.optional(
    v.record(v.string(), v.picklist(["none", "in_progress", "completed", "failed"])),
    {},
  ),
});
const expectStep = v.strictObject({ ...common, expect: expectation });
const step = choiceOf("ScenarioStep", [actionStep, profileStep, expectStep], input => {
  if (hasMember(input, "expect")) return expectStep;
  return hasMember(input, "profile") ? profileStep : actionStep;
});

const section = v.exactOptional(v.unknown());
const ScenariosSchema = v.strictObject({
  /** The sections of a project's settings that declare boards. */
  boards: v.optional(v.strictObject({ leaderboards: section, eventLeaderboards: section }), {}),
  scenarios: v.pipe(
    v.array(
      v.strictObject({
        name: v.string(),
        steps: v.pipe(v.array(step), v.minLength(1), v.maxLength(stepsMax)),
      }),
    ),
    v.minLength(1),
    v.maxLength(scenariosMax),
  ),
});

type Scenario = v.InferOutput<typeof ScenariosSchema>["scenarios"][number];
type ExpectStep = v.InferOutput<typeof expectStep>;

/** A comparison of what a user has with what was expected. */
export interface ScenarioCheck {
  readonly scenario: string;
  /** JSON Pointer of the expectation. */
  readonly pointer: string;
  readonly user: string;
  /** What was compared, such as `metrics.points`. */
  readonly what: string;
  readonly expected: unknown;
  readonly actual: unknown;
  readonly hasPassed: boolean;
}

/**
 * Plays scenarios, each with users of its own. Limits for all users together and the stock of code pools never run out.
 *
 * @param document The configuration.
 * @throws {AppError} `validation_failed`, with the pointers of the errors in the scenarios.
 */
export function playScenarios(document: unknown, source: unknown): readonly ScenarioCheck[] {
  const config = compileConfig(document);
  const parsed = v.safeParse(ScenariosSchema, source);
  if (!parsed.success) throw invalid(fieldErrors(parsed.issues));
  const { boards, scenarios } = parsed.output;
  const faults = boardFaults(boards, "/boards");
  if (faults.length > 0) throw invalid(faults);
  const preview = createBoardPreview(boards, "/boards");
  const played = scenarios.map((scenario, index) =>
    new ScenarioPlayer(config, preview, `/scenarios/${index}`).play(scenario),
  );
  const errors = played.flatMap(({ errors }) => errors);
  if (errors.length > 0) throw invalid(errors);
  return played.flatMap(({ checks }) => checks);
}

/** Plays one scenario. */
class ScenarioPlayer {
  readonly errors: FieldError[] = [];
  readonly checks: ScenarioCheck[] = [];
  readonly #config: CompiledConfig;
  readonly #preview: BoardPreview;
  readonly #pointer: string;
  readonly #states = new Map<string, UserState>();
  readonly #earnings = new Map<string, Earning[]>();
  #users: ReadonlySet<string> = new Set();
  readonly #profiles = new Map<string, ProfileFields>();

  constructor(config: CompiledConfig, preview: BoardPreview, pointer: string) {
    this.#config = config;
    this.#preview = preview;
    this.#pointer = pointer;
  }

  play({ name, steps }: Scenario): this {
    this.#users = new Set(steps.map(({ user }) => user));
    let last = Number.NEGATIVE_INFINITY;
    for (const [index, step] of steps.entries()) {
      const pointer = `${this.#pointer}/steps/${index}`;
      if (step.at < last) {
        this.errors.push({ pointer: `${pointer}/at`, detail: "Expected no time before the step above" });
      }
      last = step.at;
      if ("expect" in step) this.#expect(name, step, `${pointer}/expect`);
      else if ("profile" in step) {
        this.#profiles.set(step.user, { ...this.#profiles.get(step.user), ...step.profile });
      } else this.#act(step, pointer);
    }
    return this;
  }

  #act({ user, action, data, at, happenedAt = at }: v.InferOutput<typeof actionStep>, pointer: string): void {
    const config = this.#config;
    try {
      requireReportable(config, { action, data, isClientReport: false });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const fields = error.fields ?? [
        { pointer: "/action", detail: "Expected an action of the configuration" },
      ];
      for (const field of fields) this.errors.push({ ...field, pointer: `${pointer}${field.pointer}` });
      return;
    }
    const reported = { name: action, data, at, happenedAt: Math.min(happenedAt, at) };
    const { state, record } = applyAction(config, this.#stateAt(user, at), reported, this.#input(user));
    const { gifts } = state;
    state.gifts = [];
    this.#keep(user, state, [record]);
    for (const gift of gifts) this.#give(gift, user, at);
  }

  /** Gives a gift where the scenario has its user, as one whom nobody has seen gets nothing. */
  #give({ userId, ruleId, rewards }: Gift, from: string, at: number): void {
    if (userId === from || !this.#users.has(userId)) return;
    const grant = { rewards, reason: `Rule ${ruleId}`, at };
    const before = this.#stateAt(userId, at);
    const { state, record } = applyGrant(this.#config, before, grant, this.#input(userId));
    this.#keep(userId, state, [record]);
  }

  #keep(user: string, state: UserState, records: readonly HistoryRecord[]): void {
    this.#states.set(user, state);
    const earnings = this.#earnings.get(user) ?? [];
    for (const record of records) earnings.push(earningOf({ ...record, id: "" }));
    this.#earnings.set(user, earnings);
  }

  #input(user: string): { readonly profile: ProfileFields } {
    return { profile: pickFields(this.#profiles.get(user) ?? {}, this.#config.customFields) };
  }

  #stateAt(user: string, at: number): UserState {
    const { state, records } = advanceTime(this.#config, this.#states.get(user) ?? emptyState(null), at);
    this.#keep(user, state, records);
    return state;
  }

  #scoreOn(path: string, user: string, state: UserState, at: number): number | null | undefined {
    const slash = path.lastIndexOf("/");
    const eventId = slash === -1 ? null : path.slice(0, slash);
    const { revision, changedAt, metrics } = state;
    const earned = { revision, changedAt, metrics, earnings: this.#earnings.get(user) ?? [] };
    return this.#preview.scoreOf({ eventId, leaderboardId: path.slice(slash + 1) }, earned, at);
  }

  #expect(scenario: string, { user, at, expect }: ExpectStep, pointer: string): void {
    const state = this.#stateAt(user, at);
    const { metrics, config } = this.#config;
    const sets = new Set(config.inventory.map(({ id }) => id));
    const ladders = new Set(config.milestones.map(({ id }) => id));
    const parts = {
      boards: (path: string) => this.#scoreOn(path, user, state, at),
      metrics: (id: string) => ownValue(state.metrics, id) ?? metrics.get(id)?.defaultValue,
      inventory: (id: string) =>
        sets.has(id) ? [...(ownValue(state.inventory, id) ?? [])].sort() : undefined,
      milestones: (id: string) =>
        ladders.has(id) ? (ownValue(state.milestones, id)?.milestoneId ?? "") : undefined,
      challenges: (id: string) =>
        this.#config.challenges.has(id) ? (ownValue(state.challenges, id)?.status ?? "none") : undefined,
    };
    for (const [part, actualOf] of Object.entries(parts)) {
      for (const [id, value] of Object.entries(expect[part as keyof typeof parts])) {
        const expected = Array.isArray(value) ? [...value].sort() : value;
        const [at, actual] = [`${pointer}${jsonPointer(part, id)}`, actualOf(id)];
        if (actual === undefined) {
          this.errors.push({ pointer: at, detail: `Expected one that is listed under /${part}` });
          continue;
        }
        const hasPassed = JSON.stringify(actual) === JSON.stringify(expected);
        this.checks.push({ scenario, pointer: at, user, what: `${part}.${id}`, expected, actual, hasPassed });
      }
    }
  }
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot play the scenarios as parts of them are not valid", {
    fields,
  });
}
