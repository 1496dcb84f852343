import type { CommandSpec } from "./frame/command.ts";
import type { Listing } from "./frame/control_api.ts";
import { orgFlag } from "./frame/flags.ts";
import { type Fields, listed, rows } from "./frame/output.ts";
import { pathOf, type ResourceObject, relation } from "./frame/resources.ts";

const organisation: Fields = { id: "text", name: "text", role: "text", is_default: ["DEFAULT", "flag"] };
const space: Fields = { id: "text", name: "text", domain: "text?", role: "text" };

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

export const commands: readonly CommandSpec[] = [listOrganisations, listSpaces];

function roleOf(one: ResourceObject, list: Listing): unknown {
  return list.included("scope_roles", relation(one, "my_role"))?.attributes.role ?? "none";
}
