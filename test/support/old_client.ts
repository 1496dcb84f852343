/** A client that was written for deployments of these interfaces: it knows their shapes, and nothing of this platform. */

import assert from "node:assert/strict";

// biome-ignore lint/suspicious/noExplicitAny: the client reads the members that it was written for
type Loose = any;

/** Where the client works. */
export interface OldTarget {
  readonly baseUrl: string;
  /** Access token of an admin. */
  readonly token: string;
  readonly organisationId: string;
  readonly spaceId: string;
  /** Address of an app with a content type `quiz`. */
  readonly specUrl: string;
  readonly fetch: (request: Request) => Promise<Response>;
}

interface Received {
  readonly status: number;
  readonly text: string;
  readonly json: Loose;
  readonly etag: string | null;
}

type Part = Readonly<Record<string, unknown>>;

const all = (key: string, value: unknown) => ({ key, values: { all: value } });
const one = (type: string, id: string) => ({ data: { type, id } });
const missingOf = (found: object | undefined, names: string): readonly string[] =>
  names.split(" ").filter(name => !(name in (found ?? {})));

const projectNames =
  "name settings locales hidden_elements audio_sync_default_delay audio_sync_max_delay certification_enabled presence_counter archived environment";
const eventNames =
  "name duration original_duration start_mode end_mode repeat repeat_in start_at start_at_iso end_at end_at_iso settings state actions live_stats_uuid on_demand_duration extra_time_duration";
const elementNames =
  "offset duration duration_mode start_mode content_type label name state certification include_in_latest_results_feed require_verified_user max_votes_per_user max_votes_per_option min_options_per_vote max_options_per_vote reveal_results_mode reveal_answer_mode reveal_answer_in reveal_answer_on_vote revoked_at revoked_at_iso results_revealed_at_iso answer_revealed_at_iso correct_option updated_at updated_at_iso custom_fields question actions";
const listedProjectNames =
  "uuid audio_sync_default_delay audio_sync_max_delay tracking_id embed history_ignore is_localisation_supported locales";
const listedEventNames =
  "id name start_at start_at_iso end_at end_at_iso started image_url custom_fields digest extra_time";

/** A quiz with every attribute that clients send. */
const quiz = {
  ...{ content_type: "quiz", label: "Q1", name: "Quiz", offset: 5, duration: 30, duration_mode: "fixed" },
  ...{ start_mode: "manual", certification: false, include_in_latest_results_feed: true },
  ...{ require_verified_user: false, max_votes_per_user: 1, max_votes_per_option: 1 },
  ...{ min_options_per_vote: 1, max_options_per_vote: 1, reveal_results_mode: "close" },
  ...{
    reveal_answer_mode: "manual",
    reveal_answer_in: 0,
    reveal_answer_on_vote: false,
    correct_option: null,
  },
  custom_fields: [all("points", 10)],
  question: {
    fields: [all("question", "Who?")],
    options: [{ fields: [all("text", "A")] }, { fields: [all("text", "B")] }],
  },
};

/** The client. */
class OldClient {
  readonly #target: OldTarget;

  constructor(target: OldTarget) {
    this.#target = target;
  }

  async send(method: string, path: string, body?: unknown): Promise<Received> {
    const { baseUrl, token, fetch } = this.#target;
    // It sends a Content-Type with every request, also where there is no body.
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/vnd.api+json",
      accept: "application/json",
    };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(new Request(`${baseUrl}/api/v2${path}`, init));
    const text = await response.text();
    const json = text === "" ? null : JSON.parse(text);
    return { status: response.status, text, json, etag: response.headers.get("etag") };
  }

  async get(path: string): Promise<Loose> {
    const received = await this.send("GET", path);
    assert.equal(received.status, 200, `${path}: ${received.text}`);
    return received.json;
  }

  async create(type: string, attributes: Part, relationships: Part): Promise<Loose> {
    const received = await this.send("POST", `/${type}`, { data: { type, attributes, relationships } });
    assert.equal(received.status, 201, received.text);
    return received.json.data;
  }

  patch(type: string, id: string, attributes: Part): Promise<Received> {
    return this.send("PATCH", `/${type}/${id}`, { data: { type, id, attributes } });
  }

  async change(type: string, id: string, attributes: Part): Promise<void> {
    const { status, text } = await this.patch(type, id, attributes);
    assert.deepEqual([status, text], [204, ""], JSON.stringify(attributes));
  }

  /** Sends a change that is a validation error of one field. */
  async refused(type: string, id: string, attributes: Part, field: string): Promise<void> {
    const { status, text, json } = await this.patch(type, id, attributes);
    assert.equal(status, 422, text);
    const [{ title, detail, source }] = json.errors;
    assert.equal(source.pointer.split("/").at(-1), field);
    assert.ok(title !== "" && detail !== "");
  }

  /** Reads a feed twice: the second time it is known. */
  async feed(path: string): Promise<Loose> {
    const { baseUrl, fetch } = this.#target;
    const response = await fetch(new Request(baseUrl + path));
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    const headers = { "if-none-match": response.headers.get("etag") ?? "" };
    const again = await fetch(new Request(baseUrl + path, { headers }));
    assert.equal(again.status, 304, path);
    return JSON.parse(text);
  }
}

