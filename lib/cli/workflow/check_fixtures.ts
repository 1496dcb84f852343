/** The people and places of `workflow check`: on a platform in memory, or on the platform of the profile. */

import type { Level } from "../../testing/world.ts";
import type { BackendFixtures, CheckBackendOptions } from "../../workflow/conformance/mod.ts";
import { type Check, id as idCheck } from "../frame/checks.ts";
import type { CliContext } from "../frame/command.ts";
import { type Kind, kindOf } from "../frame/kinds.ts";
import { given } from "../frame/profile.ts";
import { createDialogueToken, readDialogueScope } from "./dialogue_scope.ts";

const scopes: readonly (Kind | null)[] = ["organisation", "space", "project", "event"];

/** Checks `kind` and `kind:id`. */
export const isCheckScope: Check = text => {
  const [word = "", ...others] = text.split(":");
  if (!scopes.includes(kindOf(word)))
    return `must be one of ${scopes.join(", ")}, or one with an id: event:id`;
  return others.length === 0 ? null : idCheck(others.join(":"));
};

/** Time between requests to a backend whose control API counts its own requests, in ms. */
const paceMs = 150;

/** Fixtures that are open until they are closed. */
interface OpenFixtures {
  readonly fixtures: BackendFixtures & Required<Pick<CheckBackendOptions, "send">>;
  readonly close: () => Promise<void>;
}

/** Opens the fixtures for a scope. @throws {CliError} Another program has the port, or the platform refuses. */
export async function openFixtures(
  context: CliContext,
  { port, scope, url }: { readonly port: number; readonly scope: string; readonly url: string },
): Promise<OpenFixtures> {
  const [word = "", id] = scope.split(":");
  const kind = kindOf(word) ?? "event";
  return id === undefined
    ? await openOwnPlatform(context, port, kind as Level)
    : await openPlatformOfProfile(context, { kind, id }, url);
}

/** Serves a platform in memory, and the address that must never be asked. */
async function openOwnPlatform(context: CliContext, port: number, scope: Level): Promise<OpenFixtures> {
  const { serve } = context;
  const { openCheckPlatform } = await import("../../testing/workflow/check_platform.ts");
  const own = await serve(port, async (...call) => await (await world).fetch(...call));
  const foreign = await serve(0, async (...call) => await (await world).listener(...call));
  const world = openCheckPlatform({ url: own.url, listenerUrl: foreign.url, scope });
  const { fixtures, platform } = await world;
  return {
    fixtures: { ...fixtures, send: context.fetch },
    async close() {
      await Promise.all([own.stop(), foreign.stop()]);
      await platform.close();
    },
  };
}

/** Makes tokens of dialogues on the platform of the profile, which end after ten minutes. */
async function openPlatformOfProfile(
  context: CliContext,
  target: { readonly kind: Kind; readonly id: string },
  url: string,
): Promise<OpenFixtures> {
  const other = given(context.variables.GRANDSTAND_OTHER_TOKEN);
  const api = await context.api();
  await api.requireAllowed(target);
  const { context: ids, place } = await readDialogueScope(api, target);
  await context.confirm(`Press the action of the backend dozens of times in the ${target.kind} ${target.id}`);
  const { ControlApi } = await import("../frame/control_api.ts");
  const apis = [api, ...(other === undefined ? [] : [ControlApi.with(other, context)])];
  const tokens = await Promise.all(apis.map(each => createDialogueToken(each, place, url)));
  const [own = "", colleague] = tokens.map(({ attributes }) => String(attributes.token));
  let requests = 0;
  const foreign = await context.serve(0, async () => {
    requests += 1;
    return new Response(null, { status: 404 });
  });
  return {
    fixtures: {
      control: api.url,
      user: { token: own, context: ids },
      // Nobody has a role where nothing is.
      foreign: Object.fromEntries(Object.keys(ids).map(level => [level, context.uniqueId()])),
      listener: { url: foreign.url, requests: () => requests },
      ...(colleague === undefined ? {} : { colleague }),
      async send(request) {
        await context.pause(paceMs);
        return await context.fetch(request);
      },
    },
    close: async () => void (await foreign.stop()),
  };
}
