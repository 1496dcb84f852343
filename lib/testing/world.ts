/** A platform in memory with tenants of one shape, an operator, and tokens of authors. */

import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { uuid } from "../auth/crypto/mod.ts";
import { type Clock, MasterSecret, type RandomBytes } from "../auth/mod.ts";
import { createControl } from "../authoring/control/mod.ts";
import { refusalOf } from "../client/errors.ts";
import type { GrandstandError } from "../client/mod.ts";
import type { Seed } from "../fans/directory/mod.ts";
import type { HomeKind } from "../fans/directory/records.ts";
import { type Handler, silentLogger } from "../http/mod.ts";
import type { PlatformOptions } from "../platform/options.ts";
import { createPlatform, type Platform } from "../platform/platform.ts";
import { seedPlatform } from "../platform/seed.ts";
import type { Store } from "../storage/mod.ts";

export const levels = ["organisation", "space", "project", "event"] as const;

export type Level = (typeof levels)[number];

/** The ids of an organisation with one space, one project and one event. */
export interface TenantIds {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly projectId: string;
  readonly eventId: string;
}

export interface TenantContents {
  /** Settings by level. @default {} */
  readonly settings?: Readonly<Partial<Record<Level, Readonly<Record<string, unknown>>>>>;
  /** The loyalty configuration of the space. @default there is none */
  readonly loyalty?: unknown;
  /** True if the tenant has its event, which is running, from the beginning. @default true */
  readonly hasEvent?: boolean;
}

interface WorldOptions extends TenantContents {
  readonly url: string;
  readonly name: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** @default 1 */
  readonly tenants?: number;
  readonly platform?: Partial<PlatformOptions>;
}

export interface World {
  readonly url: string;
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly platform: Platform;
  readonly tenants: readonly TenantIds[];
  /** Calls the control API as an operator. */
  readonly operator: Call;
  grant(email: string, role: string, home: Home): Promise<void>;
  /** Creates a token of a person; for one dialogue, such as backends of workflows get it, where limits are named. */
  tokenOf(email: string, limits?: DialogueLimits): Promise<string>;
}

interface DialogueLimits {
  readonly home: Home;
  /** Unix seconds. */
  readonly expires: number;
  readonly eventId?: string;
  readonly audience?: string;
}

interface Home {
  readonly kind: HomeKind;
  readonly id: string;
}

/** Returns the home that decides the roles at a level of a tenant: roles in an event are those in its project. */
export function homeOf(tenant: TenantIds, level: Level): Home {
  const kind = level === "event" ? "project" : level;
  return { kind, id: tenant[`${kind}Id`] };
}

export function contextOf(tenant: TenantIds, level: Level): Partial<TenantIds> {
  const shown = levels.slice(0, levels.indexOf(level) + 1);
  return Object.fromEntries(shown.map(name => [`${name}Id`, tenant[`${name}Id`]]));
}

/** Opens a platform with tenants. @throws {AppError} `validation_failed`: settings or loyalty have the named faults. */
export async function openWorld(options: WorldOptions): Promise<World> {
  const { url, name, clock, random } = options;
  const store = createMemoryStore({ clock });
  const secret = testSecret(random);
  const tenants = Array.from({ length: options.tenants ?? 1 }, () => newTenant(random));
  await seedPlatform(store, seedOf(tenants, options), { clock });
  const platform = await createPlatform({
    store,
    secret,
    clock,
    publicUrl: url,
    control: createControl,
    ...({ limiter: "off", logger: silentLogger } as const),
    ...(tenants[0] === undefined ? {} : { defaultSpaceId: tenants[0].spaceId }),
    ...options.platform,
  });
  const { authors } = platform;
  const operatorToken = authors
    .findOrCreate(`operator@${name.toLowerCase()}.example`, { operator: true })
    .then(({ id: userId }) => authors.createToken({ userId, name }));
  const operator = createCall(platform.fetch, `${url}/api/v2`, async () => ({
    authorization: `Bearer ${(await operatorToken).token}`,
    accept: "application/vnd.api+json",
    "content-type": "application/vnd.api+json",
  }));
  return {
    url,
    store,
    secret,
    platform,
    tenants,
    operator,
    async grant(email, role, { kind, id }) {
      const data = { type: "scope_roles", attributes: { email, role } };
      await operator(`/${kind}s/${id}/roles`, { data });
    },
    async tokenOf(email, limits) {
      const { id: userId } = await authors.findOrCreate(email);
      const { id: parentId, token } = await authors.createToken({ userId, name });
      if (limits === undefined) return token;
      const { home, ...more } = limits;
      return (await authors.createToken({ userId, name, scopes: [home], parentId, ...more })).token;
    },
  };
}

function newTenant(random: RandomBytes): TenantIds {
  return {
    organisationId: uuid(random),
    spaceId: uuid(random),
    projectId: uuid(random),
    eventId: uuid(random),
  };
}

function seedOf(tenants: readonly TenantIds[], options: WorldOptions): Seed {
  const { name, clock, settings = {}, loyalty, hasEvent = true } = options;
  const named = (level: Level) => ({ name, settings: settings[level] ?? {} });
  const startAt = Math.floor(clock() / 1_000);
  return {
    organisations: tenants.map(({ organisationId: id }) => ({ id, ...named("organisation") })),
    spaces: tenants.map(({ organisationId, spaceId: id }) => ({ id, organisationId, ...named("space") })),
    projects: tenants.map(({ organisationId, spaceId, projectId: id }) => ({
      id,
      organisationId,
      spaceId,
      ...named("project"),
    })),
    events: hasEvent
      ? tenants.map(({ projectId, eventId: id }) => ({
          ...({ id, projectId, ...named("event"), state: "current", startAt } as const),
        }))
      : [],
    ...(loyalty === undefined
      ? {}
      : { loyalty: Object.fromEntries(tenants.map(({ spaceId }) => [spaceId, loyalty])) }),
  };
}

/** Creates a generator of bytes (sfc32). For tests alone, as its bytes are predictable. */
export function seededRandom(seed: number): RandomBytes {
  let [a, b, c, counter] = [seed | 0, (seed / 2 ** 32) | 0, 0x9e37_79b9, 1];
  function next(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 24;
  }
  // The first numbers of similar seeds are similar.
  for (let round = 0; round < 16; round++) next();
  return length => Uint8Array.from({ length }, next);
}

function testSecret(random: RandomBytes): MasterSecret {
  return new MasterSecret(Array.from(random(48), byte => String.fromCharCode(0x21 + (byte % 94))).join(""));
}

/**
 * Calls a path and returns the JSON that it answers, or null where it answers none. A body is sent as JSON, with POST unless a
 * method is named.
 *
 * @throws {GrandstandError} The platform refuses. The message has the call and all faults.
 */
export type Call = <T = unknown>(path: string, body?: unknown, method?: string) => Promise<T>;

/** Returns a way to call the platform. Header fields may change from call to call. */
export function createCall(
  handler: Handler,
  url: string,
  headersOf: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>,
): Call {
  return async <T>(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") => {
    const headers = { "content-type": "application/json", ...(await headersOf()) };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await handler(new Request(url + path, init));
    const text = await response.text();
    if (!response.ok) throw explained(refusalOf(response, parsed(text)), `${method} ${path}`);
    return (text === "" ? null : parsed(text)) as T;
  };
}

function explained(error: GrandstandError, call: string): GrandstandError {
  const faults = error.fields.map(({ pointer, detail }) => `\n${pointer}: ${detail}`);
  error.message = `Cannot ${call}: ${error.status} ${error.message}${faults.join("")}`;
  return error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
