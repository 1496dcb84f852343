/**
 * Background work of users, which finishes what an interrupted process left behind and does what time alone brings. The servers and
 * workers of a deployment call it by `platform.work()`, every few seconds.
 */

import type { Command } from "./commit.ts";
import { couponRetryMs } from "./coupons/coupons.ts";
import { deliverLate, deliverStateNow } from "./deliver.ts";
import { sweepDueUsers } from "./due_users.ts";
import type { Products } from "./products/products.ts";
import { type CommandServices, runCommand, sendGifts } from "./run.ts";
import type { SpaceUser } from "./user/state.ts";
import type { Voters } from "./votes/voters.ts";
import type { Webhooks } from "./webhooks/webhooks.ts";

/** Delivers what is late, to boards and to webhooks, and runs due work of users. */
export async function sweep(
  services: CommandServices & { readonly webhooks: Webhooks; readonly holder: string },
  dueWork: (user: SpaceUser) => Promise<number | null>,
): ReturnType<typeof sweepDueUsers> {
  const { webhooks, logger } = services;
  await deliverLate(services);
  await webhooks.work();
  return await sweepDueUsers({
    ...services,
    processUser: user => dueWork({ ...user, projectId: null }),
    onFailed: (_, error) => logger.log("warn", "due_user_failed", { error: String(error) }),
  });
}

/** Pause before undelivered scores and unfinished redemptions are tried again, in ms. */
const dueRetryMs = 60_000;
const timeCommand: Command = { kind: "time", isFromSweep: true };

/**
 * Advances the user's time, finishes redemptions, delivers scores and webhook messages, and assigns codes to coupons. Returns when
 * to do so next, in Unix ms; null: never. It may be interrupted anywhere: whichever process finds the user next repeats it.
 */
export async function processDueUser(
  services: CommandServices & {
    readonly products: Products;
    readonly webhooks: Webhooks;
    readonly voters: Voters;
  },
  user: SpaceUser,
): Promise<number | null> {
  const { clock, coupons, products, webhooks, voters, users, boards, userIndex } = services;
  const cachedUser = users.get(user);
  const settled = await runCommand(services, user, () => timeCommand);
  const unfinished = await products.finish(user, settled.state);
  const isChanged = settled.state.redemptions.length > unfinished;
  const committed = isChanged ? await runCommand(services, user, () => timeCommand) : settled;
  const { state, updates } = committed;
  if (state.mergedInto !== null) {
    // A score may have been under way when the user was closed, and each registration lists the user again.
    const projectId = state.projectId ?? user.projectId;
    if (projectId !== null) await boards.removeUser(projectId, user.userId);
    await userIndex.unlist(user);
  }
  const isListed = await voters.list(cachedUser, state.voterOf);
  const isDelivered = (await deliverStateNow(services, cachedUser, committed)) && isListed;
  if (isDelivered && updates.length + state.voterOf.length > 0) {
    await runCommand(services, user, () => ({ kind: "time", isFromSweep: true, dropsDelivered: true }));
  }
  const giftsLeft = state.gifts.length === 0 ? 0 : await sendGifts(services, user, state);
  const withoutCode = await coupons.assignCodes(user, state);
  const webhooksDueAt = await webhooks.deliver(user);
  const now = clock();
  const times = [
    state.dueAt,
    webhooksDueAt,
    isDelivered && unfinished === 0 && giftsLeft === 0 ? null : now + dueRetryMs,
    withoutCode === 0 ? null : now + couponRetryMs,
  ].filter(time => time !== null);
  return times.length === 0 ? null : Math.min(...times);
}
