/** Admins of a tenant: they ban fans, lend roles and tokens, rebuild boards, and put configurations. */

import { type Answer, type Ask, send } from "../client.ts";
import type { TenantModel } from "../model.ts";
import { count } from "../network.ts";
import { loyaltyOf } from "../tenants.ts";
import { knownMs, type World } from "../world.ts";
import { pick } from "./choice.ts";
import { act, register } from "./fans.ts";

/** The same for sessions, whose times are those of two clocks, each off by 30 s at most. */
const endedMs = 66_000;
/** Devices of guests, which no fan has. */
const guestsFrom = 100;

/** Tokens of the people whom an admin deals with. */
export interface Staff {
  readonly admin: string;
  /** Of a person without a role. */
  readonly novice: string;
}

/** An admin, whose token may change everything. */
export async function playAdmin(world: World, model: TenantModel, staff: Staff): Promise<void> {
  const { scheduler } = world;
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(scheduler.random.integer(12_000));
    await pick(scheduler.random, [
      [0.6, () => ban(world, model, guestsFrom + step)],
      [1, () => lendRole(world, model, staff, step)],
      [1, () => lendToken(world, model, staff, step)],
      [1, () => putConfiguration(world, model, staff, step)],
      [2, () => rebuild(world, model)],
    ]);
  }
}

function callOf(world: World, model: TenantModel, token: string) {
  return (name: string, path: string, more: Partial<Ask> = {}): Promise<Answer | null> =>
    send(world, { name, tenant: model.tenant, path: `/api/v2${path}`, token, ...more });
}

/** A banned guest does nothing, and a new session of the guest works once the ban is lifted. */
async function ban(world: World, model: TenantModel, number: number): Promise<void> {
  const { tenant, credentials: headers } = model;
  const guest = await register(world, model, number);
  if (guest === null) return;
  await act(world, model, guest, `${tenant.mark}-${number}-before`);
  // While it is not known if the guest is banned, boards may have the guest or not.
  guest.user.isLeaving = true;
  const path = `/internal/identity/projects/${tenant.projectId}/users/${guest.user.userId}/ban`;
  const ask = { tenant, path, headers, attemptsMax: 30 };
  const banned = await send(world, { ...ask, name: "ban", method: "PUT", body: { reason: "Trouble" } });
  if (banned === null) return;
  if (banned.status >= 300) return world.fault(`a ban was refused: ${banned.text}`);
  await world.scheduler.sleep(endedMs);
  const body = { action: "cheer", data: {} };
  const refused = await send(world, {
    ...{ name: "act while banned", tenant, path: "/api/loyalty/action", token: guest.token, body },
  });
  if (refused !== null && refused.status < 400) world.fault(`a banned user acts: ${refused.text}`);
  const lifted = await send(world, { ...ask, name: "lift ban", method: "DELETE" });
  if (lifted === null) return;
  if (lifted.status >= 300) return world.fault(`a ban was not lifted: ${lifted.text}`);
  await world.scheduler.sleep(endedMs);
  guest.user.isLeaving = false;
  const again = await register(world, model, number);
  if (again !== null) await act(world, model, again, `${tenant.mark}-${number}-after`);
}

/** A role opens the project to a person, until it is taken away. */
async function lendRole(world: World, model: TenantModel, { admin, novice }: Staff, step: number) {
  const { mark, projectId } = model.tenant;
  const call = callOf(world, model, admin);
  const read = () => callOf(world, model, novice)("read as novice", `/projects/${projectId}`);
  const attributes = { role: "creator", email: `novice@${mark}.example` };
  const granted = await call("grant role", `/projects/${projectId}/roles`, {
    body: { data: { type: "scope_roles", attributes } },
    headers: { "idempotency-key": `"${mark}-role-${step}"` },
    attemptsMax: 30,
  });
  if (granted === null) return;
  if (granted.status !== 201) return world.fault(`a role was not granted: ${granted.text}`);
  await world.scheduler.sleep(knownMs);
  const opened = await read();
  if (opened !== null && opened.status !== 200) world.fault(`a role opened nothing: ${opened.text}`);
  const write = (name: string) =>
    callOf(world, model, novice)("create as novice", "/events", {
      body: {
        data: {
          ...{ type: "events", attributes: { name: `${mark}-novice-${step}-${name}` } },
          relationships: { project: { data: { type: "projects", id: projectId } } },
        },
      },
      headers: { "idempotency-key": `"${mark}-novice-${step}-${name}"` },
    });
  const written = await write("with");
  if (written !== null && written.status !== 201) world.fault(`a role wrote nothing: ${written.text}`);
  const path = `/scope_roles/${granted.json.data.id}`;
  const taken = await call("take role", path, { method: "DELETE", attemptsMax: 30 });
  if (taken === null || taken.status >= 300) return;
  await world.scheduler.sleep(knownMs);
  for (const answer of [await read(), await write("without")]) {
    if (answer !== null && answer.status < 400) world.fault(`a role was taken away and opens ${answer.text}`);
  }
}

