/**
 * A platform in memory with one event, as the control API of a workflow backend under test.
 *
 * @module
 */

import { uuid } from "../../auth/crypto/mod.ts";
import { MasterSecret, systemRandom } from "../../auth/mod.ts";
import { catalogueSpecPath } from "../../authoring/mod.ts";
import { createControl } from "../../control/mod.ts";
import type { DialogueContext } from "../../dialogue/mod.ts";
import { type Logger, silentLogger, type Timer } from "../../http/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { createPlatform, type Platform } from "../platform.ts";
import { seedPlatform } from "../seed.ts";

/** Address of the platform of a test. */
const url = "https://platform.test";
/** Life of the tokens that backends get, in ms. */
const tokenMs = 600_000;
const jsonApi = "application/vnd.api+json";

/** Levels of a context from the top, with the types of their resources. */
const levels = ["organisation", "space", "project", "event"] as const;
/** Where the dialogue of a test runs. */
export type TestScope = (typeof levels)[number];

/** Role of a user of a test in the organisation. */
export type TestRole = "none" | "viewer" | "creator" | "admin";

/** Options of a test. */
export interface TestWorldOptions {
  /** Opens an empty store: `createMemoryStore` of `grandstand/memory`. */
  readonly openStore: (options: { readonly clock: () => number }) => Store;
  /** Users by name, with their roles in the organisation. The first one begins. @default `{ann: "admin"}` */
  readonly users?: Readonly<Record<string, TestRole>>;
  /** Where the dialogue runs. @default "event" */
  readonly scope?: TestScope;
  /** Unix ms when the test begins. @default 2030-01-01 */
  readonly startAt?: number;
}

