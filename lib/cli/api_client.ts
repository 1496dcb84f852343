/** The client of commands that take an API key, or the token of an admin in its place. */

import type { ApiClient } from "./frame/client.ts";
import type { CliContext, CliInput, FlagSpec } from "./frame/command.ts";
import { CliError, exits } from "./frame/errors.ts";
import { orgFlag, spaceFlag } from "./frame/flags.ts";
import { entryFor, notAllowed, tokenOf } from "./frame/profile.ts";
import type { Target } from "./frame/resources.ts";

const keyFlag: FlagSpec = {
  value: "key",
  description:
    "API key, whose secret is GRANDSTAND_API_SECRET; otherwise the token of an admin, as for other commands",
  variable: "GRANDSTAND_API_KEY",
};

export const spaceFlags = { space: spaceFlag, key: keyFlag } as const;
export const organisationFlags = { org: orgFlag, key: keyFlag } as const;
/** Flags of commands about users, whose space may follow from the API key or the address. */
export const userFlags = { space: { ...spaceFlag, required: false }, key: keyFlag } as const;

/** Names the space of the flags in the query of a path; the server finds it otherwise. */
export function withSpace(path: string, { space }: SpaceClient): string {
  return space === ""
    ? path
    : `${path}${path.includes("?") ? "&" : "?"}space_id=${encodeURIComponent(space)}`;
}

export interface SpaceClient extends ApiClient {
  readonly space: string;
}

/**
 * Creates the client for the flags of a command. The profile's allow-list is asked about `within` before a change.
 *
 * @throws {CliError} No platform is named, credentials must not be sent to it, or there are none.
 */
export async function createApiClient(
  { flags }: CliInput,
  context: CliContext,
  within: Target | null = targetOf(flags),
): Promise<SpaceClient> {
  const { key, space = "", org } = flags;
  const credentials =
    key === undefined
      ? { authorization: `Bearer ${await tokenOf(context.settings, context)}` }
      : { "x-api-key": key, "x-api-secret": secretOf(context) };
  const named = org === undefined ? {} : { "x-platform-org-id": org };
  const { createClient } = await import("./frame/requests.ts");
  const client = createClient({ ...credentials, ...named }, context);
  return {
    ...client,
    space: space.toLowerCase(),
    async send(path, ask = {}) {
      const { method = "GET", isTrial = false } = ask;
      if (method !== "GET" && !isTrial) await requireAllowed(within, key !== undefined, context);
      return await client.send(path, ask);
    },
  };
}

function targetOf({ space, org }: CliInput["flags"]): Target | null {
  if (space !== undefined) return { kind: "space", id: space.toLowerCase() };
  return org === undefined ? null : { kind: "organisation", id: org.toLowerCase() };
}

/** @throws {CliError} The allow-list does not have the resource. An API key cannot ask what is above it. */
async function requireAllowed(within: Target | null, hasKey: boolean, context: CliContext): Promise<void> {
  const { settings } = context;
  if (settings.profile.allow === undefined) return;
  if (within === null || (hasKey && entryFor(settings.profile, [within]) === null)) {
    throw notAllowed(settings, within);
  }
  if (!hasKey) await (await context.api()).requireAllowed(within);
}

function secretOf({ variables }: CliContext): string {
  const secret = variables.GRANDSTAND_API_SECRET ?? "";
  if (secret !== "") return secret;
  throw new CliError(
    exits.unauthenticated,
    "GRANDSTAND_API_SECRET must be set to the secret of the API key",
    { code: "missing_secret" },
  );
}
