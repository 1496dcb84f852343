/**
 * Due work of a user: changes by time alone, and effects that an interrupted process has left behind.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Command } from "./commands/command.ts";
import type { CommandRunner } from "./commands/command_runner.ts";
import { type Coupons, couponRetryMs } from "./coupons/mod.ts";
import type { Products } from "./products/mod.ts";
import type { Member } from "./user/member.ts";
import type { Webhooks } from "./webhooks/mod.ts";

/** Services that due work needs. */
export interface DueWorkServices {
  readonly clock: Clock;
  readonly commands: CommandRunner;
  readonly coupons: Pick<Coupons, "assignCodes">;
  readonly products: Pick<Products, "finish">;
  readonly webhooks: Pick<Webhooks, "deliver">;
}

/** Pause before undelivered scores and unfinished redemptions are tried again, in ms. */
const retryMs = 60_000;
const timeCommand: Command = { isFromSweep: true };

/**
 * Advances the user's time, finishes redemptions, delivers scores and webhook messages, and assigns codes to coupons. Returns when
 * to do so next, in Unix ms; null: never. It may be interrupted anywhere: whichever process finds the user next repeats it.
 */
export async function processDueUser(services: DueWorkServices, member: Member): Promise<number | null> {
  const { clock, commands, coupons, products, webhooks } = services;
  const settled = await commands.run(member, () => timeCommand);
  const unfinished = await products.finish(member, settled.state);
  const isChanged = settled.state.redemptions.length > unfinished;
  const { state, updates } = isChanged ? await commands.run(member, () => timeCommand) : settled;
  const isDelivered = await commands.deliverScoresNow(member, updates);
  if (isDelivered && updates.length > 0) {
    await commands.run(member, () => ({ ...timeCommand, dropsDelivered: true }));
  }
  const withoutCode = await coupons.assignCodes(member, state);
  const webhooksDueAt = await webhooks.deliver(member);
  const now = clock();
  const times = [
    state.dueAt,
    webhooksDueAt,
    isDelivered && unfinished === 0 ? null : now + retryMs,
    withoutCode === 0 ? null : now + couponRetryMs,
  ].filter(time => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}
