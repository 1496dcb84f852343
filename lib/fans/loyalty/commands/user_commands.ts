/**
 * The commands that callers give about a user: report, grant, adjust and reverse.
 *
 * @module
 */

import type { ReversedAction } from "../engine/mod.ts";
import { parseEntryId, type TransactionView, transactionView } from "../user/history.ts";
import type { SpaceUser } from "../user/space_user.ts";
import { MergedUserError, onAccount } from "../user/state.ts";
import type { CommandDecision } from "./command.ts";
import type { CommandRunner, CommandServices } from "./command_runner.ts";
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
import { createReports, type ReportServices } from "./reports.ts";

type UserCommandServices = ReportServices & Pick<CommandServices, "configOf" | "limits" | "logger">;

export type UserCommands = ReturnType<typeof createUserCommands>;

export function createUserCommands(services: UserCommandServices, { run, runAll }: CommandRunner) {
  const { store } = services;
  return {
    ...createReports(services, { run, runAll }),
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
     * Takes back what a transaction gave and took, by its own id or that of an entry of it. Of a user who was merged, the account
     * gives and gets the points.
     *
     * @throws {AppError} `not_found`, or `conflict` where that was done already or the transaction changed nothing.
     */
    reverse: (user: SpaceUser, id: string): Promise<TransactionView> =>
      reverse(services, run, { user, ...parseEntryId(id) }),
  };
}

async function reverse(
  services: UserCommandServices,
  run: CommandRunner["run"],
  { user, transactionId, index }: { readonly user: SpaceUser } & ReturnType<typeof parseEntryId>,
): Promise<TransactionView> {
  const { store } = services;
  const of = await findReversedAction(store, user, { transactionId, index });
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
