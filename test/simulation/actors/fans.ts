/** Fans: they register, act, redeem, and look at what they have. */

import { type Answer, send } from "../client.ts";
import { amountOf, type TenantModel, type UserModel } from "../model.ts";
import type { World } from "../world.ts";
import { pick } from "./choice.ts";

/** A fan who may act. */
export interface Fan {
  readonly user: UserModel;
  /** Proves a guest, who thereby becomes an account or goes into one. */
  readonly pair: { readonly externalId: string; readonly deviceId: string };
  token: string;
}

const selector = { strategy: "simplified", provider: "anonymous" } as const;

/** A fan with a device, who comes and goes. */
export async function playFan(world: World, model: TenantModel, number: number): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const fan = await register(world, model, number);
  let step = 0;
  while (fan !== null && world.isOpen && !fan.user.isLeaving) {
    await scheduler.sleep(random.integer(4_000));
    step += 1;
    const id = `${model.tenant.mark}-${number}-${step}`;
    await pick(random, [
      [6, () => act(world, model, fan, id)],
      [model.polls.size === 0 ? 0 : 4, () => guess(world, model, fan, id)],
      [3, () => redeem(world, model, fan, id)],
      [2, () => read(world, model, fan)],
      [0.5, () => intrude(world, model, fan)],
      [0.1, () => leave(world, model, fan, number)],
    ]);
  }
}

/** The answers about one device name one user, however often they are asked for. */
export async function register(world: World, model: TenantModel, number: number): Promise<Fan | null> {
  const { tenant } = model;
  const body = {
    ...{ ...selector, projectId: tenant.projectId },
    data: { deviceId: deviceOf(number), additionalId: tenant.mark },
  };
  const answers: Answer[] = [];
  for (let time = 0; time < 2; time++) {
    const answer = await send(world, { name: "register", tenant, path: "/v1/user", body });
    if (answer !== null) answers.push(answer);
  }
  const [first, second] = answers.map(({ json }) => json?.data);
  if (first === undefined) return null;
  if (second !== undefined && second.userId !== first.userId) {
    world.fault(`device ${number} has the users ${first.userId} and ${second.userId}`);
  }
  const record = second ?? first;
  model.ownIds.add(record.userId);
  const { isNew: _, ...proof } = record;
  const issued = await send(world, {
    ...{ name: "token", tenant, path: "/api/auth/token" },
    body: { type: "sessionRecord", projectId: tenant.projectId, record: proof },
  });
  if (issued === null) return null;
  if (issued.status !== 200) {
    world.fault(`a fresh session record was refused: ${issued.text}`);
    return null;
  }
  const { userId, externalId, deviceId } = record;
  return { user: model.user(userId), pair: { externalId, deviceId }, token: issued.json.data.accessToken };
}

function deviceOf(number: number): string {
  return `0123abcd-0000-4000-8000-${String(number).padStart(12, "0")}`;
}

/** Reports an action, now and then twice under one id. */
export async function act(
  world: World,
  model: TenantModel,
  { user, token }: Pick<Fan, "user" | "token">,
  id: string,
): Promise<void> {
  const name = world.scheduler.random.pick(["cheer", "vote"]);
  const operation = user.begin(id, { kind: "action", name, amount: amountOf("action", name) });
  const body = { action: name, data: { by: model.tenant.mark }, actionId: id };
  const ask = { name: "act", tenant: model.tenant, path: "/api/loyalty/action", token, body };
  for (let time = 0; time < (world.scheduler.random.chance(0.2) ? 2 : 1); time++) {
    const answer = await send(world, ask);
    if (answer === null) continue;
    if (answer.status === 200) operation.outcome = "applied";
    else world.fault(`an action was refused with ${answer.status}: ${answer.text}`);
  }
}

/** Votes for an element: counted once, and refused where the fan has voted or the element is not open. */
async function guess(world: World, model: TenantModel, { user, token }: Fan, id: string): Promise<void> {
  const { polls, tenant } = model;
  const { random } = world.scheduler;
  const elementId = random.pick([...polls.keys()].slice(-3));
  const others = [...user.operations.values()].filter(operation => operation.elementId === elementId);
  const amount = amountOf("action", "guess");
  const operation = user.begin(id, { kind: "action", name: "guess", amount, elementId });
  const before = polls.get(elementId);
  const answer = await send(world, {
    ...{ name: "guess", tenant, path: "/api/loyalty/action", token },
    body: { action: "guess", data: { elementId, option: 1 + random.integer(2) }, actionId: id },
  });
  if (answer === null) return;
  const { status, text, json, wasRepeated } = answer;
  const isOpen = before === "open" && polls.get(elementId) === "open";
  if (status === 200) {
    operation.outcome = "applied";
    if (before === "closed" && !wasRepeated)
      world.fault(`a vote for ${elementId} came after its end: ${text}`);
    return;
  }
  operation.outcome = "refused";
  const hasVoted = others.some(({ outcome }) => outcome !== "refused");
  const isRight = json?.code === "vote_limit" ? hasVoted : json?.code === "vote_closed" && !isOpen;
  if (!isRight) world.fault(`a vote for ${elementId} was refused with ${status}: ${text}`);
}

