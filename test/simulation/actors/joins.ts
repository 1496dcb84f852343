/** A back end that reports users under ids of its own, joins them with one, and fetches what is kept about that one. */

import { type Answer, send } from "../client.ts";
import type { Person, TenantModel } from "../model.ts";
import type { World } from "../world.ts";
import type { Credentials } from "./back_ends.ts";

/** Rewards users, merges them into one, and reports them again, in any order and repeatedly. */
export async function playJoins(world: World, model: TenantModel, headers: Credentials): Promise<void> {
  const { scheduler } = world;
  const { random } = scheduler;
  const person: Person = { name: `joint-${model.tenant.mark}`, userId: null, merged: new Set() };
  person.userId = person.name;
  model.people.push(person);
  await reward(world, model, { person, headers, userId: person.name, id: `${person.name}-0` });
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(random.integer(3_000));
    const userId = `${person.name}-user-${step}`;
    const isReported = await reward(world, model, { person, headers, userId, id: `${userId}-1` });
    const answers: (Answer | null)[] = [];
    for (let time = 0; isReported && time < (random.chance(0.3) ? 2 : 1); time++)
      answers.push(await join(world, model, { person, headers, userId }));
    if (answers.some(answer => answer?.status === 200)) person.merged.add(userId);
    if (random.chance(0.5)) await reward(world, model, { person, headers, userId, id: `${userId}-2` });
    if (random.chance(0.3)) await fetchData(world, model, { person, headers });
  }
}

interface Report {
  readonly person: Person;
  readonly headers: Credentials;
  readonly userId: string;
  /** Id of the reward. */
  readonly id: string;
}

/** Gives points to a user; false while it is not known that they are there. */
export async function reward(
  world: World,
  model: TenantModel,
  { person, headers, userId, id }: Report,
): Promise<boolean> {
  const { tenant } = model;
  const amount = 1 + world.scheduler.random.integer(4);
  const user = Object.assign(model.user(userId), { isLeaving: true, person });
  const operation = user.begin(id, { kind: "reward", name: "points", amount });
  const { projectId, mark: reason } = tenant;
  const item = { userId, rewardId: id, type: "metric", currency: "points", amount, projectId, reason };
  const path = "/v1/api/audience/internal/rewards/bulk";
  const answer = await send(world, {
    name: "reward a joint",
    tenant,
    headers,
    path,
    body: { rewards: [item] },
  });
  const { status } = answer?.json?.data?.results?.[0] ?? {};
  if (status === "succeeded" || status === "duplicate") operation.outcome = "applied";
  return operation.outcome === "applied";
}

export async function join(
  world: World,
  { tenant }: TenantModel,
  { person, headers, userId }: Omit<Report, "id">,
): Promise<Answer | null> {
  const path = `/internal/identity/projects/${tenant.projectId}/users/${userId}/merge`;
  const answer = await send(world, { name: "join", tenant, headers, path, body: { into: person.userId } });
  // The first reward of the one who stays may not have arrived.
  if (answer !== null && answer.status !== 200 && answer.status !== 404)
    world.fault(`a merge of ${userId} was refused: ${answer.text}`);
  return answer;
}

/** The data of a person are those of all who were merged for certain. */
async function fetchData(
  world: World,
  { tenant }: TenantModel,
  { person, headers }: Pick<Report, "person" | "headers">,
): Promise<void> {
  const merged = [...person.merged];
  const path = `/v1/api/audience/internal/users/${person.name}/data`;
  const answer = await send(world, { name: "fetch data", tenant, headers, path });
  if (answer === null || (answer.status === 404 && merged.length === 0)) return;
  const records: readonly { readonly userId: string }[] = answer.json?.records ?? [];
  const missing = merged.filter(userId => !records.some(record => record.userId === userId));
  if (answer.status !== 200 || missing.length > 0)
    world.fault(`the data of ${person.name} lack ${missing.join()}: ${answer.text.slice(0, 200)}`);
}