/** Plays the client from its login to the end of a show, and throws at the first answer that it does not understand. */
export async function playOldClient(target: OldTarget): Promise<void> {
  const client = new OldClient(target);
  const projectId = await openProject(client, target);
  const eventId = await startEvent(client, projectId);
  const shown = await runElements(client, eventId);
  await readLists(client, projectId, eventId, shown);
  await readFeeds(client, projectId, eventId, shown);
  await endEvent(client, projectId, eventId, shown);
}

async function openProject(
  client: OldClient,
  { organisationId, spaceId, specUrl }: OldTarget,
): Promise<string> {
  assert.equal((await client.get("/me")).data.type, "users");
  assert.ok((await client.get("/organisations")).data.some(({ id }: Part) => id === organisationId));
  assert.equal((await client.get(`/organisations/${organisationId}/my_role`)).data.attributes.role, "admin");
  assert.ok((await client.get(`/organisations/${organisationId}/spaces`)).data.length > 0);
  for (const name of ["assets", "tags", "projects"]) await client.get(`/spaces/${spaceId}/${name}`);
  const space = one("spaces", spaceId);
  const [known] = (await client.get(`/spaces/${spaceId}/apps`)).data;
  const app = known ?? (await client.create("apps", { spec_url: specUrl }, { space }));
  const { id } = await client.create("projects", { name: "Show" }, { space, app: one("apps", app.id) });
  await client.change("projects", id, {
    settings: [all("theme", "dark")],
    locales: ["en", "es"],
    presence_counter: { enabled: true, min_threshold: 10 },
    hidden_elements: [],
  });
  const { attributes, relationships } = (await client.get(`/projects/${id}`)).data;
  assert.deepEqual(missingOf(attributes, projectNames), []);
  assert.deepEqual([attributes.environment, attributes.archived], ["staging", false]);
  assert.deepEqual([relationships.space.data.id, relationships.app.data.id], [spaceId, app.id]);
  await client.get(`/projects/${id}/event_templates`);
  const types = (await client.get(`/projects/${id}/content_types`)).data;
  assert.ok(types.length > 0);
  return id;
}

async function startEvent(client: OldClient, projectId: string): Promise<string> {
  const project = one("projects", projectId);
  const planned = { name: "Old client", duration: 5_400, start_at: 0, start_mode: "manual" };
  const { id, attributes } = await client.create("events", { ...planned, action: "start" }, { project });
  assert.deepEqual(missingOf(attributes, eventNames), []);
  assert.deepEqual([attributes.state, attributes.actions], ["current", ["stop"]]);
  assert.equal(attributes.end_at, attributes.start_at + 5_400);
  assert.equal(Date.parse(attributes.start_at_iso), attributes.start_at * 1_000);
  const clock = { name: "Clock", duration: 60, start_at: 4_102_444_800.75, start_mode: "clock" };
  const later = await client.create("events", clock, { project });
  assert.equal(later.attributes.start_at, 4_102_444_800);
  await client.refused("events", later.id, { action: "start" }, "action");
  const unplanned = { name: "Null", duration: 60, start_at: null, start_mode: "manual" };
  const empty = await client.create("events", unplanned, { project });
  assert.equal(empty.attributes.start_at, null);
  const both = [all("skin", "blue"), { key: "logo", values: { all: "a", es: "b" } }];
  await client.change("events", id, { name: "Renamed", settings: both });
  await client.change("events", id, { settings: [{ key: "skin", values: { en: "red" } }] });
  const { settings } = (await client.get(`/events/${id}`)).data.attributes;
  assert.deepEqual(settings.find(({ key }: Part) => key === "skin").values, { en: "red" });
  assert.equal(settings.length, 2);
  await client.refused("events", id, { duration: -1 }, "duration");
  for (const gone of [later.id, empty.id]) {
    const { status } = await client.send("DELETE", `/events/${gone}`);
    assert.ok(status >= 200 && status < 300);
  }
  return id;
}

