/** Members log in with a password; their sessions are renewed, by several windows at once, and end when they say so. */

import { type Answer, send } from "../client.ts";
import type { TenantModel } from "../model.ts";
import type { World } from "../world.ts";

interface Session {
  readonly deviceId: string;
  accessToken: string;
  refreshToken: string;
}

const selector = { strategy: "email", provider: "managedPool" } as const;
const password = "a long enough secret";

/** A member with an account. */
export async function playMember(world: World, model: TenantModel, number: number): Promise<void> {
  const { scheduler } = world;
  const { tenant } = model;
  const common = { ...selector, projectId: tenant.projectId };
  const email = `${number}@${tenant.mark}.example`;
  const account = { email, password, nickname: `A ${tenant.mark}` };
  const path = "/v1/user";
  const signUp = await send(world, { name: "sign up", tenant, path, body: { ...common, data: account } });
  if (signUp === null) return;
  while (world.isOpen) {
    await scheduler.sleep(scheduler.random.integer(5_000));
    const answer = await send(world, {
      ...{ name: "log in", tenant, method: "PUT", path: "/v1/user/login" },
      body: { ...common, data: { email, password } },
    });
    if (answer === null) continue;
    if (answer.status !== 200) return world.fault(`the right password was refused: ${answer.text}`);
    const { deviceId, accessToken, refreshToken } = answer.json.data;
    await live(world, model, { deviceId, accessToken, refreshToken });
  }
}

/** The life of one session. */
async function live(world: World, model: TenantModel, session: Session): Promise<void> {
  const { random } = world.scheduler;
  let isAlive = true;
  while (isAlive && world.isOpen) {
    await world.scheduler.sleep(random.integer(6_000));
    const choice = random.integer(5);
    if (choice === 0) isAlive = !(await logOut(world, model, session));
    else isAlive = await refresh(world, model, session, choice === 1 ? 2 : 1);
  }
}

/** Renews a session in several windows at once, which all get the same successor. Returns false where it ended. */
async function refresh(
  world: World,
  model: TenantModel,
  session: Session,
  windows: number,
): Promise<boolean> {
  const { tenant } = model;
  const { deviceId, accessToken, refreshToken } = session;
  const ask = {
    ...{ name: "refresh", tenant, token: accessToken, path: "/v1/user/refresh" },
    body: { ...selector, projectId: tenant.projectId, deviceId, refreshToken },
  };
  const answers = await Promise.all(Array.from({ length: windows }, () => send(world, ask)));
  const found = answers.filter((answer): answer is Answer => answer !== null);
  const good = found.filter(({ status }) => status === 200).map(({ json }) => json.data);
  const wasTroubled = found.length < windows || found.some(({ wasRepeated }) => wasRepeated);
  // A refresh that is repeated late looks like a theft, and ends the session.
  if (good.length < found.length && !wasTroubled) {
    world.fault(`a refresh was refused: ${found.map(({ text }) => text).join()}`);
  }
  const counters = good.map(tokens => counterOf(tokens.accessToken));
  if (new Set(counters).size > 1)
    world.fault(`one refresh token was exchanged for ${counters.join(" and ")}`);
  const [first] = good;
  if (first === undefined) return wasTroubled && found.length < windows;
  session.accessToken = first.accessToken;
  session.refreshToken = first.refreshToken;
  return good.length === found.length;
}

/** Returns the number of refreshes before a token. */
function counterOf(token: string): number {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).rc;
}

/** Ends a session; its tokens open nothing from then on. */
async function logOut(world: World, model: TenantModel, session: Session): Promise<boolean> {
  const { tenant } = model;
  const common = { ...selector, projectId: tenant.projectId };
  const { accessToken: token, refreshToken, deviceId } = session;
  const answer = await send(world, { name: "log out", tenant, token, path: "/v1/user/logout", body: common });
  if (answer?.status !== 200) return false;
  const exchange = { type: "accessToken", token };
  // Every process learns of it within five seconds; clocks of processes run alike, however far they are off.
  await world.scheduler.sleep(6_000);
  const exchanged = await send(world, { name: "token", tenant, path: "/api/auth/token", body: exchange });
  if (exchanged !== null && exchanged.status !== 401)
    world.fault(`a session lives after its end: ${exchanged.text}`);
  const refreshed = await send(world, {
    ...{ name: "refresh", tenant, token, path: "/v1/user/refresh" },
    body: { ...common, deviceId, refreshToken },
  });
  if (refreshed !== null && refreshed.status !== 401) world.fault(`a session was renewed after its end`);
  return true;
}
