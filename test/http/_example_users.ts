/** The users in whose names examples of requests are sent. */

import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { type Codes, createCodes } from "../../lib/fans/identity/codes/codes.ts";
import { createHashers } from "../../lib/fans/identity/create_identity.ts";
import { type Session, Users } from "../../lib/fans/identity/mod.ts";
import { quickKernels } from "../support/kernels.ts";
import { externalIds, ids, type TestPlatform, testSecret } from "../support/platform.ts";

export const managed = { projectId: ids.project, strategy: "email", provider: "managedPool" };
export const deviceId = "0123abcd-0000-4000-8000-00000000000d";
export const password = "correct horse battery";

/** A user of the managed pool who is logged in. */
export interface RegisteredUser {
  readonly email: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

const userSessions = new WeakMap<
  TestPlatform,
  { readonly openedAt: number; readonly user: RegisteredUser }
>();

/** A user of the managed pool, the same one for as long as the clock stands still. */
export async function userSession(world: TestPlatform): Promise<RegisteredUser> {
  const openedAt = world.clock.now();
  const existing = userSessions.get(world);
  if (existing?.openedAt === openedAt) return existing.user;
  const user = await registeredUser(world, `robin-${openedAt}@example.com`);
  userSessions.set(world, { openedAt, user });
  return user;
}

export async function registeredUser(world: TestPlatform, email: string): Promise<RegisteredUser> {
  await world.call("/v1/user", { body: { ...managed, data: { email, password } } });
  const data = { email, password, deviceId };
  const { json } = await world.call("/v1/user/login", { method: "PUT", body: { ...managed, data } });
  const { accessToken, refreshToken } = json.data;
  return { email, accessToken, refreshToken };
}

/** The codes of the platform, which otherwise nobody but the owners of mailboxes sees. */
export function codesOf({ store, clock }: TestPlatform): Codes {
  const options = { store, secret: testSecret, clock: clock.now, random: systemRandom };
  const { codes } = createHashers({ random: systemRandom, passwordKernels: quickKernels() });
  return createCodes({ ...options, hasher: codes });
}

/** A session of a user that operators may end, ban and delete without a loss to other examples. */
export async function operatedSession(world: TestPlatform): Promise<Session> {
  const project = await world.platform.directory.project(ids.project);
  if (project === null) throw new Error("The test platform has no project");
  const user = await new Users(world.store, testSecret).create(project.id, {
    ...externalIds.seal("0f000000-0000-4000-8000-0000000000bb", "external-operated"),
    provider: "managedPool",
    username: "Pat",
    signUp: 1_700_000_000,
    loginHistory: [],
    devices: [],
    appProfile: {},
  });
  return (await world.platform.sessions.open(project, user, { deviceId })).session;
}