async function redeem(world: World, model: TenantModel, { user, token }: Fan, id: string): Promise<void> {
  const product = world.scheduler.random.pick(["scarf", "drink"]);
  const operation = user.begin(id, {
    ...{ kind: "redemption", name: product },
    amount: amountOf("redemption", product),
  });
  const ask = {
    ...{ name: `redeem ${product}`, tenant: model.tenant, token, body: {} },
    path: `/v1/api/audience/products/${product}/redeem`,
    headers: { "idempotency-key": `"${id}"` },
  };
  for (let time = 0; time < (world.scheduler.random.chance(0.3) ? 2 : 1); time++) {
    const answer = await send(world, ask);
    if (answer === null) continue;
    const { status, text, json } = answer;
    // Refusals are decided anew; balances are those of now where the stored answer was lost.
    const shown = status === 201 ? JSON.stringify({ ...json.data, balances: 0 }) : `${status} ${json?.code}`;
    if (operation.answer !== undefined && operation.answer !== shown) {
      world.fault(`redemption ${id} was answered with ${operation.answer} and ${shown}`);
    }
    if (status !== 201) {
      const isKnown = ["insufficient_balance", "out_of_stock", "limit_reached"].includes(json?.code);
      if (!isKnown) world.fault(`a redemption was refused with ${status}: ${text}`);
      operation.outcome = "refused";
      continue;
    }
    operation.outcome = "applied";
    operation.answer = shown;
    operation.redemptionId = json.data.redemptionId;
    if (product === "scarf") model.scarves.add(json.data.redemptionId);
    const code = json.data.fulfilment.coupon?.coupon_code;
    if (product === "drink" && code === undefined) world.fault(`redemption ${id} gave no code`);
    if (code !== undefined) giveCode(world, model, code, json.data.redemptionId);
  }
}

function giveCode(world: World, model: TenantModel, code: string, redemptionId: string): void {
  const holder = model.given.get(code) ?? redemptionId;
  if (holder !== redemptionId) world.fault(`code ${code} was given for ${holder} and ${redemptionId}`);
  if (!model.codes.has(code)) world.fault(`code ${code} was never in the pool`);
  model.given.set(code, redemptionId);
}

/** A read shows at least what was acknowledged before it, as there is one writer of a fan's own actions. */
async function read(world: World, model: TenantModel, { user, token }: Fan): Promise<void> {
  const { tenant } = model;
  const own = [...user.operations].filter(
    ([id, { kind, outcome }]) => kind === "action" && outcome === "applied" && !id.includes("crm"),
  );
  const least = own.reduce((sum, [, { amount }]) => sum + amount, 0);
  const answer = await send(world, { name: "read profile", tenant, path: "/v1/api/audience/profile", token });
  if (answer?.status === 200) {
    const { lifetimeEarned } = answer.json.data.loyalty.balances.points;
    if (lifetimeEarned < least) world.fault(`a profile shows ${lifetimeEarned} earned points of ${least}`);
  }
  await send(world, { name: "read history", tenant, path: "/api/loyalty/history", token });
  await send(world, {
    name: "read board",
    tenant,
    path: `/projects/${tenant.projectId}/leaderboards/overall`,
  });
}

/** What a tenant issued opens nothing of another. */
async function intrude(world: World, model: TenantModel, { token }: Fan): Promise<void> {
  const other = world.tenants.find(one => one !== model)?.tenant;
  if (other === undefined) return;
  const answer = await send(world, {
    ...{ name: "intrude", tenant: { ...other, mark: model.tenant.mark }, token },
    path: "/v1/api/audience/profile",
  });
  if (answer !== null && answer.status < 400)
    world.fault(`a token of ${model.tenant.mark}s opened ${answer.text}`);
  const key = await send(world, {
    ...{ name: "intrude", tenant: other, headers: model.credentials },
    path: "/v1/api/audience/internal/actions/bulk",
    body: { actions: [{ userId: "fan-1", action: "cheer", actionId: `intruder-${model.tenant.mark}` }] },
  });
  if (key !== null && key.status < 400) world.fault(`a key of ${model.tenant.mark}s opened ${key.text}`);
}

/** After the account is gone, its token opens nothing. */
async function leave(world: World, model: TenantModel, fan: Fan, number: number): Promise<void> {
  const { tenant } = model;
  fan.user.isLeaving = true;
  const found = await send(world, {
    ...{ name: "register", tenant, path: "/v1/user" },
    body: {
      ...{ ...selector, projectId: tenant.projectId },
      data: { deviceId: deviceOf(number), additionalId: tenant.mark },
    },
  });
  if (found?.json?.data === undefined) return;
  const { externalId, deviceId } = found.json.data;
  const query = new URLSearchParams({ ...selector, projectId: tenant.projectId, externalId, deviceId });
  const answer = await send(world, { name: "leave", tenant, method: "DELETE", path: `/v1/user?${query}` });
  if (answer === null) return;
  if (answer.status !== 200 && !answer.wasRepeated) world.fault(`could not leave: ${answer.text}`);
  fan.user.isDeleted = answer.status === 200;
  if (!fan.user.isDeleted) return;
  // Every process learns of it within five seconds, and clocks of those that serve differ by 30 s at most.
  await world.scheduler.sleep(40_000);
  const after = await send(world, {
    ...{ name: "act after leaving", tenant, path: "/api/loyalty/action", token: fan.token },
    body: { action: "cheer", data: {} },
  });
  if (after !== null && after.status !== 401)
    world.fault(`a removed user acts: ${after.status} ${after.text}`);
}
