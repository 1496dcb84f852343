/** Compares what the platform shows at the end with the model. */

import { act, register } from "./actors/fans.ts";
import { type Answer, send } from "./client.ts";
import {
  faultsOf,
  faultsOfPerson,
  type ShownUser,
  type TenantModel,
  type Transaction,
  type UserModel,
} from "./model.ts";
import { announced, energyMs, scarfStock } from "./tenants.ts";
import type { World } from "./world.ts";

/** Checks everything of a tenant. */
export async function checkTenant(world: World, model: TenantModel): Promise<void> {
  const read = reader(world, model);
  const board = await scoresOf(read, model, "overall");
  const cheers = await scoresOf(read, model, "cheers");
  const search = await searched(read);
  const look = async (user: UserModel): Promise<ShownUser> => {
    const { userId } = user;
    const transactions = await transactionsOf(read, user);
    const { json } = await read(`/internal/loyalty/users/${userId}/reconciliation`);
    if (transactions.length > 0 && json.data?.ok !== true)
      world.fault(`the ledger of ${userId} has faults: ${JSON.stringify(json)}`);
    const { metrics = {}, displayName = null } = search.get(userId) ?? {};
    const scores = { overall: board.get(userId), cheers: cheers.get(userId) };
    return { transactions, metrics, displayName, scores };
  };
  for (const user of model.users.values()) {
    if (user.operations.size === 0 || user.person !== undefined) continue;
    if (user.isLeaving && !user.isDeleted) continue;
    const found = search.get(user.userId);
    if (user.isDeleted) {
      // A report of a back end that was under way begins a new, empty loyalty, which boards and search have alike.
      const isReported = [...user.operations.keys()].some(id => id.includes("crm"));
      if (isReported && board.has(user.userId) && found === undefined)
        world.fault(`user ${user.userId} is reported again and on a board, but no search finds it`);
      if (isReported) continue;
      if (found !== undefined) world.fault(`removed user ${user.userId} is found`);
      if (board.has(user.userId)) world.fault(`removed user ${user.userId} is on a board`);
      continue;
    }
    const shown = await look(user);
    if (shown.transactions.length > 0 && found === undefined) world.fault(`no search finds ${user.userId}`);
    for (const fault of faultsOf(user, shown)) world.fault(`${model.tenant.name} ${user.userId}: ${fault}`);
  }
  for (const person of model.people) {
    for (const userId of person.merged) {
      if (search.has(userId)) world.fault(`merged user ${userId} is found`);
      if (board.has(userId) || cheers.has(userId)) world.fault(`merged user ${userId} is on a board`);
    }
    const users = [...model.users.values()].filter(user => user.person === person);
    const shown = await Promise.all(users.map(look));
    for (const fault of faultsOfPerson(users, shown)) world.fault(`${person.name}: ${fault}`);
  }
  await checkStock(world, model, read);
}

/** In good weather nothing has to be repeated, whatever went wrong before. */
export async function checkService(world: World, model: TenantModel): Promise<void> {
  const repeated = (): number =>
    [...world.counters].reduce((sum, [name, times]) => sum + (name.startsWith("client:") ? times : 0), 0);
  const before = repeated();
  const guest = await register(world, model, 999);
  if (guest === null) return world.fault("nobody can register in good weather");
  await act(world, model, guest, `${model.tenant.mark}-999-last`);
  if (repeated() > before) world.fault("requests had to be repeated in good weather");
}

/** What leaves the platform holds nothing of another tenant. */
export function checkMessages(world: World, { tenant }: TenantModel): void {
  const { mails, webhooks } = world.servers;
  const own = [...mails, ...webhooks]
    .map(message => JSON.stringify(message))
    .filter(text => text.includes(tenant.mark));
  for (const { tenant: other, ownIds } of world.tenants) {
    if (other === tenant) continue;
    const foreign = [other.mark, other.organisationId, other.spaceId, other.projectId, ...ownIds];
    const shown = own.find(text => foreign.some(id => text.includes(id)));
    if (shown !== undefined) world.fault(`a message of tenant ${tenant.name} shows another: ${shown}`);
  }
}

