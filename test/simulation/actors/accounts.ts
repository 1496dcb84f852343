/** Fans of own accounts: back ends reward them by their external id, mint their tokens, and move their passwords in. */

import { pbkdf2Sync } from "node:crypto";
import { send } from "../client.ts";
import type { TenantModel, UserModel } from "../model.ts";
import type { World } from "../world.ts";
import type { Credentials } from "./back_ends.ts";
import { pick } from "./choice.ts";
import { act } from "./fans.ts";

/** The issuer of the accounts of both tenants. */
export const accountIssuer = "https://accounts.club.example";

/** Accounts, which have the same external ids in every tenant: one stays with its issuer, the other moves in with its password. */
const subjects = ["stayer", "mover"] as const;
/** Their users: the UUID of version 5 of the issuer, a blank and the subject. */
const userIds = {
  stayer: "3e37730d-efae-5072-9f55-21bc5eaeb399",
  mover: "1cc24460-2b84-5465-803f-19b9dd72af55",
};
const password = "moved from another system";
const salt = Buffer.from("the salt of a fan");
const key = pbkdf2Sync(password, salt, 1_000, 32, "sha256");
const passwordHash = `$pbkdf2-sha256$i=1000$${salt.toString("base64")}$${key.toString("base64")}`;

interface Member {
  readonly externalId: (typeof subjects)[number];
  /** The user of the account, for back ends and for the fan alike. */
  readonly user: UserModel;
  readonly email: string;
  /** True once the password has moved in for certain. */
  hasMoved: boolean;
}

/** A back end and the fans of its accounts, who act before and after they first sign in. */
export async function playAccounts(world: World, model: TenantModel, headers: Credentials): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const members = subjects.map((externalId): Member => {
    const user = model.user(userIds[externalId]);
    return { externalId, user, email: `${externalId}@${model.tenant.mark}.example`, hasMoved: false };
  });
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(random.integer(4_000));
    const member = random.pick(members);
    const id = `${model.tenant.mark}-${member.externalId}-${step}`;
    const isMover = member.externalId === "mover";
    await pick(random, [
      [2, () => reward(world, model, headers, member, id)],
      [isMover && !member.hasMoved ? 0 : 3, () => enter(world, model, headers, member, id)],
      [isMover ? 2 : 0, () => moveIn(world, model, headers, member)],
      [isMover ? 3 : 0, () => logIn(world, model, member)],
      [1, () => intrude(world, model, headers, member)],
    ]);
  }
}

/** Gives points to the account, whether its user has signed in or not. */
async function reward(
  world: World,
  { tenant }: TenantModel,
  headers: Credentials,
  { externalId, user }: Member,
  id: string,
): Promise<void> {
  const amount = 1 + world.scheduler.random.integer(4);
  const operation = user.begin(id, { kind: "reward", name: "points", amount });
  const { projectId, mark: reason } = tenant;
  const item = { externalId, rewardId: id, type: "metric", currency: "points", amount, projectId, reason };
  const path = "/v1/api/audience/internal/rewards/bulk";
  const answer = await send(world, {
    ...{ name: "reward an account", tenant, headers, path },
    body: { rewards: [item] },
  });
  const { status } = answer?.json?.data?.results?.[0] ?? {};
  if (status === "succeeded" || status === "duplicate") operation.outcome = "applied";
}

function mint(world: World, { tenant }: TenantModel, headers: Credentials, body: object) {
  const { "x-api-key": apiKey, "x-api-secret": secret } = headers;
  return send(world, {
    ...{ name: "mint token", tenant, path: "/api/auth/token" },
    body: { type: "user", key: apiKey, secret, projectId: tenant.projectId, ...body },
  });
}

/** Acts with a minted token. */
async function enter(
  world: World,
  model: TenantModel,
  headers: Credentials,
  { externalId, user }: Member,
  id: string,
): Promise<void> {
  const answer = await mint(world, model, headers, { externalId });
  if (answer === null) return;
  if (answer.status !== 200) return world.fault(`no token was minted for ${externalId}: ${answer.text}`);
  const token = answer.json.data.accessToken;
  checkUser(world, user, subjectOf(token), externalId);
  await act(world, model, { user, token }, id);
}

/** Moves the password in, now and then twice. */
async function moveIn(
  world: World,
  { tenant }: TenantModel,
  headers: Credentials,
  member: Member,
): Promise<void> {
  const { externalId, email, user } = member;
  const answer = await send(world, {
    ...{ name: "import account", tenant, path: "/v1/api/audience/internal/users/import" },
    headers: { ...headers, "content-type": "application/x-ndjson" },
    body: { externalId, email, emailVerified: true, passwordHash },
  });
  const row = JSON.parse(answer?.text.split("\n")[0] ?? "{}");
  if (row.status !== "changed" && row.status !== "unchanged") return;
  checkUser(world, user, row.userId, externalId);
  member.hasMoved = true;
}

/** Logs in with the password of the other system, or with a wrong one. */
async function logIn(world: World, { tenant }: TenantModel, member: Member): Promise<void> {
  const { externalId, email, user, hasMoved } = member;
  const isWrong = world.scheduler.random.chance(0.3);
  const data = { email, password: isWrong ? `${password}!` : password };
  const answer = await send(world, {
    ...{ name: isWrong ? "guess a moved password" : "log in by moved password", tenant },
    ...{ method: "PUT", path: "/v1/user/login" },
    body: { strategy: "email", provider: "managedPool", projectId: tenant.projectId, data },
  });
  if (answer === null) return;
  if (answer.status !== 200) {
    if (hasMoved && !isWrong) world.fault(`the password of ${externalId} was refused: ${answer.text}`);
    return;
  }
  if (isWrong) world.fault(`a wrong password of ${externalId} was accepted`);
  checkUser(world, user, answer.json.data.userId, externalId);
}

/** Neither the key of another tenant nor a wrong secret mints a token. */
async function intrude(
  world: World,
  model: TenantModel,
  headers: Credentials,
  { externalId }: Member,
): Promise<void> {
  const other = world.tenants.find(one => one !== model)?.credentials ?? headers;
  for (const stolen of [other, { ...headers, "x-api-secret": other["x-api-secret"] ?? "" }]) {
    const answer = await mint(world, model, stolen, { externalId });
    if (answer?.status === 200) world.fault(`a stolen key minted a token: ${answer.text}`);
  }
}

function checkUser(world: World, { userId }: UserModel, found: unknown, externalId: string): void {
  if (found !== userId) world.fault(`${externalId} has the users ${userId} and ${found}`);
}

function subjectOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub;
}