/** What a backend under test is created with. */
export interface TestEnvironment {
  /** Address of the control API. */
  readonly control: string;
  /** Reaches the platform of the test and nothing else. */
  readonly fetch: typeof fetch;
  /** Master secret of the backend. */
  readonly secret: MasterSecret;
  readonly store: Store;
  /** Unix ms. It moves when the test says so. */
  readonly clock: () => number;
  readonly logger: Logger;
  /** Fires as the clock moves. */
  readonly timer: Timer;
  /** Takes the work that goes on after an answer; `finish` waits for it. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** The platform of a test. */
export interface TestWorld {
  readonly environment: TestEnvironment;
  readonly platform: Platform;
  readonly context: Required<DialogueContext>;
  /** The context of the dialogue: the ids down to its scope. */
  readonly dialogueContext: DialogueContext;
  readonly users: readonly string[];
  now(): number;
  moveTo(at: number): void;
  /** Creates a token such as backends get it: for one user, the scope of the dialogue, and 10 minutes. */
  tokenOf(user: string): Promise<string>;
  /** Resolves when no background work of the backend is under way. */
  settled(): Promise<void>;
  /**
   * Calls the control API as an operator, with POST if there is a body, and returns what it answers.
   *
   * @throws {Error} It refuses.
   */
  api<T = unknown>(path: string, body?: unknown, method?: string): Promise<T>;
}

/** Opens the platform of a test. */
export async function openTestWorld(options: TestWorldOptions): Promise<TestWorld> {
  const { openStore, users = { ann: "admin" }, scope = "event", startAt = Date.UTC(2030, 0, 1) } = options;
  const { now: clock, moveTo, timer } = testTime(startAt);
  const store = openStore({ clock });
  const secret = new MasterSecret(uuid(systemRandom) + uuid(systemRandom));
  const ids = [0, 1, 2].map(() => uuid(systemRandom)) as [string, string, string];
  const [organisationId, spaceId, projectId] = ids;
  await seedPlatform(store, seedOf(ids), { clock });
  const common = { control: createControl, limiter: "off", logger: silentLogger } as const;
  const platform = await createPlatform({ store, secret, clock, publicUrl: url, ...common });
  const api = await operatorApi(platform);
  const context = { baseURL: url, organisationId, spaceId, projectId, eventId: "" };
  context.eventId = await createEvent(api, context);
  for (const [user, role] of Object.entries(users)) {
    const grant = { data: { type: "scope_roles", attributes: { email: emailOf(user), role } } };
    if (role !== "none") await api(`/organisations/${organisationId}/roles`, grant);
  }
  const shown = levels.slice(0, levels.indexOf(scope) + 1).map(level => `${level}Id` as const);
  // A role in an event is that in its project.
  const kind = scope === "event" ? "project" : scope;
  const background = new Set<Promise<unknown>>();
  return {
    environment: {
      ...{ control: url, secret, store, clock, timer, logger: silentLogger },
      fetch: async (input, init) => await platform.fetch(new Request(input, init)),
      waitUntil(work) {
        const done = work.catch(() => {}).finally(() => background.delete(done));
        background.add(done);
      },
    },
    ...{ platform, context, api, moveTo, now: clock, users: Object.keys(users) },
    dialogueContext: { baseURL: url, ...Object.fromEntries(shown.map(name => [name, context[name]])) },
    async tokenOf(user) {
      const { id } = await platform.authors.findOrCreate(emailOf(user));
      const scopes = [{ kind, id: context[`${kind}Id`] }];
      const expires = Math.floor((clock() + tokenMs) / 1_000);
      const own = { userId: id, name: "Test" };
      const { id: parentId } = await platform.authors.createToken(own);
      return (await platform.authors.createToken({ ...own, scopes, expires, parentId })).token;
    },
    async settled() {
      while (background.size > 0) await Promise.all(background);
    },
  };
}

/** A clock that moves when the test says so, and what waits for it. */
function testTime(startAt: number): Pick<TestWorld, "now" | "moveTo"> & Pick<TestEnvironment, "timer"> {
  let now = startAt;
  const waiting = new Set<{ readonly at: number; readonly callback: () => void }>();
  return {
    now: () => now,
    moveTo(at) {
      now = Math.max(now, at);
      for (const entry of [...waiting].filter(each => each.at <= now)) {
        waiting.delete(entry);
        entry.callback();
      }
    },
    timer(callback, ms) {
      const entry = { at: now + ms, callback };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
  };
}

/** Returns the calls of an operator to the control API. */
async function operatorApi({ authors, fetch }: Platform): Promise<TestWorld["api"]> {
  const { id: userId } = await authors.findOrCreate("operator@test.example", { operator: true });
  const { token } = await authors.createToken({ userId, name: "Test" });
  const headers = { authorization: `Bearer ${token}`, accept: jsonApi, "content-type": jsonApi };
  return async (path, body, method = body === undefined ? "GET" : "POST") => {
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(new Request(`${url}/api/v2${path}`, init));
    const answer = await response.text();
    if (!response.ok) throw new Error(`Cannot ${method} ${path}: ${response.status} ${answer}`);
    return JSON.parse(answer || "null");
  };
}

interface Created {
  readonly data: { readonly id: string };
}

/** Gives the project the catalogue, and returns the id of an event that is running. */
async function createEvent(
  api: TestWorld["api"],
  { spaceId, projectId }: { readonly spaceId: string; readonly projectId: string },
): Promise<string> {
  const space = { data: { type: "spaces", id: spaceId } };
  const attributes = { spec_url: url + catalogueSpecPath };
  const app = await api<Created>("/apps", { data: { type: "apps", attributes, relationships: { space } } });
  const named = { data: { type: "apps", id: app.data.id } };
  await api(`/projects/${projectId}/relationships/app`, named, "PATCH");
  const project = { data: { type: "projects", id: projectId } };
  const event = { name: "Test", duration: 0, action: "start" };
  const created = await api<Created>("/events", {
    data: { type: "events", attributes: event, relationships: { project } },
  });
  return created.data.id;
}

function seedOf([organisationId, spaceId, projectId]: readonly [string, string, string]) {
  const name = "Test";
  return {
    organisations: [{ id: organisationId, name }],
    spaces: [{ id: spaceId, organisationId, name }],
    projects: [{ id: projectId, spaceId, organisationId, name }],
    events: [],
  };
}

function emailOf(user: string): string {
  return `${encodeURIComponent(user)}@test.example`;
}
