/** Fans who log in by a mailed code: they ask twice, guess, use a code twice, and come as guests with points. */

import { type Answer, send } from "../client.ts";
import type { Addressee, TenantModel } from "../model.ts";
import type { World } from "../world.ts";
import { act, type Fan, register } from "./fans.ts";

const selector = { strategy: "email", provider: "managedPool" } as const;

/** Number of the first device of guests, beyond those of others. */
const guestsFrom = 10_000;

/** A fan with an address, who begins on a new device as a guest now and then. */
export async function playCodeLogin(world: World, model: TenantModel): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const name = `code@${model.tenant.mark}.example`;
  const fan: Addressee = { name, userId: null, merged: new Set(), spent: new Set(), isClear: true };
  model.addressee = fan;
  model.people.push(fan);
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(random.integer(3_000));
    const id = `${model.tenant.mark}-code-${step}`;
    const guest = random.chance(0.5) ? await register(world, model, guestsFrom + step) : null;
    if (guest !== null) await act(world, model, guest, `${id}-guest`);
    const times = random.chance(0.3) ? 2 : 1;
    const codes = await askForCodes(world, model, fan, times);
    const wasClear = fan.isClear;
    if (random.chance(0.3)) await guess(world, model, fan, codes);
    const before = fan.spent.size;
    for (const code of random.chance(0.5) ? codes : codes.reverse()) {
      const answer = await logIn(world, model, fan, code, guest);
      const isRefused = answer !== null && answer.status !== 200 && !answer.wasRepeated;
      if (isRefused && wasClear && times === 1) world.fault(`the right code was refused: ${answer.text}`);
      if (answer?.status === 200) await enter(world, model, fan, answer, id);
      if (random.chance(0.3)) await logIn(world, model, fan, code, guest);
    }
    if (wasClear && fan.spent.size > before + 1) world.fault(`two codes of ${fan.name} were valid at once`);
  }
}

/** In good weather the fan gets in, so that it is known which user has the address. */
export async function endCodeLogins(world: World, model: TenantModel): Promise<void> {
  const fan = model.addressee;
  if (fan === null) return;
  for (let tries = 0; tries < 3; tries++) {
    const codes = await askForCodes(world, model, fan, 1);
    const answer = await logIn(world, model, fan, codes.at(-1) ?? "00000000", null);
    if (answer?.status === 200) return;
    // An old code may still arrive, and a registration that broke off holds the address for a minute.
    await world.scheduler.sleep(61_000);
  }
  world.fault(`no code lets ${fan.name} in`);
}

/** Asks for codes, and returns what has arrived since, oldest first. */
async function askForCodes(
  world: World,
  { tenant, clientToken }: TenantModel,
  fan: Addressee,
  times: number,
): Promise<string[]> {
  const { scheduler, servers } = world;
  const arrived = (): string[] =>
    servers.mails.flatMap(({ to, kind, code }) =>
      to === fan.name && kind === "loginCode" && code !== undefined ? [code] : [],
    );
  const before = arrived().length;
  for (let time = 0; time < times; time++) {
    const answer = await send(world, {
      ...{ name: "ask for code", tenant, method: "PUT", path: "/v1/user/login-code", token: clientToken },
      body: { ...selector, projectId: tenant.projectId, data: { email: fan.name } },
    });
    if (answer === null || answer.wasRepeated) fan.isClear = false;
    if (answer !== null && answer.status !== 200) world.fault(`no code was mailed: ${answer.text}`);
  }
  for (let wait = 0; wait < 5 && arrived().length < before + times; wait++) await scheduler.sleep(500);
  const codes = arrived().slice(before);
  if (codes.length !== times) fan.isClear = false;
  return codes;
}

async function guess(world: World, model: TenantModel, fan: Addressee, codes: string[]): Promise<void> {
  const wrong = String(10 ** 8 - 1 - Number(codes[0] ?? 0)).padStart(8, "0");
  const answer = await logIn(world, model, fan, wrong, null);
  if (answer?.status === 200 && !codes.includes(wrong)) world.fault(`a guess logged ${fan.name} in`);
}

/** Sends a code, with the guest of the device. A code logs in once, and the address has one user. */
async function logIn(
  world: World,
  model: TenantModel,
  fan: Addressee,
  code: string,
  guest: Fan | null,
): Promise<Answer | null> {
  const { tenant, clientToken } = model;
  if (guest !== null) Object.assign(guest.user, { isLeaving: true, person: fan });
  const answer = await send(world, {
    ...{ name: "log in by code", tenant, path: "/v1/user/confirm-login", token: clientToken },
    body: {
      ...{ ...selector, projectId: tenant.projectId },
      data: { email: fan.name, confirmationCode: code, nickname: `A ${tenant.mark}`, ...guest?.pair },
    },
  });
  if (answer === null || answer.wasRepeated) fan.isClear = false;
  if (answer === null) return null;
  if (answer.status !== 200) {
    if (answer.json?.data?.code !== "invalid_code")
      world.fault(`a login by code was refused: ${answer.text}`);
    return answer;
  }
  if (fan.spent.has(code)) world.fault(`code ${code} logged ${fan.name} in twice`);
  fan.spent.add(code);
  const { userId } = answer.json.data;
  fan.userId ??= userId;
  if (fan.userId !== userId) world.fault(`${fan.name} has the users ${fan.userId} and ${userId}`);
  model.ownIds.add(userId);
  Object.assign(model.user(userId), { isLeaving: true, person: fan });
  if (guest !== null && guest.user.userId !== userId) fan.merged.add(guest.user.userId);
  return answer;
}

/** Acts as the user who logged in. */
async function enter(
  world: World,
  model: TenantModel,
  fan: Addressee,
  { json }: Answer,
  id: string,
): Promise<void> {
  const { tenant } = model;
  const exchange = { type: "accessToken", token: json.data.accessToken };
  const issued = await send(world, { name: "token", tenant, path: "/api/auth/token", body: exchange });
  if (issued === null) return;
  if (issued.status !== 200) return world.fault(`a token of ${fan.name} was refused: ${issued.text}`);
  const { accessToken: token } = issued.json.data;
  await act(world, model, { user: model.user(json.data.userId), token }, id);
}
