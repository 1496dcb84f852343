/** Commands about what may be changed: by the allow-list of the profile and by the role. */

import type { CommandSpec } from "./frame/command.ts";
import type { ControlApi } from "./frame/control_api.ts";
import { exits } from "./frame/errors.ts";
import { idArgument } from "./frame/flags.ts";
import { record, rows } from "./frame/output.ts";
import { type Kind, kindCheck, kindOf, pathOf, type Target } from "./frame/resources.ts";

export const targetArgs = [
  {
    name: "kind",
    description: "organisation, space, project, event, element or event-template",
    check: kindCheck,
  },
  idArgument("id", "Its id"),
] as const;

export function targetOf([kind = "", id = ""]: readonly string[]): Target {
  return { kind: kindOf(kind) ?? "project", id: id.toLowerCase() };
}

const checkCommand: CommandSpec = {
  words: ["scope", "check"],
  summary: "Check whether you may change a resource, without changing it",
  args: targetArgs,
  examples: ["scope check event $EVENT"],
  requests: 2,
  output: record({
    kind: "text",
    id: "text",
    local: "text",
    role: "text",
    verdict: "text",
    matched_by: "text?",
  }),
  exits: { 5: "the change is not allowed" },
  async run({ args }, { api, settings }) {
    const target = targetOf(args);
    const control = await api();
    const chain = await control.chain(target);
    const role = await roleIn(control, chain);
    const entry = await control.allowedBy(target);
    const isLocal = settings.profile.allow === undefined || entry !== null;
    const isAllowed = isLocal && sufficient[target.kind].includes(role);
    const data = {
      ...target,
      local: isLocal ? "allowed" : "denied",
      role,
      verdict: isAllowed ? "allowed" : "denied",
      matched_by: entry === null ? null : `${entry.kind}:${entry.id}`,
    };
    return { data, exit: isAllowed ? exits.ok : exits.forbidden };
  },
};

const showCommand: CommandSpec = {
  words: ["scope", "show"],
  summary: "Show the allow-list of the profile",
  examples: ["scope show"],
  requests: 0,
  output: rows({ kind: "text", id: "text", label: "text?" }),
  async run(_, { settings }) {
    const { allow } = settings.profile;
    const data = (allow ?? []).map(({ kind, id, label = null }) => ({ kind, id, label }));
    const meaning = allow === undefined ? "unrestricted" : allow.length === 0 ? "read-only" : "restricted";
    return { data, meta: { meaning }, notes: [`Profile ${settings.profileName} is ${meaning}`] };
  },
};

export const commands: readonly CommandSpec[] = [checkCommand, showCommand];

const creators = ["creator", "admin"];
const sufficient: Readonly<Record<Kind, readonly string[]>> = {
  organisation: ["admin"],
  space: ["admin"],
  project: ["admin"],
  event: creators,
  element: creators,
  "event-template": creators,
};

async function roleIn(control: ControlApi, chain: readonly Target[]): Promise<string> {
  const scope = chain.find(({ kind }) => ["project", "space", "organisation"].includes(kind));
  if (scope === undefined) return "none";
  return String((await control.get(pathOf(scope, "my_role"))).data.attributes.role);
}
