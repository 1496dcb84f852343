/** Where a dialogue runs on a platform, and the short token that a backend gets in place of the person's own. */

import type { DialogueContext } from "../../workflow/dialogue/mod.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { CliError, exits } from "../frame/errors.ts";
import {
  documentOf,
  type Identifier,
  kinds,
  pathOf,
  type ResourceObject,
  type Target,
} from "../frame/resources.ts";

interface DialogueScope {
  readonly context: Omit<DialogueContext, "baseURL">;
  readonly place: Identifier;
}

/** Finds out where an organisation, space, project or event belongs. @throws {CliError} The caller has no role there. */
export async function readDialogueScope(api: ControlApi, target: Target): Promise<DialogueScope> {
  const isEvent = target.kind === "event";
  const answer = await api.get(
    isEvent ? pathOf(target) : pathOf(target, "my_role"),
    isEvent ? { include: "my_role" } : {},
  );
  const role = isEvent ? answer.included("scope_roles", target.id) : { ...answer.data, meta: answer.meta };
  if (role === undefined || role.attributes.role === "none") {
    throw new CliError(exits.notFound, `You have no role in the ${target.kind} ${target.id}`, {
      code: "no_role",
    });
  }
  const own: Identifier = { type: kinds[target.kind].path, id: target.id };
  const chain = [own, ...((role.meta?.parents ?? []) as readonly Identifier[])];
  const ids = chain.toReversed().map(({ type, id }) => [`${type.slice(0, -1)}Id`, id]);
  return { context: Object.fromEntries(ids), place: own };
}

/** Creates the token that the backend at an address gets: it works in one place for ten minutes. @throws {CliError} The server refused. */
export async function createDialogueToken(
  api: ControlApi,
  place: Identifier,
  audience: string,
): Promise<ResourceObject> {
  const limits = { kind: "dialogue", scopes: [place], audience };
  const document = documentOf("access_tokens", { name: "Dialogue", ...limits });
  return (await api.write("POST", "/access_tokens", { within: null, document })).data;
}
