/**
 * Attending to a user who does not come by: what time alone has changed, and what a process that ended has left behind.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Command } from "./commands/command.ts";
import type { CommandRunner } from "./commands/command_runner.ts";
import type { Coupons } from "./coupons/mod.ts";
import { couponRetryMs } from "./coupons/mod.ts";
import type { Products } from "./products/mod.ts";
import type { Member } from "./user/member.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** After how long what could not be delivered is delivered again, in ms. */
export const deliveryRetryMs = 60_000;

/** What attending needs. */
export interface ProcessDueUserOptions {
  readonly clock: Clock;
  readonly changes: CommandRunner;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly redemptions: Pick<Products, "finish">;
  readonly webhooks: Pick<Webhooks, "deliver">;
}

const passing: Command = { scoring: { action: "", data: {} }, isFromSweep: true };

/**
 * Settles a user, brings redemptions to their end, delivers what waits for boards and webhooks, gives codes to coupons that are
 * without, and says when to look again, in Unix ms; null: never. It may be interrupted anywhere and repeated, by whoever finds
 * the user on the agenda.
 */
export async function processDueUser(options: ProcessDueUserOptions, member: Member): Promise<number | null> {
  const { clock, changes, coupons, redemptions, webhooks } = options;
  const met = await changes.run(member, () => passing);
  const stuck = await redemptions.finish(member, met.state);
  const isChanged = met.state.redemptions.length > stuck;
  const { state, updates } = isChanged ? await changes.run(member, () => passing) : met;
  const arrived = await changes.deliverScoresNow(member, updates);
  if (arrived && updates.length > 0) await changes.run(member, () => ({ ...passing, dropsDelivered: true }));
  const withoutCode = await coupons.assignCodes(member, state);
  const untoldAt = await webhooks.deliver(member);
  const now = clock();
  const times = [
    state.dueAt,
    untoldAt,
    arrived && stuck === 0 ? null : now + deliveryRetryMs,
    withoutCode === 0 ? null : now + couponRetryMs,
  ].filter(time => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}
