/** Fans who sign in at an OpenID provider: they stop half-way, come back twice, are robbed, and come as guests with points. */

import { type Answer, send } from "../client.ts";
import type { TenantModel, Visitor } from "../model.ts";
import type { Return } from "../openid_provider.ts";
import type { World } from "../world.ts";
import { act, type Fan, register } from "./fans.ts";
import { join, reward } from "./joins.ts";

const selector = { strategy: "email", provider: "hostedIdp" } as const;
/** Number of the first device of guests, beyond those of others. */
const guestsFrom = 20_000;

/** A login that came back from the provider, with the key that the app has kept. */
interface Login extends Return {
  readonly key: string;
}

/** A fan with an account at the provider, whom a back end joins with users that it has reported. */
export async function playOpenIdLogin(world: World, model: TenantModel): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const fan: Visitor = {
    name: `visitor-${model.tenant.mark}`,
    userId: null,
    merged: new Set(),
    sent: new Set(),
    ended: new Set(),
  };
  model.visitor = fan;
  model.people.push(fan);
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(random.integer(4_000));
    const id = `${fan.name}-${step}`;
    const guest = random.chance(0.5) ? await register(world, model, guestsFrom + step) : null;
    if (guest !== null) await act(world, model, guest, `${id}-guest`);
    const login = await comeBack(world, model, fan.name);
    // Some never return from the provider, and others later.
    if (login === null || random.chance(0.1)) continue;
    if (random.chance(0.3)) await scheduler.sleep(random.integer(10_000));
    if (random.chance(0.4)) await rob(world, model, login);
    for (let time = 0; time < (random.chance(0.4) ? 2 : 1); time++) {
      const answer = await confirm(world, model, fan, login, guest);
      if (answer !== null) await enter(world, model, fan, answer, id);
    }
    if (random.chance(0.3)) await link(world, model, fan, `${id}-crm`);
  }
}

/** In good weather the fan gets in, so that it is known which user the account has. */
export async function endOpenIdLogins(world: World, model: TenantModel): Promise<void> {
  const { visitor: fan } = model;
  if (fan === null) return;
  for (let tries = 0; tries < 3; tries++) {
    const login = await comeBack(world, model, fan.name);
    if (login !== null && (await confirm(world, model, fan, login, null)) !== null) return;
    // Nobody asks a provider for a time that has failed again and again.
    await world.scheduler.sleep(61_000);
  }
  world.fault(`no login lets ${fan.name} in`);
}

/** Begins a login, and signs somebody in at the provider; null where the app gave up. */
async function comeBack(world: World, { tenant }: TenantModel, subject: string): Promise<Login | null> {
  const { projectId, mark } = tenant;
  const begun = await send(world, {
    ...{ name: "begin openid login", tenant, path: "/v1/user/authorize" },
    body: { ...selector, projectId, data: { returnTo: `https://${mark}.example/back` } },
  });
  if (begun === null) return null;
  if (begun.status !== 200) {
    world.fault(`a login at the provider did not begin: ${begun.text}`);
    return null;
  }
  const { url, key } = begun.json.data;
  return { ...world.servers.provider.logIn(url, subject), key };
}

/** Sends what came back. */
async function ask(
  world: World,
  { tenant }: TenantModel,
  name: string,
  data: Login & Partial<Fan["pair"]>,
): Promise<Answer | null> {
  const { projectId, mark } = tenant;
  return await send(world, {
    ...{ name, tenant, path: "/v1/user/confirm-authorize" },
    body: { ...selector, projectId, data: { returnTo: `https://${mark}.example/back`, ...data } },
  });
}

/** Ends a login, with the guest of the device. It ends once, and the account has one user. */
async function confirm(
  world: World,
  model: TenantModel,
  fan: Visitor,
  login: Login,
  guest: Fan | null,
): Promise<Answer | null> {
  if (guest !== null) Object.assign(guest.user, { isLeaving: true, person: fan });
  const wasSent = fan.sent.has(login.key);
  fan.sent.add(login.key);
  const answer = await ask(world, model, "log in by openid", { ...login, ...guest?.pair });
  if (answer === null) return null;
  if (answer.status !== 200) {
    const isSpent = answer.json?.data?.code === "invalid_code" && (wasSent || answer.wasRepeated);
    if (!isSpent) world.fault(`a login at the provider was refused: ${answer.text}`);
    return null;
  }
  if (fan.ended.has(login.key)) world.fault(`a login of ${fan.name} ended twice`);
  fan.ended.add(login.key);
  const { userId } = answer.json.data;
  fan.userId ??= userId;
  if (fan.userId !== userId) world.fault(`${fan.name} has the users ${fan.userId} and ${userId}`);
  model.ownIds.add(userId);
  Object.assign(model.user(userId), { isLeaving: true, person: fan });
  if (guest !== null && guest.user.userId !== userId) fan.merged.add(guest.user.userId);
  return answer;
}

/** A thief who has seen the address of the return gets in with no key of their own, nor slips their login under the fan's key. */
async function rob(world: World, model: TenantModel, { code, state, key }: Login): Promise<void> {
  const own = await comeBack(world, model, `thief-${model.tenant.mark}`);
  if (own === null) return;
  for (const stolen of [
    { code, state, key: own.key },
    { ...own, code },
    { ...own, key },
  ]) {
    const answer = await ask(world, model, "rob openid login", stolen);
    if (answer?.status === 200) world.fault(`a stolen login let a thief in: ${answer.text}`);
  }
}

/** A back end joins a user that it has reported with the one of the account. */
async function link(world: World, model: TenantModel, person: Visitor, userId: string): Promise<void> {
  if (person.userId === null) return;
  const headers = model.credentials;
  if (!(await reward(world, model, { person, headers, userId, id: `${userId}-1` }))) return;
  const answer = await join(world, model, { person, headers, userId });
  if (answer?.status === 200) person.merged.add(userId);
}

/** Acts as the user who logged in. */
async function enter(
  world: World,
  model: TenantModel,
  fan: Visitor,
  { json }: Answer,
  id: string,
): Promise<void> {
  const { tenant } = model;
  const exchange = { type: "accessToken", token: json.data.accessToken };
  const issued = await send(world, { name: "token", tenant, path: "/api/auth/token", body: exchange });
  if (issued === null) return;
  if (issued.status !== 200) return world.fault(`a token of ${fan.name} was refused: ${issued.text}`);
  await act(world, model, { user: model.user(json.data.userId), token: issued.json.data.accessToken }, id);
}
