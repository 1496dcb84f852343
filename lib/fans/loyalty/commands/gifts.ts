/**
 * Gifts: rewards of a rule for another user than the one of the action.
 *
 * The users are in different partitions. The commit of the action notes the gift in the state of the giving user. Then the other
 * user gets it, once, and at last the note is removed. So a process may stop at any step, and the gift is sent again.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { Logger } from "../../../http/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import { readAccountNote, signUpProjectOf } from "../../users/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { applyRefusals, type Refusal } from "../engine/mod.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { type Gift, onAccount, type UserState } from "../user/state.ts";
import { readState } from "../user/stored_state.ts";
import type { Command, CommandDecision } from "./command.ts";
import { grantCommand } from "./grants.ts";

/** Services of {@linkcode sendGifts}. */
export interface GiftServices {
  readonly store: Store;
  readonly logger: Logger;
  readonly run: (
    user: SpaceUser,
    makeCommand: (config: CompiledConfig, now: number) => Command,
  ) => Promise<CommandDecision>;
}

/** Longest id of a user, in characters. */
const userIdMax = 128;

const reasons = {
  self: "Cannot give the reward as the action names its own user",
  unknown: "Cannot give the reward as the action names nobody who is known",
} as const;

/** Sends the gifts of a user and returns how many are left because of failures. It may be repeated. */
export async function sendGifts(
  services: GiftServices,
  user: SpaceUser,
  { gifts }: Pick<UserState, "gifts">,
): Promise<number> {
  const { logger, run } = services;
  const settled = new Set<string>();
  const refusals: Refusal[] = [];
  const onFailed = (error: unknown): void => logger.log("warn", "gift_deferred", { error: String(error) });
  for (const gift of gifts) {
    try {
      const reason = await sendGift(services, user, gift);
      settled.add(gift.id);
      if (reason !== null) refusals.push({ gift, reason: reasons[reason] });
    } catch (error) {
      onFailed(error);
    }
  }
  if (settled.size === 0) return gifts.length;
  try {
    await run(user, (config, now) => settleCommand(config, { settled, refusals }, now));
    return gifts.length - settled.size;
  } catch (error) {
    onFailed(error);
    return gifts.length;
  }
}

/** Gives a gift to its user, once. Returns why the user cannot get it; null where the user has it. */
async function sendGift(
  services: GiftServices,
  from: SpaceUser,
  { id, userId, ruleId, rewards }: Gift,
): Promise<keyof typeof reasons | null> {
  const to: SpaceUser = { ...from, userId, projectId: null };
  if (!(await isKnown(services.store, to))) return "unknown";
  const order = {
    rewards,
    reason: `Rule ${ruleId}`,
    metadata: { ruleId, fromUserId: from.userId },
    id: `referral:${from.userId}:${id}`,
  };
  try {
    return await onAccount(to, async of => {
      if (of.userId === from.userId) return "self";
      await services.run(of, (config, now) => grantCommand(config, order, now));
      return null;
    });
  } catch (error) {
    // The user was removed since.
    if (error instanceof AppError && error.code === "forbidden") return "unknown";
    throw error;
  }
}

/** Tests if a user has signed up, or has been seen otherwise: nothing is written of ids that nobody has. */
async function isKnown(store: Store, user: SpaceUser): Promise<boolean> {
  const { userId } = user;
  if (userId === "" || userId.length > userIdMax || !userId.isWellFormed()) return false;
  const [account, state] = await store.read(spaceUserPartition(user), [readAccountNote, readState]);
  return state !== null || signUpProjectOf(account) !== null;
}

/** Makes the command that removes the notes of gifts from their giver, and records those that were refused. */
function settleCommand(
  config: CompiledConfig,
  { settled, refusals }: { readonly settled: ReadonlySet<string>; readonly refusals: readonly Refusal[] },
  now: number,
): Command {
  return {
    isIdempotent: true,
    isFromSweep: true,
    settledGifts: settled,
    decide: state => {
      const open = refusals.filter(({ gift }) => state.gifts.some(({ id }) => id === gift.id));
      return open.length === 0 ? null : applyRefusals(config, state, { refusals: open, at: now });
    },
  };
}
