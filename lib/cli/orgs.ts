import type { CommandSpec } from "./frame/command.ts";
import type { Listing } from "./frame/control_api.ts";
import { orgFlag } from "./frame/flags.ts";
import { listCommand } from "./frame/list_command.ts";
import type { Fields } from "./frame/output.ts";
import { pathOf, type ResourceObject, relation } from "./frame/resources.ts";

const organisation: Fields = { id: "text", name: "text", role: "text", is_default: ["DEFAULT", "flag"] };
const space: Fields = { id: "text", name: "text", domain: "text?", role: "text" };

const listOrganisations = listCommand({
  words: ["orgs", "list"],
  summary: "List the organisations in which you have a role",
  examples: ["orgs list", "orgs list --json"],
  fields: organisation,
  path: () => "/organisations",
  query: () => ({ include: "my_role" }),
  more: (one, list, { settings }) => ({
    role: roleOf(one, list),
    is_default: settings.profile.org === one.id,
  }),
});

const listSpaces = listCommand({
  words: ["spaces", "list"],
  summary: "List the spaces of an organisation",
  flags: { org: orgFlag },
  examples: ["spaces list", "spaces list --org $ORG"],
  fields: space,
  path: ({ org = "" }) => pathOf({ kind: "organisation", id: org }, "spaces"),
  query: () => ({ include: "my_role" }),
  more: (one, list) => ({ role: roleOf(one, list) }),
});

export const commands: readonly CommandSpec[] = [listOrganisations, listSpaces];

function roleOf(one: ResourceObject, list: Listing): unknown {
  return list.included("scope_roles", relation(one, "my_role"))?.attributes.role ?? "none";
}
