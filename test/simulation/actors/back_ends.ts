/** Back ends of a tenant: they report actions in bulk, give rewards, rename users, fill pools, and search. */

import { type Answer, type Ask, send } from "../client.ts";
import { amountOf, type Operation, type TenantModel } from "../model.ts";
import type { World } from "../world.ts";
import { pick } from "./choice.ts";

/** Users of back ends, who have the same ids in every tenant. */
export const reportedUsers: readonly string[] = ["fan-1", "fan-2", "fan-3"];

/** Credentials of a back end. */
export type Credentials = Readonly<Record<string, string>>;

const internal = "/v1/api/audience/internal";

/** A back end with a key. */
export async function playBackEnd(world: World, model: TenantModel, credentials: Credentials): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  let step = 0;
  const call = (name: string, path: string, more: Partial<Ask> = {}): Promise<Answer | null> =>
    send(world, { name, path, tenant: model.tenant, headers: credentials, ...more });
  while (world.isOpen) {
    await scheduler.sleep(random.integer(5_000));
    step += 1;
    const id = `${model.tenant.mark}-crm-${step}`;
    await pick(random, [
      [4, () => reportActions(world, model, call, id)],
      [4, () => giveRewards(world, model, call, id)],
      [2, () => rename(world, model, call, id)],
      [1, () => fillPool(world, model, call, id)],
      [2, () => search(world, call)],
    ]);
  }
}

type Call = (name: string, path: string, more?: Partial<Ask>) => Promise<Answer | null>;

interface Item {
  readonly id: string;
  readonly userId: string;
  readonly operation: Operation;
  readonly body: object;
}

/** Sends a bulk request, also twice, and notes what its results say of each item. */
async function sendItems(
  world: World,
  items: readonly Item[],
  ask: () => Promise<Answer | null>,
): Promise<void> {
  for (let time = 0; time < (world.scheduler.random.chance(0.3) ? 2 : 1); time++) {
    const answer = await ask();
    if (answer === null) continue;
    const results = answer.json?.data?.results ?? [];
    if (results.length !== items.length) world.fault(`a bulk request was answered: ${answer.text}`);
    for (const { index, status, error } of results) {
      const operation = items[index]?.operation;
      if (operation === undefined) continue;
      if (status === "succeeded" || status === "duplicate" || status === "queued")
        operation.outcome = "applied";
      else if (error?.retryable !== true) world.fault(`an item was refused: ${answer.text}`);
    }
  }
}

function pickUsers(world: World, model: TenantModel): readonly string[] {
  const { random } = world.scheduler;
  const all = [...reportedUsers, ...[...model.users.values()].filter(isStaying).map(({ userId }) => userId)];
  return Array.from({ length: 1 + random.integer(6) }, () => random.pick(all));
}

function isStaying(user: { readonly isLeaving: boolean }): boolean {
  return !user.isLeaving;
}

async function reportActions(world: World, model: TenantModel, call: Call, id: string): Promise<void> {
  const { random } = world.scheduler;
  const items = pickUsers(world, model).map((userId, index): Item => {
    const action = random.pick(["cheer", "visit", "rest"]);
    const actionId = `${id}-${index}`;
    const operation = model
      .user(userId)
      .begin(actionId, { kind: "action", name: action, amount: amountOf("action", action) });
    const { projectId } = model.tenant;
    const body = { userId, action, actionId, projectId, data: { by: model.tenant.mark } };
    return { id: actionId, userId, operation, body };
  });
  const body = { actions: items.map(({ body }) => body) };
  await sendItems(world, items, () => call("report in bulk", `${internal}/actions/bulk`, { body }));
}

async function giveRewards(world: World, model: TenantModel, call: Call, id: string): Promise<void> {
  const { random } = world.scheduler;
  const items = pickUsers(world, model).map((userId, index): Item => {
    const amount = 1 + random.integer(4);
    const rewardId = `${id}-${index}`;
    const operation = model.user(userId).begin(rewardId, { kind: "reward", name: "points", amount });
    const { projectId, mark } = model.tenant;
    const body = { userId, rewardId, type: "metric", currency: "points", amount, projectId, reason: mark };
    return { id: rewardId, userId, operation, body };
  });
  const body = { rewards: items.map(({ body }) => body) };
  await sendItems(world, items, () => call("reward in bulk", `${internal}/rewards/bulk`, { body }));
}

async function rename(world: World, model: TenantModel, call: Call, id: string): Promise<void> {
  const userId = world.scheduler.random.pick(reportedUsers);
  const user = model.user(userId);
  const displayName = `The ${id}`;
  user.openNames.add(displayName);
  const body = { updates: [{ userId, displayName, updateId: id }] };
  const answer = await call("rename", `${internal}/profiles/update-batch`, { body });
  if (answer?.json?.data?.results?.[0]?.status !== "succeeded") return;
  user.displayName = displayName;
  // This back end alone names its users, one after the other.
  user.openNames.clear();
}

async function fillPool(world: World, model: TenantModel, call: Call, id: string): Promise<void> {
  const codes = Array.from({ length: 1 + world.scheduler.random.integer(3) }, (_, n) => `${id}-${n}`);
  for (const code of codes) model.codes.add(code);
  await call("fill pool", "/internal/loyalty/pools/drinks/codes", { body: { codes } });
}

/** A search finds every user once, with what is known to be acknowledged. */
async function search(world: World, call: Call): Promise<void> {
  const body = { filter: {}, fields: ["userId", "displayName", "metrics"], limit: 100 };
  const answer = await call("search", `${internal}/users/search`, { body });
  const found: string[] = (answer?.json?.data ?? []).map(({ userId }: { userId: string }) => userId);
  if (new Set(found).size < found.length) world.fault(`a search found a user twice: ${found.join()}`);
}