/** A token opens the project until it is revoked. */
async function lendToken(world: World, model: TenantModel, { admin }: Staff, step: number): Promise<void> {
  const { mark, projectId } = model.tenant;
  const call = callOf(world, model, admin);
  const scopes = [{ type: "projects", id: projectId }];
  const attributes = { name: `${mark}-tool-${step}`, role_cap: "creator", scopes };
  const issued = await call("issue token", "/access_tokens", {
    body: { data: { type: "access_tokens", attributes } },
    attemptsMax: 1,
  });
  if (issued === null) return;
  if (issued.status !== 201) return world.fault(`a token was not issued: ${issued.text}`);
  const { id, attributes: shown } = issued.json.data;
  const read = () => callOf(world, model, shown.token)("read by token", `/projects/${projectId}`);
  await world.scheduler.sleep(knownMs);
  const opened = await read();
  if (opened !== null && opened.status !== 200) world.fault(`a token opened nothing: ${opened.text}`);
  const revoked = await call("revoke token", `/access_tokens/${id}`, { method: "DELETE", attemptsMax: 30 });
  if (revoked === null) return;
  await world.scheduler.sleep(knownMs);
  const after = await read();
  if (after !== null && after.status !== 401) world.fault(`a revoked token opens ${after.text}`);
}

/** A configuration that gives the same for actions, and has another product, which is there from then on. */
async function putConfiguration(world: World, { tenant }: TenantModel, { admin }: Staff, step: number) {
  const { spaceId, mark } = tenant;
  const loyalty = loyaltyOf(tenant);
  const poster = { ...loyalty.products[0], id: `poster-${step}`, title: `Poster of ${mark}s` };
  const answer = await send(world, {
    ...{ name: "put configuration", tenant, token: admin, method: "PUT" },
    path: `/api/v2/spaces/${spaceId}/loyalty`,
    headers: { "if-match": "*" },
    body: { ...loyalty, products: [...loyalty.products, poster] },
  });
  if (answer === null) return;
  if (answer.status >= 300)
    return world.fault(`a configuration was refused with ${answer.status}: ${answer.text}`);
  await world.scheduler.sleep(knownMs);
  const path = `/api/v2/spaces/${spaceId}/loyalty`;
  const current = await send(world, { name: "read configuration", tenant, token: admin, path });
  if (current?.status === 200 && !current.text.includes(poster.id))
    world.fault(`a configuration is not the one that was put: ${current.text}`);
}

/** A rebuild of a board that is fed meanwhile; its process may die. */
async function rebuild(world: World, model: TenantModel): Promise<void> {
  const running = world.processes.filter(({ isReady }) => isReady);
  if (running.length === 0) return;
  const { platform } = world.scheduler.random.pick(running);
  const board = { leaderboardId: world.scheduler.random.pick(["overall", "cheers"]) };
  model.rebuilds.add(board);
  count(world.counters, "op:rebuild");
  // It never settles where its process dies.
  void platform.rebuildBoard({ projectId: model.tenant.projectId, eventId: null, ...board }).then(
    () => {
      count(world.counters, "op:rebuilt");
      model.rebuilds.delete(board);
    },
    () => {},
  );
}

/** Rebuilds again what was interrupted, as the guide says. */
export async function endRebuilds({ processes }: World, { tenant, rebuilds }: TenantModel): Promise<void> {
  for (const leaderboardId of new Set([...rebuilds].map(board => board.leaderboardId))) {
    await processes[0]?.platform.rebuildBoard({ projectId: tenant.projectId, eventId: null, leaderboardId });
  }
}