/** Publishes two elements, the second that was made first, and returns their ids in the order of their publication. */
async function runElements(client: OldClient, eventId: string): Promise<readonly string[]> {
  const event = one("events", eventId);
  const draft = await client.create("elements", quiz, { event });
  const { id, attributes } = draft;
  assert.deepEqual(missingOf(attributes, elementNames), []);
  assert.deepEqual([attributes.state, attributes.offset], ["non_scheduled", 5]);
  const first = await client.create("elements", { ...quiz, action: "publish" }, { event });
  assert.equal(first.attributes.state, "current");
  const early = { ...quiz, action: "stop" };
  const refused = await client.send("POST", "/elements", {
    data: { type: "elements", attributes: early, relationships: { event } },
  });
  assert.equal(refused.status, 422, refused.text);
  await client.change("elements", id, { action: "publish" });
  await client.refused("elements", id, { label: "x" }, "label");
  const answer = { correct_option: 2, custom_fields: [all("correctAnswer", 2)] };
  await client.change("elements", id, { action: "reveal_answer", ...answer });
  const revealed = (await client.get(`/elements/${id}`)).data.attributes;
  assert.equal(revealed.correct_option, 2);
  assert.ok(Date.parse(revealed.answer_revealed_at_iso) > 0);
  assert.deepEqual(
    revealed.custom_fields.map(({ key }: Part) => key),
    ["points", "correctAnswer"],
  );
  await client.change("elements", id, { action: "reveal_results" });
  await client.change("elements", id, { action: "stop" });
  return [first.id, id];
}

async function readLists(
  client: OldClient,
  projectId: string,
  eventId: string,
  shown: readonly string[],
): Promise<void> {
  const own = `filter%5Bstate%5D=current,past,on_demand&filter%5Binclude_in_latest_results%5D=true&include=stats`;
  const elements = await client.get(`/events/${eventId}/elements?${own}`);
  assert.deepEqual(
    elements.data.map(({ id }: Part) => id),
    shown,
    "elements are not in the order of their publication",
  );
  assert.deepEqual(new Set(elements.included.map(({ type }: Part) => type)), new Set(["stats"]));
  const events = `/projects/${projectId}/events`;
  const filter =
    "filter%5Bstate%5D=future%2Ccurrent&sort=-start_time&page%5Bcount%5D=20&filter%5Bonly_listings%5D=true";
  const listed = await client.get(`${events}?${filter}&include=stats%2Cproject`);
  const [{ id, relationships, links }] = listed.data;
  assert.deepEqual(
    [id, relationships.stats.data, relationships.project.data.id],
    [eventId, { type: "stats", id: eventId }, projectId],
  );
  assert.ok(links.self.endsWith(`/api/v2/events/${eventId}`));
  assert.ok(relationships.elements.links.related.endsWith(`/api/v2/events/${eventId}/elements`));
  assert.deepEqual(new Set(listed.included.map(({ type }: Part) => type)), new Set(["stats", "projects"]));
  const template = { project: one("projects", projectId), event: one("events", eventId) };
  const made = await client.create("event_templates", { name: "T", duration: 60, settings: [] }, template);
  assert.ok("project" in made.relationships);
  const copy = { data: { type: "events", attributes: { name: "Clone" } } };
  const cloned = await client.send("POST", `/events/${eventId}/clone`, copy);
  assert.equal(cloned.status, 201, cloned.text);
  const page = await client.get(`${events}?page%5Bcount%5D=1`);
  const next = String(page.links.next);
  const following = await client.get(next.slice(next.indexOf("/projects/")));
  assert.equal(following.data.length, 1);
  assert.notEqual(following.data[0].id, page.data[0].id);
}

async function readFeeds(
  client: OldClient,
  projectId: string,
  eventId: string,
  shown: readonly string[],
): Promise<void> {
  const folder = `/events/${eventId.slice(0, 2)}/${eventId}`;
  const listings = await client.feed(`/projects/${projectId.slice(0, 2)}/${projectId}/listings.json`);
  assert.deepEqual(missingOf(listings.project, listedProjectNames), []);
  assert.equal(typeof listings.project.embed, "string");
  const entry = listings.events.find(({ id }: Part) => id === eventId);
  assert.deepEqual(missingOf(entry, listedEventNames), []);
  assert.equal(entry.started, true);
  assert.equal(typeof listings.assets, "object");
  const history = await client.feed(`${folder}/history.json`);
  assert.deepEqual(missingOf(history, "timeline config version"), []);
  const [oldest] = history.timeline;
  assert.deepEqual(
    history.timeline.map(({ id }: Part) => id),
    shown,
  );
  assert.deepEqual(missingOf(oldest, "id content_type published_at_iso updated_at_iso custom_fields"), []);
  assert.equal(oldest.custom_fields.all.points, 10);
  for (const name of ["latest_results", "livestats"]) await client.feed(`${folder}/${name}.json`);
}

async function endEvent(
  client: OldClient,
  projectId: string,
  eventId: string,
  [first = ""]: readonly string[],
): Promise<void> {
  await client.change("elements", first, { action: "revoke" });
  assert.equal((await client.get(`/elements/${first}`)).data.attributes.state, "revoked");
  await client.change("events", eventId, { action: "stop" });
  await client.refused("events", eventId, { action: "stop" }, "action");
  const past = await client.get(`/projects/${projectId}/events?filter%5Bstate%5D=past`);
  assert.deepEqual(
    past.data.map(({ id }: Part) => id),
    [eventId],
  );
}
