/**
 * Plays one scenario. Commands are decided as in a space with one process, whose limits for all users and pools of codes never run
 * out.
 */

import * as v from "valibot";
import { parseIsoTime } from "../../../base/calendar/mod.ts";
import { AppError, type FieldError, jsonPointer } from "../../../base/errors/mod.ts";
import { fieldErrors } from "../../../http/requests/validate.ts";
import type { Earning } from "../../leaderboards/mod.ts";
import { type BoardPreview, createBoardPreview } from "../../leaderboards/scores/rebuild.ts";
import { boardFaults } from "../../leaderboards/settings/board_settings.ts";
import type { Command, CommandResult } from "../commit.ts";
import { compileConfig } from "../config/compile.ts";
import { type CompiledConfig, ownValue } from "../config/compiled.ts";
import { choiceOf, hasMember } from "../config/fields.ts";
import { RewardSchema } from "../config/parts.ts";
import { isTakenBack } from "../corrections.ts";
import { advanceTime } from "../engine/advance_time.ts";
import { applyAction, applyGrant, applyReversal, reversedAction } from "../engine/apply_change.ts";
import type { Outcome } from "../engine/next_state.ts";
import { couponExpiry, isCouponValid } from "../engine/rewards.ts";
import { requireRewards } from "../grants.ts";
import { stockPeriodOf, stockTotal } from "../products/orders.ts";
import {
  beginCommand,
  openRedemption,
  refundCommand,
  settleRedemptionCommand,
} from "../products/redemptions.ts";
import type { ProductAddress } from "../products/stock.ts";
import { requireReportable } from "../report.ts";
import { type HistoryEntry, type Notification, transactionsOf } from "../user/history.ts";
import { earningOf } from "../user/read_history.ts";
import {
  emptyState,
  type Gift,
  type ProfileFields,
  pickFields,
  type Redemption,
  type UserState,
} from "../user/state.ts";

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

interface Player {
  state: UserState;
  profile: ProfileFields;
  readonly earnings: Earning[];
  readonly notifications: Notification[];
}

interface NamedStep {
  readonly user: string;
  readonly record?: HistoryEntry;
  redemption?: Redemption | undefined;
  isReversed: boolean;
}

interface StepContext {
  readonly at: number;
  readonly user: string;
  readonly pointer: string;
}

class ScenarioPlayer {
  readonly errors: FieldError[] = [];
  readonly checks: ScenarioCheck[] = [];
  readonly #config: CompiledConfig;
  readonly #preview: BoardPreview;
  readonly #pointer: string;
  readonly #players = new Map<string, Player>();
  readonly #named = new Map<string, NamedStep>();
  readonly #sold = new Map<string, number>();
  #users: ReadonlySet<string> = new Set();
  #scenario = "";

  constructor(config: CompiledConfig, preview: BoardPreview, pointer: string) {
    this.#config = config;
    this.#preview = preview;
    this.#pointer = pointer;
  }

  play({ name, steps }: Scenario): this {
    this.#scenario = name;
    this.#users = new Set(steps.map(({ user }) => user));
    let last = Number.NEGATIVE_INFINITY;
    for (const [index, step] of steps.entries()) {
      const pointer = `${this.#pointer}/steps/${index}`;
      if (step.at < last) this.#error(`${pointer}/at`, "Expected no time before the step above");
      last = step.at;
      const context = { at: step.at, user: step.user, pointer };
      if ("profile" in step) {
        const player = this.#player(step.user);
        player.profile = { ...player.profile, ...step.profile };
      } else if ("expect" in step) this.#expect(step, context);
      else if ("grant" in step) this.#grant(step, context);
      else if ("redeem" in step) this.#check(step, context, () => this.#redeem(step, context));
      else if ("refund" in step) this.#check(step, context, () => this.#refund(step, context));
      else if ("reverse" in step) this.#check(step, context, () => this.#reverse(step, context));
      else this.#act(step, context);
    }
    return this;
  }

  #act({ action, data, happenedAt, element, id }: StepOf<"action">, context: StepContext): void {
    const { at, user } = context;
    const isKnown = this.#isValid(context, "/action", () =>
      requireReportable(this.#config, { action, data, isClientReport: false }),
    );
    if (!isKnown) return;
    const named = element && { id: String(data.elementId ?? ""), ...element };
    const time = { at, happenedAt: Math.min(happenedAt ?? at, at) };
    const reported = { name: action, data, ...time, element: named };
    const outcome = applyAction(this.#config, this.#stateAt(user, at), reported, this.#input(user));
    this.#name(id, context, { user, record: this.#take(user, outcome, at), isReversed: false });
  }

