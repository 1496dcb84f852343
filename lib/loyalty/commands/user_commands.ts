/**
 * The commands that callers give about a user: report, grant, adjust and reverse.
 *
 * @module
 */

import { AppError, type FieldError } from "../../errors/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, ActionDefinition } from "../config/document.ts";
import { ownValue } from "../config/scope.ts";
import { type Action, applyAction, type ReversedAction } from "../engine/mod.ts";
import { type TransactionView, transactionView } from "../user/history.ts";
import type { SpaceUser } from "../user/space_user.ts";
import { MergedUserError, onAccount, requireUnmerged } from "../user/state.ts";
import type { Command, CommandDecision } from "./command.ts";
import type { BatchOutcome, CommandRunner, CommandServices, MakeCommand } from "./command_runner.ts";
import {
  type AdjustmentOrder,
  adjustmentCommand,
  findAdjustment,
  findReversedAction,
  mergedReversal,
  reversalCommand,
  reversedBefore,
} from "./corrections.ts";
import { type GrantOrder, grantCommand, requireRewards } from "./grants.ts";

type UserCommandServices = Pick<CommandServices, "store" | "configOf" | "limits" | "logger">;

/** The commands about users. */
export type UserCommands = ReturnType<typeof createUserCommands>;

/** Creates the commands about users. */
export function createUserCommands(services: UserCommandServices, { run, runAll }: CommandRunner) {
  const { store } = services;
  return {
    /**
     * Applies an action; it has taken effect when the promise resolves, and boards follow in the background. Returns false where
     * an action with the same id took effect before.
     *
     * @throws {AppError} `forbidden` where the caller may not report the action, `validation_failed` where its data are not as
     *   declared.
     */
    report: (user: SpaceUser, report: ActionReport): Promise<boolean> =>
      onAccount(user, of => run(of, reporting(report))).then(hasTakenEffect),
    /** Applies actions of one user in their order, up to the first that fails, with as few commits as possible. */
    async reportAll(user: SpaceUser, reports: readonly ActionReport[]): Promise<BatchOutcome> {
      const outcome = await runAll(user, reports.map(reporting));
      if (!(outcome.error instanceof MergedUserError)) return outcome;
      const account = { ...user, userId: outcome.error.account };
      const rest = await runAll(account, reports.slice(outcome.applied).map(reporting));
      return { ...rest, applied: outcome.applied + rest.applied };
    },
    /**
     * Gives rewards; null where a grant with the same id took effect before.
     *
     * @throws {AppError} `validation_failed` where the configuration does not name one of them.
     */
    async grant(user: SpaceUser, order: GrantOrder): Promise<TransactionView | null> {
      const decision = await onAccount(user, of =>
        run(of, (config, now) => {
          requireRewards(config, order.rewards, now);
          return grantCommand(config, order, now);
        }),
      );
      return firstTransaction(decision);
    },
    /**
     * Adjusts metrics, within their bounds, and returns the id of the transaction; null where nothing changed, now or because the
     * adjustment took effect before.
     *
     * @throws {AppError} `validation_failed` where the configuration does not name one of them.
     */
    async adjust(user: SpaceUser, order: AdjustmentOrder): Promise<string | null> {
      const decision = await onAccount(user, of =>
        run(of, (config, now) => adjustmentCommand(config, order, now)),
      );
      return decision.result === null ? null : decision.recordId;
    },
    /** Finds the transaction of an adjustment with an id, recorded at a time (Unix ms) or soon after. */
    findAdjustment: (user: SpaceUser, adjustment: { readonly id: string; readonly from: number }) =>
      findAdjustment(store, user, adjustment),
    /**
     * Takes back what a transaction gave and took. Of a user who was merged, the account gives and gets the points.
     *
     * @throws {AppError} `not_found`, or `conflict` where that was done already or the transaction changed nothing.
     */
    reverse: (user: SpaceUser, transactionId: string): Promise<TransactionView> =>
      reverse(services, run, { user, transactionId }),
  };
}

