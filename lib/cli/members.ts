/** Commands about people with roles, access tokens and tags. */

import { type Check, id, instant, oneOf } from "./frame/checks.ts";
import type { ArgumentSpec, CommandSpec } from "./frame/command.ts";
import type { ControlApi } from "./frame/control_api.ts";
import { notFound } from "./frame/errors.ts";
import { idArgument, spaceFlag, yesFlag } from "./frame/flags.ts";
import { listCommand } from "./frame/list_command.ts";
import { fieldsOf, record, rows } from "./frame/output.ts";
import { type Kind, kindOf, kinds, pathOf, type ResourceObject, type Target } from "./frame/resources.ts";

const roles = oneOf("viewer", "creator", "admin");
const scopeKinds: readonly (Kind | null)[] = ["organisation", "space", "project"];
const isScope: Check = word =>
  scopeKinds.includes(kindOf(word)) ? null : "must be organisation, space or project";

const scopeArgs: readonly ArgumentSpec[] = [
  { name: "kind", description: "organisation, space or project", check: isScope },
  idArgument("id", "Its id"),
];
const emailArg: ArgumentSpec = { name: "email", description: "Address of the person" };
const member = { id: "text", email: "text", role: "text" } as const;

const listMembers: CommandSpec = {
  words: ["members", "list"],
  summary: "List who has a role in an organisation, space or project",
  args: scopeArgs,
  examples: ["members list space $SPACE"],
  output: rows(member),
  run: async ({ args }, { api }) => ({
    data: (await grants(await api(), scopeOf(args))).map(one => fieldsOf(member, one)),
  }),
};

const setMember: CommandSpec = {
  words: ["members", "set"],
  summary: "Give a person a role, or another one",
  args: [...scopeArgs, emailArg, { name: "role", description: "viewer, creator or admin", check: roles }],
  changes: "the person's role",
  examples: ["members set space $SPACE sam@example.com creator"],
  requests: 2,
  output: record(member),
  exits: { 7: "the last admin would lose the role" },
  async run({ args }, { api }) {
    const [, , email = "", role] = args;
    const within = scopeOf(args);
    const control = await api();
    const known = grantOf(await grants(control, within), email);
    if (known !== undefined && known.attributes.role === role) {
      return { data: fieldsOf(member, known), notes: ["No change"] };
    }
    const document =
      known === undefined
        ? { data: { type: "scope_roles", attributes: { email, role } } }
        : { data: { type: "scope_roles", id: known.id, attributes: { role } } };
    const { data } = await (known === undefined
      ? control.write("POST", pathOf(within, "roles"), { within, document })
      : control.write("PATCH", `/scope_roles/${known.id}`, { within, document }));
    return { data: fieldsOf(member, data) };
  },
};

const removeMember: CommandSpec = {
  words: ["members", "remove"],
  summary: "Take a person's role away",
  args: [...scopeArgs, emailArg],
  flags: { yes: yesFlag },
  changes: "the person's role",
  examples: ["members remove space $SPACE sam@example.com --yes"],
  requests: 2,
  output: record(member),
  exits: { 7: "the last admin would lose the role" },
  async run({ args }, { api, confirm }) {
    const [, , email = ""] = args;
    const within = scopeOf(args);
    const control = await api();
    const known = grantOf(await grants(control, within), email);
    if (known === undefined) {
      throw notFound(`${email} has no role in this ${within.kind} itself`, {
        next: `grandstand members list ${within.kind} ${within.id}`,
      });
    }
    await confirm(`Take the role ${known.attributes.role} from ${email}`);
    await control.write("DELETE", `/scope_roles/${known.id}`, { within });
    return { data: fieldsOf(member, known) };
  },
};

const token = {
  id: "text",
  name: "text",
  prefix: "text",
  role_cap: "text?",
  scopes: "texts",
  expires_at: ["EXPIRES", "time?"],
} as const;

const listedToken = { ...token, last_used_at: ["LAST USED", "time?"] } as const;

const listTokens: CommandSpec = {
  words: ["tokens", "list"],
  summary: "List your access tokens",
  examples: ["tokens list"],
  output: rows(listedToken),
  async run(_, { api }) {
    const { data } = await (await api()).get<readonly ResourceObject[]>("/access_tokens");
    return { data: data.map(one => ({ ...fieldsOf(listedToken, one), ...tokenOf(one) })) };
  },
};

