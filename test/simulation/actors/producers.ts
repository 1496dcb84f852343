/** Producers create, publish and revoke; states follow the clock, and lists and feeds hold what was acknowledged. */

import { type Answer, type Ask, send } from "../client.ts";
import type { TenantModel } from "../model.ts";
import { knownMs, type World } from "../world.ts";
import { pick } from "./choice.ts";

interface Show {
  readonly id: string;
  /** Unix seconds; null for a clone, which waits to be started. */
  readonly startAt: number | null;
  readonly elements: Set<string>;
}

const atomic = 'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"';
const durationSeconds = 20;
/** Time in ms for which votes for an element of a show are taken. */
const votingMs = 8_000;
/** Time in ms for which a process may show what it knew while its reads fail, and in which it learns of a publication. */
const staleMs = 66_000;
/** Clocks of processes that serve may be off so far, in seconds. */
const skewSeconds = 31;

/** A producer with an access token. */
export async function playProducer(world: World, model: TenantModel, token: string): Promise<void> {
  const { scheduler } = world;
  const { tenant } = model;
  const shows: Show[] = [];
  const call = (name: string, path: string, more: Partial<Ask> = {}): Promise<Answer | null> =>
    send(world, { name, tenant, token, path: `/api/v2${path}`, ...more });
  for (let step = 1; world.isOpen; step++) {
    await scheduler.sleep(scheduler.random.integer(8_000));
    const id = `${tenant.mark}-show-${step}`;
    const show = shows.length === 0 ? undefined : scheduler.random.pick(shows);
    await pick(scheduler.random, [
      [2, () => createShow(world, model, shows, call, id)],
      [show === undefined ? 0 : 2, () => addElements(world, show as Show, call, id)],
      [show === undefined ? 0 : 2, () => look(world, show as Show, call)],
      [show === undefined ? 0 : 1, () => cloneShow(world, show as Show, shows, call, id)],
      [1, () => broadcast(world, model, call, id)],
    ]);
  }
  for (const show of shows) await look(world, show, call);
}

type Call = (name: string, path: string, more?: Partial<Ask>) => Promise<Answer | null>;

/** Creates an event, perhaps twice under one key: it is the same event. */
async function createShow(world: World, { tenant }: TenantModel, shows: Show[], call: Call, id: string) {
  const startAt = Math.floor(world.scheduler.now / 1_000) + 10;
  const times = { start_mode: "clock", start_at: startAt, duration: durationSeconds, on_demand_duration: 0 };
  const relationships = { project: { data: { type: "projects", id: tenant.projectId } } };
  const body = { data: { type: "events", attributes: { name: id, ...times }, relationships } };
  const ids = new Set<string>();
  for (let time = 0; time < 2; time++) {
    const answer = await call("create event", "/events", { body, headers: { "idempotency-key": `"${id}"` } });
    if (answer?.status === 201) ids.add(answer.json.data.id);
    else if (answer !== null) world.fault(`an event was refused: ${answer.text}`);
  }
  if (ids.size > 1) world.fault(`one request created the events ${[...ids].join(" and ")}`);
  for (const eventId of ids) shows.push({ id: eventId, startAt, elements: new Set() });
}

/** Clones an event with its elements, twice under one key: it is the same clone. */
async function cloneShow(world: World, show: Show, shows: Show[], call: Call, id: string): Promise<void> {
  const acknowledged = show.elements.size;
  const clones = new Set<string>();
  for (let time = 0; time < 2; time++) {
    const answer = await call("clone event", `/events/${show.id}/clone`, {
      body: { data: { type: "events", attributes: { name: id } } },
      headers: { "idempotency-key": `"${id}"` },
    });
    if (answer?.status === 201) clones.add(answer.json.data.id);
    else if (answer !== null) world.fault(`a clone was refused: ${answer.text}`);
  }
  if (clones.size > 1) world.fault(`one request made the clones ${[...clones].join(" and ")}`);
  for (const eventId of clones) {
    const list = await call("list elements", `/events/${eventId}/elements?page[count]=100`);
    const names: string[] = (list?.json?.data ?? []).map(
      ({ attributes: { name } }: { attributes: { name: string } }) => name,
    );
    if (list?.status === 200 && (names.length < acknowledged || new Set(names).size < names.length))
      world.fault(`the clone of an event with ${acknowledged} elements has ${names.join()}`);
    shows.push({ id: eventId, startAt: null, elements: new Set() });
  }
}

/** Adds two elements in one request: both or none. */
async function addElements(world: World, show: Show, call: Call, id: string): Promise<void> {
  const relationships = { event: { data: { type: "events", id: show.id } } };
  const operations = ["first", "second"].map(part => {
    const attributes = { content_type: "poll", name: `${id} ${part}` };
    return { op: "add", data: { type: "elements", attributes, relationships } };
  });
  const headers = { "content-type": atomic, accept: atomic, "idempotency-key": `"${id}"` };
  const body = { "atomic:operations": operations };
  const answer = await call("add elements", "/operations", { body, headers });
  if (answer === null) return;
  if (answer.status !== 200) return world.fault(`elements were refused: ${answer.text}`);
  for (const { data } of answer.json["atomic:results"]) show.elements.add(data.id);
}