async function reverse(
  services: UserCommandServices,
  run: CommandRunner["run"],
  { user, transactionId }: { readonly user: SpaceUser; readonly transactionId: string },
): Promise<TransactionView> {
  const { store } = services;
  const of = await findReversedAction(store, user, transactionId);
  let decision: CommandDecision;
  try {
    decision = await run(user, (config, now) => reversalCommand(config, { transactionId, of }, now));
  } catch (error) {
    if (!(error instanceof MergedUserError)) throw error;
    const order = await mergedReversal(store, user, transactionId);
    const account = { ...user, userId: error.account };
    decision = await run(account, (config, now) => adjustmentCommand(config, order(config), now));
  }
  const transaction = firstTransaction(decision);
  if (transaction === null) throw reversedBefore();
  if (of !== undefined) await giveBackUse(services, user, of);
  return transaction;
}

/** Gives back the use of a limit for all users. One that cannot be given back now stays counted until its window ends. */
async function giveBackUse(
  { configOf, limits, logger }: UserCommandServices,
  { organisationId, spaceId, userId }: SpaceUser,
  { action: { id }, at, ruleId }: ReversedAction,
): Promise<void> {
  if (id === undefined || ruleId === null) return;
  try {
    const { limitedRules, config } = await configOf(spaceId);
    if (!limitedRules.has(ruleId)) return;
    const claimant = {
      organisationId,
      spaceId,
      userId,
      actionId: `action:${id}`,
      timeZone: config.timeZone,
      weekStartsOn: config.weekStartsOn,
      at,
    };
    await limits.giveBack(claimant, ruleId);
  } catch (error) {
    logger.log("warn", "rule_use_lost", { error: String(error) });
  }
}

/** Checks that the action may be reported, then makes its command. */
function reporting(report: ActionReport): MakeCommand {
  return (config, now) => {
    requireReportable(config, report);
    return reportCommand(config, report, now);
  };
}

function hasTakenEffect({ result }: CommandDecision): boolean {
  return result !== null;
}

function firstTransaction({ result, recordId }: CommandDecision): TransactionView | null {
  const [first] = result?.record.transactions ?? [];
  if (result === null || first === undefined || recordId === null) return null;
  return transactionView({
    ...first,
    id: recordId,
    at: result.record.at,
    metadata: first.payload.metadata,
  });
}

/** An action that a fan or a back end reports. */
export interface ActionReport {
  readonly action: string;
  readonly data: ActionData;
  /** Reports of one user with the same id take effect once; ids are remembered for 7 to 14 days. */
  readonly actionId?: string;
  /** True for reports of a fan's own device, which the action must allow. */
  readonly isClientReport: boolean;
  /** The user's project as a back end names it; a user of another one refuses the action. @default unnamed */
  readonly projectId?: string | undefined;
  /** When the action happened, Unix ms; no later than now. @default now */
  readonly at?: number;
  /** Notes that its transactions show. @default none */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Checks that the caller may report the action and that its data are as declared.
 *
 * @throws {AppError} `forbidden` or `validation_failed`.
 */
export function requireReportable(config: CompiledConfig, report: ActionReport): void {
  const plan = config.actions.get(report.action);
  if (plan === undefined && !report.isClientReport) {
    throw new AppError(
      "forbidden",
      "Cannot report the action as the configuration of the space does not name it",
    );
  }
  if (plan === undefined || (report.isClientReport && !plan.definition.clientReportable)) {
    throw new AppError("forbidden", "Cannot report the action as it is not one that this caller may report");
  }
  const fields = dataErrors(plan.definition, report.data);
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot report the action as its data are not as declared", {
    fields,
  });
}

/** Makes the command of a report. */
function reportCommand(config: CompiledConfig, report: ActionReport, now: number): Command {
  const { action: name, data, actionId: id, metadata, projectId } = report;
  const at = Math.min(report.at ?? now, now);
  const action: Action = { name, data, at, id, metadata };
  return {
    at,
    projectId,
    once: id === undefined ? undefined : { of: "action", id },
    scoring: { action: name, data },
    decide: (state, _, { isReached, profile }) => {
      requireUnmerged(state);
      return applyAction(config, state, action, { globalLimitReached: isReached, profile });
    },
  };
}

function dataErrors({ data: declared }: ActionDefinition, data: ActionData): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (declared === undefined) return errors;
  for (const name of Object.keys(data)) {
    const type = ownValue(declared, name);
    if (typeof data[name] === type) continue;
    const pointer = `/data/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const detail = type === undefined ? "Expected a declared property" : `Expected a ${type}`;
    errors.push({ pointer, detail });
  }
  return errors;
}