  #grant({ grant: rewards, id }: StepOf<"grant">, context: StepContext): void {
    const { at, user } = context;
    if (!this.#isValid(context, "/grant", () => requireRewards(this.#config, rewards, at))) return;
    const grant = { rewards, reason: "Scenario", at };
    const outcome = applyGrant(this.#config, this.#stateAt(user, at), grant, this.#input(user));
    this.#name(id, context, { user, record: this.#take(user, outcome, at), isReversed: false });
  }

  #redeem({ redeem: productId, quantity, currency, id }: StepOf<"redeem">, context: StepContext): void {
    const { at, user } = context;
    const key = id ?? context.pointer;
    const step = { id: key, config: this.#config, now: at };
    const soldIn = (stockPeriod: string | undefined) =>
      this.#sold.get(soldKey({ productId, stockPeriod })) ?? 0;
    const order = { key, productId, quantity, currency };
    let { redemption } = this.#run(context, beginCommand({ ...step, soldIn, hasCode: true }, order), [
      new Map(),
    ]);
    if (redemption?.takesStock === true) this.#sell(redemption, quantity);
    if (redemption?.status === "reserved") {
      const { fulfilment, takesStock } = redemption;
      const coupon = fulfilment.type === "coupon" ? this.#config.coupons.get(fulfilment.couponId) : undefined;
      const code =
        coupon === undefined || redemption.poolId === undefined
          ? null
          : { code: "CODE", expiresAt: couponExpiry(coupon, at, this.#config.config.timeZone) };
      const reservation = { fault: null, isTaken: takesStock, code };
      ({ redemption } = this.#run(context, settleRedemptionCommand(step, reservation), []));
    }
    this.#name(id, context, { user, redemption, isReversed: false });
  }

  #refund({ refund: id }: StepOf<"refund">, context: StepContext): void {
    const named = this.#namedStep(id, context, "/refund");
    if (named?.redemption === undefined) return;
    const { redemption } = named;
    const command = refundCommand({ id: redemption.id, config: this.#config, now: context.at }, true);
    const stored = { value: JSON.stringify(redemption), version: "" };
    const { redemption: refunded } = this.#run(context, command, [stored]);
    if (refunded === undefined) return;
    named.redemption = refunded;
    if (openRedemption(this.#player(context.user).state, refunded.id) === null) return;
    if (refunded.takesStock) this.#sell(refunded, -refunded.quantity);
    const player = this.#player(context.user);
    player.state = { ...player.state, redemptions: [] };
  }

  #reverse({ reverse: id }: StepOf<"reverse">, context: StepContext): void {
    const named = this.#namedStep(id, context, "/reverse");
    if (named?.record === undefined) return;
    const { at, user } = context;
    const { record } = named;
    const transactions = transactionsOf(record);
    const given = transactions.filter(isTakenBack);
    if (named.isReversed || given.length === 0) {
      throw new AppError(
        "conflict",
        "Cannot take the step back as it gave nothing, or was taken back before",
      );
    }
    named.isReversed = true;
    for (const [index, transaction] of given.entries()) {
      const action = reversedAction(record, transactions.indexOf(transaction), index === 0);
      const reversal = { transaction, action, at };
      this.#take(user, applyReversal(this.#config, this.#stateAt(user, at), reversal), at);
    }
  }

  #run({ user, at }: StepContext, command: Command, results: readonly unknown[]): Partial<CommandResult> {
    const result = command.apply?.(this.#stateAt(user, at), results, this.#input(user)) ?? null;
    if (result === null) return {};
    this.#take(user, result, at);
    return result;
  }

  #sell(redemption: Redemption, quantity: number): void {
    const key = soldKey(redemption);
    this.#sold.set(key, (this.#sold.get(key) ?? 0) + quantity);
  }

  #check(step: { readonly refused?: string }, context: StepContext, run: () => void): void {
    const expected = step.refused ?? null;
    let actual: string | null = null;
    try {
      run();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      actual = error.code;
    }
    if (expected === null && actual === null) return;
    const pointer = expected === null ? context.pointer : `${context.pointer}/refused`;
    this.#compare({ pointer, user: context.user, what: "refused", expected, actual });
  }

  /** Lists the faults of a step that could never be made. */
  #isValid({ pointer }: StepContext, part: string, check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const unknown = [{ pointer: part, detail: "Expected an action of the configuration" }];
      for (const { pointer: at, detail } of error.fields ?? unknown) {
        this.#error(`${pointer}${at.replace(/^\/rewards/, part)}`, detail);
      }
      return false;
    }
  }

