/** Commands about organisations and spaces. */

import { id } from "./frame/checks.ts";
import type { CommandSpec, FlagSpec } from "./frame/command.ts";
import type { Listing } from "./frame/control_api.ts";
import { type Fields, listed, rows } from "./frame/output.ts";
import { pathOf, type ResourceObject, relation } from "./frame/resources.ts";

export const orgFlag: FlagSpec = {
  value: "id",
  description: "The organisation",
  variable: "GRANDSTAND_ORG",
  profile: "org",
  required: true,
  check: id,
};

export const spaceFlag: FlagSpec = {
  value: "id",
  description: "The space",
  variable: "GRANDSTAND_SPACE",
  profile: "space",
  required: true,
  check: id,
};

const organisation: Fields = {
  id: ["ID", "text"],
  name: ["NAME", "text"],
  role: ["ROLE", "text"],
  is_default: ["DEFAULT", "flag"],
};
const space: Fields = {
  id: ["ID", "text"],
  name: ["NAME", "text"],
  domain: ["DOMAIN", "text?"],
  role: ["ROLE", "text"],
};

const listOrganisations: CommandSpec = {
  words: ["orgs", "list"],
  summary: "List the organisations in which you have a role",
  examples: ["orgs list", "orgs list --json"],
  requests: 1,
  output: rows(organisation),
  async run(_, { api, settings }) {
    const list = await (await api()).all("/organisations", { include: "my_role" });
    return listed(list, organisation, one => ({
      role: roleOf(one, list),
      is_default: settings.profile.org === one.id,
    }));
  },
};

const listSpaces: CommandSpec = {
  words: ["spaces", "list"],
  summary: "List the spaces of an organisation",
  flags: { org: orgFlag },
  examples: ["spaces list", "spaces list --org $ORG"],
  requests: 1,
  output: rows(space),
  async run({ flags: { org = "" } }, { api }) {
    const path = pathOf({ kind: "organisation", id: org }, "spaces");
    const list = await (await api()).all(path, { include: "my_role" });
    return listed(list, space, one => ({ role: roleOf(one, list) }));
  },
};

export const orgsCommands: readonly CommandSpec[] = [listOrganisations];
export const spacesCommands: readonly CommandSpec[] = [listSpaces];

function roleOf(one: ResourceObject, list: Listing): unknown {
  return list.included("scope_roles", relation(one, "my_role"))?.attributes.role ?? "none";
}
