/**
 * A platform in memory with one event, as the control API of a workflow backend under test.
 *
 * @module
 */

import { type MasterSecret, systemRandom } from "../../auth/mod.ts";
import { catalogueSpecPath } from "../../authoring/table/mod.ts";
import { type Logger, silentLogger, type Timer } from "../../http/mod.ts";
import type { Platform } from "../../platform/platform.ts";
import type { Store } from "../../storage/mod.ts";
import type { DialogueContext } from "../../workflow/dialogue/mod.ts";
import type { Call } from "../call.ts";
import { createTestTime, startAtDefault } from "../time.ts";
import { contextOf, homeOf, type Level, openWorld, type TenantIds, type World } from "../world.ts";

/** Address of the platform of a test. */
const url = "https://platform.test";
/** Address of the backend under test. */
const endpoint = "https://backend.test";
/** Life of the tokens that backends get, in ms. */
const tokenMs = 600_000;

/** Role of a user of a test in the organisation. */
export type TestRole = "none" | "viewer" | "creator" | "admin";

/** Options of a test. */
export interface TestWorldOptions {
  /** Users by name, with their roles in the organisation. The first one begins. @default `{ann: "admin"}` */
  readonly users?: Readonly<Record<string, TestRole>>;
  /** Where the dialogue runs. @default "event" */
  readonly scope?: Level;
  /** Unix ms when the test begins. @default 2030-01-01 */
  readonly startAt?: number;
}

/** What a backend under test is created with. */
export interface TestEnvironment {
  /** Address of the control API. */
  readonly control: string;
  /** Address of the backend, for which the tokens of the test are issued. */
  readonly endpoint: string;
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
  /** Calls the control API as an operator. */
  readonly api: Call;
}

/** Opens the platform of a test. */
export async function openTestWorld(options: TestWorldOptions = {}): Promise<TestWorld> {
  const { users = { ann: "admin" }, scope = "event", startAt = startAtDefault } = options;
  const { clock, timer, moveTo } = createTestTime(startAt);
  const world = await openWorld({ url, name: "Test", clock, random: systemRandom, hasEvent: false });
  const { platform, store, secret, operator } = world;
  const tenant = await withEvent(world);
  for (const [user, role] of Object.entries(users)) {
    if (role !== "none") await world.grant(emailOf(user), role, homeOf(tenant, "organisation"));
  }
  const background = new Set<Promise<unknown>>();
  return {
    environment: {
      ...{ control: url, endpoint, secret, store, clock, timer, logger: silentLogger },
      fetch: async (input, init) => await platform.fetch(new Request(input, init)),
      waitUntil(work) {
        const done = work.catch(() => {}).finally(() => background.delete(done));
        background.add(done);
      },
    },
    ...{ platform, api: operator, moveTo, now: clock, users: Object.keys(users) },
    context: { baseURL: url, ...tenant },
    dialogueContext: { baseURL: url, ...contextOf(tenant, scope) },
    tokenOf: user =>
      world.tokenOf(emailOf(user), {
        home: homeOf(tenant, scope),
        ...(scope === "event" ? { eventId: tenant.eventId } : {}),
        audience: endpoint,
        expires: Math.floor((clock() + tokenMs) / 1_000),
      }),
    async settled() {
      while (background.size > 0) await Promise.all(background);
    },
  };
}

interface Created {
  readonly data: { readonly id: string };
}

/** Gives the project the catalogue, and returns the tenant with an event that is running. */
async function withEvent({ operator, tenants: [tenant] }: World): Promise<TenantIds> {
  if (tenant === undefined) throw new Error("Cannot create an event without a tenant");
  const { spaceId, projectId } = tenant;
  const space = { data: { type: "spaces", id: spaceId } };
  const attributes = { spec_url: url + catalogueSpecPath };
  const app = await operator<Created>("/apps", {
    data: { type: "apps", attributes, relationships: { space } },
  });
  const named = { data: { type: "apps", id: app.data.id } };
  await operator(`/projects/${projectId}/relationships/app`, named, "PATCH");
  const project = { data: { type: "projects", id: projectId } };
  const event = { name: "Test", duration: 0, action: "start" };
  const created = await operator<Created>("/events", {
    data: { type: "events", attributes: event, relationships: { project } },
  });
  return { ...tenant, eventId: created.data.id };
}

function emailOf(user: string): string {
  return `${encodeURIComponent(user)}@test.example`;
}