  #name(id: string | undefined, { pointer }: StepContext, step: NamedStep): void {
    if (id === undefined) return;
    if (this.#named.has(id)) this.#error(`${pointer}/id`, "Expected an id that no earlier step has");
    this.#named.set(id, step);
  }

  #namedStep(
    id: string,
    { user, pointer }: StepContext,
    part: "/refund" | "/reverse",
  ): NamedStep | undefined {
    const named = this.#named.get(id);
    const isOfKind = part === "/refund" ? named?.redemption !== undefined : named?.record !== undefined;
    if (named?.user === user && isOfKind) return named;
    const kind = part === "/refund" ? "purchase" : "action or grant";
    this.#error(`${pointer}${part}`, `Expected the id of an earlier ${kind} of the user`);
    return undefined;
  }

  #take(user: string, outcome: Outcome, at: number): HistoryEntry {
    const player = this.#player(user);
    const { state, notifications } = outcome;
    const { gifts } = state;
    state.gifts = [];
    player.state = state;
    player.notifications.push(...notifications);
    const record = { ...outcome.record, id: `${at}-${state.records}` };
    player.earnings.push(earningOf(record));
    for (const gift of gifts) this.#give(gift, user, at);
    return record;
  }

  /** Gives a gift where the scenario has its user, as one whom nobody has seen gets nothing. */
  #give({ userId, ruleId, rewards }: Gift, from: string, at: number): void {
    if (userId === from || !this.#users.has(userId)) return;
    const grant = { rewards, reason: `Rule ${ruleId}`, at };
    this.#take(userId, applyGrant(this.#config, this.#stateAt(userId, at), grant, this.#input(userId)), at);
  }

  #player(user: string): Player {
    const player = this.#players.get(user) ?? {
      state: emptyState(null),
      profile: {},
      earnings: [],
      notifications: [],
    };
    this.#players.set(user, player);
    return player;
  }

  #input(user: string): { readonly profile: ProfileFields } {
    return { profile: pickFields(this.#player(user).profile, this.#config.customFields) };
  }

  #stateAt(user: string, at: number): UserState {
    const player = this.#player(user);
    const { state, records, notifications } = advanceTime(this.#config, player.state, at);
    player.state = state;
    for (const record of records) player.earnings.push(earningOf({ ...record, id: "" }));
    player.notifications.push(...notifications);
    return state;
  }

  #scoreOn(path: string, user: string, at: number): number | null | undefined {
    const slash = path.lastIndexOf("/");
    const eventId = slash === -1 ? null : path.slice(0, slash);
    const { state, earnings } = this.#player(user);
    const { revision, changedAt, metrics } = state;
    const board = { eventId, leaderboardId: path.slice(slash + 1) };
    return this.#preview.scoreOf(board, { revision, changedAt, metrics, earnings }, at);
  }

  #unitsLeft(productId: string, at: number): number | undefined {
    const product = this.#config.products.get(productId)?.product;
    const total = product === undefined ? null : stockTotal(product);
    if (product === undefined || total === null) return undefined;
    const stockPeriod = stockPeriodOf(this.#config, product, at) ?? undefined;
    return Math.max(0, total - (this.#sold.get(soldKey({ productId, stockPeriod })) ?? 0));
  }

  #expect({ expect }: StepOf<"expect">, { at, user, pointer: of }: StepContext): void {
    const pointer = `${of}/expect`;
    const state = this.#stateAt(user, at);
    const { metrics, coupons, challenges, config } = this.#config;
    const sets = new Set(config.inventory.map(({ id }) => id));
    const ladders = new Set(config.milestones.map(({ id }) => id));
    const parts = {
      boards: (path: string) => this.#scoreOn(path, user, at),
      metrics: (id: string) => ownValue(state.metrics, id) ?? metrics.get(id)?.defaultValue,
      inventory: (id: string) =>
        sets.has(id) ? [...(ownValue(state.inventory, id) ?? [])].sort() : undefined,
      milestones: (id: string) =>
        ladders.has(id) ? (ownValue(state.milestones, id)?.milestoneId ?? "") : undefined,
      challenges: (id: string) =>
        challenges.has(id) ? (ownValue(state.challenges, id)?.status ?? "none") : undefined,
      coupons: (id: string) =>
        coupons.has(id)
          ? state.coupons.filter(one => one.couponId === id && isCouponValid(one, at)).length
          : undefined,
      stock: (id: string) => this.#unitsLeft(id, at),
    };
    for (const [part, actualOf] of Object.entries(parts)) {
      for (const [id, value] of Object.entries(expect[part as keyof typeof parts])) {
        const expected = Array.isArray(value) ? [...value].sort() : value;
        const [at, actual] = [`${pointer}${jsonPointer(part, id)}`, actualOf(id)];
        if (actual === undefined && part === "stock") {
          this.#error(at, "Expected a product with a limited stock");
        } else if (actual === undefined) this.#error(at, `Expected one that is listed under /${part}`);
        else this.#compare({ pointer: at, user, what: `${part}.${id}`, expected, actual });
      }
    }
    if (expect.notifications === undefined) return;
    const titles = this.#player(user).notifications.map(({ title }) => title);
    const compared = { what: "notifications", expected: expect.notifications, actual: titles };
    this.#compare({ pointer: `${pointer}/notifications`, user, ...compared });
  }

  #compare(check: Omit<ScenarioCheck, "scenario" | "hasPassed">): void {
    const hasPassed = JSON.stringify(check.actual) === JSON.stringify(check.expected);
    this.checks.push({ scenario: this.#scenario, ...check, hasPassed });
  }

  #error(pointer: string, detail: string): void {
    this.errors.push({ pointer, detail });
  }
}

