/**
 * A platform in memory against which workflow backends are checked: three organisations, an editor with a role in two of them,
 * a colleague, and a second control API that must never be asked.
 *
 * @module
 */

import { uuid } from "../auth/crypto/mod.ts";
import { MasterSecret, systemClock, systemRandom } from "../auth/mod.ts";
import type { HomeKind } from "../authoring/mod.ts";
import { createControl } from "../control/mod.ts";
import { type Handler, silentLogger } from "../http/mod.ts";
import type { Store } from "../storage/mod.ts";
import type { BackendFixtures, DialogueCaller } from "../workflow/conformance/mod.ts";
import { createPlatform, type Platform } from "./platform.ts";
import { seedPlatform } from "./seed.ts";

/** Where a dialogue may run, from the widest to the narrowest. */
export const dialogueScopes = ["organisation", "space", "project", "event"] as const;

/** Where a dialogue runs. */
export type DialogueScope = (typeof dialogueScopes)[number];

/** Options of {@linkcode openCheckPlatform}. */
export interface CheckPlatformOptions {
  /** Empty. */
  readonly store: Store;
  /** Address of the platform, with which the backend is configured. */
  readonly url: string;
  /** Address of the second control API. */
  readonly listenerUrl: string;
  /** @default "event" */
  readonly scope?: DialogueScope;
  /** Unix ms. @default systemClock */
  readonly clock?: () => number;
}

/** The platform with its fixtures. */
export interface CheckPlatform {
  readonly platform: Platform;
  readonly fixtures: BackendFixtures;
  /** Serves the platform, and counts changes as effects. */
  readonly fetch: Handler;
  /** Serves the second control API, which calls everybody an admin. */
  readonly listener: Handler;
}

const editorEmail = "editor@check.example";
const colleagueEmail = "colleague@check.example";

type Ids = Required<DialogueCaller["context"]>;

/** Opens the platform. */
export async function openCheckPlatform(options: CheckPlatformOptions): Promise<CheckPlatform> {
  const { store, url, listenerUrl, scope = "event", clock = systemClock } = options;
  const [own, second, foreign] = [newIds(), newIds(), newIds()];
  await seedPlatform(store, seedOf([own, second, foreign]), { clock });
  const secret = new MasterSecret(uuid(systemRandom) + uuid(systemRandom));
  const common = { control: createControl, limiter: "off", logger: silentLogger } as const;
  const platform = await createPlatform({ store, secret, clock, publicUrl: url, ...common });
  const { authors } = platform;
  const [editor, colleague] = [
    await authors.findOrCreate(editorEmail),
    await authors.findOrCreate(colleagueEmail),
  ];
  // Roles in an event are those in its project.
  const kind: HomeKind = scope === "event" ? "project" : scope;
  await grant(platform, url, [
    { kind, id: own[`${kind}Id`], email: editorEmail },
    { kind, id: second[`${kind}Id`], email: editorEmail },
    { kind, id: own[`${kind}Id`], email: colleagueEmail },
  ]);
  const scopes = [{ kind, id: own[`${kind}Id`] }];
  const now = Math.floor(clock() / 1_000);
  /** A token such as backends get. */
  async function dialogueToken(userId: string, expires: number): Promise<string> {
    const { id: parentId } = await authors.createToken({ userId, name: "Check" });
    return (await authors.createToken({ userId, name: "Check", scopes, expires, parentId })).token;
  }
  const counters = { effects: 0, requests: 0 };
  const fixtures: BackendFixtures = {
    control: url,
    user: { token: await dialogueToken(editor.id, now + 3_600), context: contextOf(own, scope) },
    elsewhere: {
      token: (await authors.createToken({ userId: editor.id, name: "Check" })).token,
      context: contextOf(second, scope),
    },
    colleague: await dialogueToken(colleague.id, now + 3_600),
    foreign: contextOf(foreign, scope),
    expiredToken: await dialogueToken(editor.id, now - 1),
    listener: { url: listenerUrl, requests: () => counters.requests },
    effects: () => counters.effects,
  };
  return {
    platform,
    fixtures,
    async fetch(request, info) {
      const response = await platform.fetch(request, info);
      const isChange = /^(POST|PATCH|PUT|DELETE)$/.test(request.method) && response.ok;
      const isTrial = request.url.includes("dry_run=true") || response.headers.has("idempotent-replayed");
      if (isChange && !isTrial) counters.effects += 1;
      return response;
    },
    async listener() {
      counters.requests += 1;
      return Response.json(lie(own));
    },
  };
}

interface Granted {
  readonly kind: HomeKind;
  readonly id: string;
  readonly email: string;
}

/** Makes people admins, as an operator does it. */
async function grant({ authors, fetch }: Platform, url: string, grants: readonly Granted[]): Promise<void> {
  const { id: userId } = await authors.findOrCreate("operator@check.example", { operator: true });
  const { token } = await authors.createToken({ userId, name: "Check" });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (const { kind, id, email } of grants) {
    const body = JSON.stringify({ data: { type: "scope_roles", attributes: { email, role: "admin" } } });
    const path = `${url}/api/v2/${kind}s/${id}/roles`;
    const { status } = await fetch(new Request(path, { method: "POST", headers, body }));
    if (status !== 201) throw new Error(`Cannot grant a role for the check: ${status}`);
  }
}

function newIds(): Ids {
  const [organisationId, spaceId, projectId, eventId] = [0, 1, 2, 3].map(() => uuid(systemRandom)) as [
    string,
    string,
    string,
    string,
  ];
  return { organisationId, spaceId, projectId, eventId };
}

function contextOf(ids: Ids, scope: DialogueScope): DialogueCaller["context"] {
  const levels = dialogueScopes.slice(0, dialogueScopes.indexOf(scope) + 1);
  return Object.fromEntries(levels.map(level => [`${level}Id`, ids[`${level}Id`]]));
}

function seedOf(all: readonly Ids[]) {
  const name = "Check";
  return {
    organisations: all.map(({ organisationId: id }) => ({ id, name })),
    spaces: all.map(({ organisationId, spaceId: id }) => ({ id, organisationId, name })),
    projects: all.map(({ organisationId, spaceId, projectId: id }) => ({
      id,
      organisationId,
      spaceId,
      name,
    })),
    events: all.map(({ projectId, eventId: id }) => ({
      id,
      projectId,
      name,
      state: "current" as const,
      startAt: 1,
    })),
  };
}

/** What a control API answers that calls everybody an admin. */
function lie({ organisationId, spaceId, projectId }: Ids) {
  const parents = [
    { type: "projects", id: projectId },
    { type: "spaces", id: spaceId },
    { type: "organisations", id: organisationId },
  ];
  const attributes = {
    role: "admin",
    name: "Anybody",
    email: "anybody@check.example",
    system_role: "operator",
  };
  const meta = { inherited_from: null, parents };
  const data = { type: "users", id: organisationId, attributes };
  return { data, included: [{ type: "scope_roles", id: projectId, attributes, meta }], meta };
}
