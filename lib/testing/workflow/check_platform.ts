/**
 * A platform in memory against which workflow backends are checked: three organisations, an editor with a role in two of them,
 * a colleague, and a second control API that must never be asked.
 */

import { systemClock, systemRandom } from "../../auth/crypto/mod.ts";
import type { Handler } from "../../http/mod.ts";
import type { Platform } from "../../platform/platform.ts";
import type { BackendFixtures } from "../../workflow/conformance/mod.ts";
import { contextOf, homeOf, type Level, openWorld, type TenantIds } from "../world.ts";

interface CheckPlatformOptions {
  /** Address of the platform, with which the backend is configured. */
  readonly url: string;
  readonly listenerUrl: string;
  /** Where dialogues run. @default "event" */
  readonly scope?: Level;
  /** Unix ms. @default systemClock */
  readonly clock?: () => number;
}

export interface CheckPlatform {
  readonly platform: Platform;
  readonly fixtures: BackendFixtures;
  /** Serves the platform, and counts changes as effects. */
  readonly fetch: Handler;
  /** Serves the second control API, which calls everybody an admin. */
  readonly listener: Handler;
}

const editor = "editor@check.example";
const colleague = "colleague@check.example";

export async function openCheckPlatform(options: CheckPlatformOptions): Promise<CheckPlatform> {
  const { url, listenerUrl, scope = "event", clock = systemClock } = options;
  const world = await openWorld({ url, name: "Check", clock, random: systemRandom, tenants: 3 });
  const { platform, grant, tokenOf } = world;
  const [own, second, foreign] = world.tenants as readonly [TenantIds, TenantIds, TenantIds];
  const home = homeOf(own, scope);
  await grant(editor, "admin", home);
  await grant(editor, "admin", homeOf(second, scope));
  await grant(colleague, "admin", home);
  const now = Math.floor(clock() / 1_000);
  const counters = { effects: 0, requests: 0 };
  const fixtures: BackendFixtures = {
    control: url,
    user: { token: await tokenOf(editor, { home, expires: now + 3_600 }), context: contextOf(own, scope) },
    elsewhere: { token: await tokenOf(editor), context: contextOf(second, scope) },
    colleague: await tokenOf(colleague, { home, expires: now + 3_600 }),
    foreign: contextOf(foreign, scope),
    expiredToken: await tokenOf(editor, { home, expires: now - 1 }),
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

function lie({ organisationId, spaceId, projectId }: TenantIds) {
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
  const meta = { inherited_from: null, parents, admins: [] };
  const data = { type: "users", id: organisationId, attributes };
  return { data, included: [{ type: "scope_roles", id: projectId, attributes, meta }], meta };
}