/** The feed of a show has an element from its publication until it is revoked, and so long fans may vote for it. */
async function broadcast(world: World, model: TenantModel, call: Call, id: string): Promise<void> {
  const { tenant, polls } = model;
  const create = async (type: string, attributes: object, parent: readonly [string, string, string]) => {
    const [name, parentType, parentId] = parent;
    const relationships = { [name]: { data: { type: parentType, id: parentId } } };
    const answer = await call("plan show", `/${type}`, {
      body: { data: { type, attributes, relationships } },
      headers: { "idempotency-key": `"${id}-${type}"` },
    });
    if (answer !== null && answer.status !== 201) world.fault(`${type} were refused: ${answer.text}`);
    return answer?.status === 201 ? (answer.json.data.id as string) : null;
  };
  const eventId = await create("events", { name: id }, ["project", "projects", tenant.projectId]);
  if (eventId === null) return;
  const text = (value: string) => ({ fields: [{ key: "text", values: { all: value } }] });
  const question = {
    fields: [{ key: "question", values: { all: `Do you like ${tenant.mark}s?` } }],
    options: [text("Yes"), text("No")],
  };
  const elementId = await create("elements", { content_type: "poll", question }, [
    "event",
    "events",
    eventId,
  ]);
  if (elementId === null) return;
  const take = async (type: string, target: string, action: string): Promise<boolean> => {
    const answer = await call(action, `/${type}/${target}`, {
      method: "PATCH",
      body: { data: { type, id: target, attributes: { action } } },
      attemptsMax: 30,
    });
    // An attempt that took effect without an answer leaves no such action to the next one.
    if (answer === null || (answer.status === 422 && answer.wasRepeated)) return answer !== null;
    if (answer.status >= 300) world.fault(`${action} was refused: ${answer.text}`);
    return answer.status < 300;
  };
  const expectInFeed = async (isThere: boolean): Promise<void> => {
    const path = `/events/${eventId.slice(0, 2)}/${eventId}/history.json`;
    const wrong = new Set(world.processes);
    for (let waitedMs = 0; waitedMs < staleMs && wrong.size > 0; waitedMs += knownMs) {
      await world.scheduler.sleep(knownMs);
      for (const at of wrong) {
        const feed = await send(world, { name: "read feed", tenant, path, at, attemptsMax: 1 });
        if (feed === null || feed.text.includes(elementId) === isThere) wrong.delete(at);
      }
    }
    for (const { name } of wrong)
      world.fault(`the feed of ${eventId} at ${name} ${isThere ? "lacks" : "has"} ${elementId}`);
  };
  if (!(await take("events", eventId, "start"))) return;
  await expectInFeed(false);
  polls.set(elementId, "changing");
  if (!(await take("elements", elementId, "publish"))) return;
  // Before a process refuses a vote, it asks whether the element is open meanwhile.
  polls.set(elementId, "open");
  await expectInFeed(true);
  await world.scheduler.sleep(votingMs);
  polls.set(elementId, "changing");
  if (!(await take("elements", elementId, "revoke"))) return;
  await expectInFeed(false);
  polls.set(elementId, "closed");
}

/** An event has the state of the clock, and all elements that were acknowledged, in pairs. */
async function look(world: World, show: Show, call: Call): Promise<void> {
  const acknowledged = [...show.elements];
  const asked = Math.floor(world.scheduler.now / 1_000);
  const event = await call("read event", `/events/${show.id}`);
  const answered = Math.floor(world.scheduler.now / 1_000);
  if (event?.status === 200) {
    const states = new Set<string>();
    for (let now = asked - skewSeconds; now <= answered + skewSeconds; now++) states.add(stateAt(show, now));
    const { state } = event.json.data.attributes;
    if (!states.has(state)) world.fault(`event ${show.id} is ${state} and not ${[...states].join(" or ")}`);
  }
  const list = await call("list elements", `/events/${show.id}/elements?page[count]=100`);
  if (list?.status !== 200) return;
  const names: string[] = list.json.data.map(
    ({ attributes }: { attributes: { name: string } }) => attributes.name,
  );
  const ids: string[] = list.json.data.map(({ id }: { id: string }) => id);
  const missing = acknowledged.filter(id => !ids.includes(id));
  if (missing.length > 0) world.fault(`event ${show.id} lacks the elements ${missing.join()}`);
  if (new Set(names).size < names.length) {
    world.fault(`elements were added twice: ${names.join()}`);
  }
  if (names.length % 2 > 0) world.fault(`half of a request took effect: ${names.join()}`);
}

function stateAt({ startAt }: Show, now: number): string {
  if (startAt === null || now < startAt) return "future";
  return now < startAt + durationSeconds ? "current" : "past";
}