function soldKey({
  productId,
  stockPeriod = "",
}: Omit<ProductAddress, "organisationId" | "spaceId">): string {
  return `${productId} ${stockPeriod}`;
}

const scenariosMax = 1_000;
const stepsMax = 10_000;

const time = v.pipe(
  v.string(),
  v.transform((text): number | null => parseIsoTime(text)),
  v.number("Expected a time such as 2026-12-05T12:00:00Z"),
);
const common = { at: time, user: v.pipe(v.string(), v.minLength(1), v.maxLength(128)) };
const scalars = v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]));
/** Names the step for one that takes it back. */
const id = v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(64)));
/** The code with which the step is expected to be refused. @default it takes effect */
const refused = v.exactOptional(v.string());
const actionStep = v.strictObject({
  ...common,
  action: v.string(),
  id,
  data: v.optional(scalars, {}),
  /** For an action that is reported late. */
  happenedAt: v.exactOptional(time),
  /** The element that the action votes for; `isRight` where the user knows the answer. */
  element: v.exactOptional(
    v.strictObject({
      type: v.optional(v.string(), "quiz"),
      points: v.optional(v.number(), 0),
      seconds: v.optional(v.number(), 0),
      isRight: v.exactOptional(v.boolean()),
    }),
  ),
});
const profileStep = v.strictObject({
  ...common,
  profile: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.array(v.string())])),
});
const grantStep = v.strictObject({ ...common, grant: v.pipe(v.array(RewardSchema), v.minLength(1)), id });
const redeemStep = v.strictObject({
  ...common,
  redeem: v.string(),
  quantity: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1)), 1),
  currency: v.exactOptional(v.string()),
  id,
  refused,
});
const refundStep = v.strictObject({ ...common, refund: v.string(), refused });
const reverseStep = v.strictObject({ ...common, reverse: v.string(), refused });
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
  /** Numbers of coupons that have not expired. */
  coupons: v.optional(v.record(v.string(), v.number()), {}),
  /** Units that are left of limited products. */
  stock: v.optional(v.record(v.string(), v.number()), {}),
  notifications: v.exactOptional(v.array(v.string())),
});
const expectStep = v.strictObject({ ...common, expect: expectation });
const steps = {
  expect: expectStep,
  profile: profileStep,
  grant: grantStep,
  redeem: redeemStep,
  refund: refundStep,
  reverse: reverseStep,
  action: actionStep,
};
const step = choiceOf("ScenarioStep", Object.values(steps), input => {
  const kind = Object.keys(steps).find(name => hasMember(input, name)) ?? "action";
  return steps[kind as keyof typeof steps];
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
type StepOf<K extends keyof typeof steps> = v.InferOutput<(typeof steps)[K]>;

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

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot play the scenarios as parts of them are not valid", {
    fields,
  });
}