const createToken: CommandSpec = {
  words: ["tokens", "create"],
  summary: "Create an access token, which is shown once",
  flags: {
    name: { value: "text", description: "What it is for", required: true },
    "role-cap": { value: "role", description: "The most that it may do", check: roles },
    scope: {
      value: "kind:id",
      description: "Where it works, with all below; may be repeated; otherwise everywhere",
      repeated: true,
      check: value => {
        const [kind = "", ...others] = value.split(":");
        return isScope(kind) ?? id(others.join(":"));
      },
    },
    "expires-at": { value: "time", description: "When it ends; otherwise in a year", check: instant },
  },
  changes: "your tokens",
  examples: ["tokens create --name Pipeline --role-cap creator --scope project:$PROJECT"],
  output: record({ ...token, token: "text" }),
  async run({ flags, lists }, { api }) {
    const end = flags["expires-at"];
    const scopes = lists.scope?.map(one => {
      const { kind, id } = scopeOf(one.split(":"));
      return { type: kinds[kind].path, id };
    });
    const attributes = {
      name: flags.name,
      role_cap: flags["role-cap"] ?? null,
      scopes: scopes ?? null,
      expires_at: end === undefined ? null : Math.floor(Date.parse(end) / 1_000),
    };
    const document = { data: { type: "access_tokens", attributes } };
    const { data } = await (await api()).write("POST", "/access_tokens", { within: null, document });
    return {
      data: { ...tokenOf(data), token: data.attributes.token },
      shown: `GRANDSTAND_TOKEN=${data.attributes.token}\n`,
      notes: ["The token is shown only once: store it where only its user can read it"],
    };
  },
};

const revokeToken: CommandSpec = {
  words: ["tokens", "revoke"],
  summary: "End an access token of yours, within a second everywhere",
  args: [idArgument("token", "Its id")],
  changes: "the token",
  examples: ["tokens revoke $TOKEN"],
  output: record({ id: "text" }),
  async run({ args: [tokenId = ""] }, { api }) {
    await (await api()).write("DELETE", `/access_tokens/${encodeURIComponent(tokenId)}`, { within: null });
    return { data: { id: tokenId } };
  },
};

const tag = { id: "text", name: "text" } as const;

const listTags = listCommand({
  words: ["tags", "list"],
  summary: "List the tags of a space",
  flags: { space: spaceFlag },
  examples: ["tags list --space $SPACE"],
  fields: tag,
  path: ({ space = "" }) => pathOf({ kind: "space", id: space }, "tags"),
});

const createTag: CommandSpec = {
  words: ["tags", "create"],
  summary: "Create a tag in a space",
  args: [{ name: "name", description: "Its name" }],
  flags: { space: spaceFlag },
  changes: "a new tag",
  examples: ["tags create Sponsors --space $SPACE"],
  output: record(tag),
  exits: { 7: "there is a tag of this name" },
  async run({ args: [name], flags: { space = "" } }, { api }) {
    const created = await (await api()).create("tags", { name }, { kind: "space", id: space });
    return { data: fieldsOf(tag, created) };
  },
};

export const commands: readonly CommandSpec[] = [
  listMembers,
  setMember,
  removeMember,
  listTokens,
  createToken,
  revokeToken,
  listTags,
  createTag,
];

function scopeOf([kind = "", id = ""]: readonly string[]): Target {
  return { kind: kindOf(kind) ?? "space", id: id.toLowerCase() };
}

async function grants(control: ControlApi, scope: Target): Promise<readonly ResourceObject[]> {
  return (await control.all(pathOf(scope, "roles"))).data;
}

function grantOf(all: readonly ResourceObject[], email: string): ResourceObject | undefined {
  return all.find(({ attributes }) => String(attributes.email).toLowerCase() === email.toLowerCase());
}

function tokenOf(one: ResourceObject) {
  const places = (one.attributes.scopes ?? []) as readonly { readonly type: string; readonly id: string }[];
  const scopes = places.map(({ type, id }) => `${type.replace(/s$/, "")}:${id}`);
  return { ...fieldsOf(token, one), scopes };
}