type Reader = (path: string, body?: unknown) => Promise<Answer>;

function reader(world: World, model: TenantModel): Reader {
  return async (path, body) => {
    const answer = await send(world, {
      ...{ name: "check", tenant: model.tenant, path, headers: model.credentials },
      ...(body === undefined ? {} : { body }),
    });
    if (answer?.status !== 200 && answer?.json?.code !== "not_found")
      throw new Error(`Answer to ${path} in good weather: ${answer?.text}`);
    return answer;
  };
}

async function scoresOf(read: Reader, { tenant }: TenantModel, id: string): Promise<Map<string, number>> {
  const { json } = await read(`/projects/${tenant.projectId}/leaderboards/${id}?limit=100`);
  const entries: { userId: string; score: number }[] = json.data;
  return new Map(entries.map(({ userId, score }) => [userId, score]));
}

interface FoundUser {
  readonly userId: string;
  readonly displayName: string | null;
  readonly metrics: Readonly<Record<string, number>>;
}

async function searched(read: Reader): Promise<Map<string, FoundUser>> {
  const body = { filter: {}, fields: ["userId", "displayName", "metrics"], limit: 100 };
  const { json } = await read("/v1/api/audience/internal/users/search", body);
  return new Map(json.data.map((user: FoundUser) => [user.userId, user]));
}

async function transactionsOf(read: Reader, { userId }: UserModel): Promise<readonly Transaction[]> {
  const all: Transaction[] = [];
  let next: string | null = null;
  do {
    const query = new URLSearchParams({ user_id: userId, limit: "100" });
    if (next !== null) query.set("last_evaluated_key", next);
    const { json } = await read(`/api/audience/transactions?${query}`);
    all.push(...(json.data ?? []));
    next = json.lastEvaluatedKey ?? null;
  } while (next !== null);
  return all;
}

/** After its time, nobody has energy any more, and points are as before. */
export async function checkExpiry(world: World): Promise<void> {
  for (const process of world.processes) process.workIntervalMs = 0.7 * energyMs;
  await world.scheduler.sleep(2 * energyMs);
  for (const model of world.tenants) {
    for (const { userId, metrics } of (await searched(reader(world, model))).values()) {
      if ((metrics.energy ?? 0) > 0) world.fault(`${userId} has ${metrics.energy} energy after it expired`);
    }
  }
}

interface WebhookData {
  readonly spaceId: string;
  readonly userId: string;
  readonly transaction: { readonly id: string };
}

/** A service gets every change of a user that it wants, at least once, and the first times are in order. */
export async function checkWebhooks(world: World, model: TenantModel): Promise<void> {
  const read = reader(world, model);
  const got = new Map<string, Set<string>>();
  for (const { data } of world.servers.webhooks) {
    const { spaceId, userId, transaction } = data as WebhookData;
    if (spaceId !== model.tenant.spaceId) continue;
    const ids = got.get(userId) ?? new Set();
    got.set(userId, ids.add(transaction.id));
  }
  for (const user of model.users.values()) {
    if (user.isLeaving) continue;
    const wanted = (await transactionsOf(read, user)).filter(({ reason }) => announced.includes(reason));
    // A change of several currencies is several transactions here.
    const changes = new Set(wanted.map(({ transactionId }) => transactionId.split("~")[0]).reverse());
    const [expected, actual] = [[...changes].join(), [...(got.get(user.userId) ?? [])].join()];
    if (actual !== expected) world.fault(`webhooks of ${user.userId} are ${actual}, and not ${expected}`);
  }
}

async function checkStock(world: World, model: TenantModel, read: Reader): Promise<void> {
  if (model.scarves.size > scarfStock)
    world.fault(`${model.scarves.size} scarves were sold of ${scarfStock}`);
  const { json } = await read("/internal/loyalty/pools/drinks");
  const { total, available } = json.data;
  if (total !== undefined && total - available < model.given.size) {
    world.fault(`${model.given.size} codes were given of ${JSON.stringify(json.data)}`);
  }
}
