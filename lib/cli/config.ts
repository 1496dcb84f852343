/** Commands about profiles on this machine. */

import { address, type Check, id, oneOf } from "./frame/checks.ts";
import type { CommandSpec } from "./frame/command.ts";
import { notFound, wrongUsage } from "./frame/errors.ts";
import { record, rows, text } from "./frame/output.ts";
import {
  type AllowEntry,
  type Profile,
  readConfiguration,
  useProfile,
  writeProfile,
} from "./frame/profile.ts";
import { kindOf } from "./frame/resources.ts";

const allowed: Check = value =>
  ["read-only", "unrestricted"].includes(value) || value.split(",").every(one => entryOf(one) !== null)
    ? null
    : "must be read-only, unrestricted, or kind:id separated by commas, such as space:7c1e…";

const checks: Readonly<Record<string, Check>> = {
  control_url: address,
  org: id,
  space: id,
  demo_form_id: id,
  allow: allowed,
  current: name => (name === "" ? "must be the name of a profile" : null),
};
const key = {
  name: "key",
  description: `One of ${Object.keys(checks).join(", ")}`,
  check: oneOf(...Object.keys(checks)),
};

const listCommand: CommandSpec = {
  words: ["config", "list"],
  summary: "List the profiles of this machine",
  examples: ["config list"],
  requests: 0,
  output: rows({
    name: ["PROFILE", "text"],
    is_current: ["CURRENT", "flag"],
    control_url: "text?",
    org: ["ORG_ID", "text?"],
    space: ["SPACE_ID", "text?"],
    has_token: ["TOKEN", "flag"],
    allow: "text",
  }),
  async run(_, { config, settings }) {
    const { profiles } = await readConfiguration(config);
    const data = Object.entries(profiles).map(([name, profile]) => ({
      name,
      is_current: name === settings.profileName,
      control_url: profile.control_url ?? null,
      org: profile.org ?? null,
      space: profile.space ?? null,
      has_token: profile.token !== undefined,
      allow: settingOf(profile, "allow"),
    }));
    return { data, notes: [`The file is ${config.path}`] };
  },
};

const getCommand: CommandSpec = {
  words: ["config", "get"],
  summary: "Print a setting of the profile",
  args: [key],
  examples: ["config get org"],
  requests: 0,
  output: text,
  async run({ args: [name = ""] }, { settings }) {
    const value = name === "current" ? settings.profileName : settingOf(settings.profile, name);
    if (value !== null) return { data: value };
    throw notFound(`Profile ${settings.profileName} has no ${name}`, {
      next: `grandstand config set ${name} <value>`,
    });
  },
};

const setCommand: CommandSpec = {
  words: ["config", "set"],
  summary: "Change a setting of the profile, or remove it where no value is given",
  args: [key, { name: "value", description: "The new value", optional: true }],
  changes: "the profile on this machine",
  examples: [
    "config set org $ORG",
    "config set allow space:$SPACE --profile staging",
    "config set current staging",
  ],
  requests: 0,
  output: record({ key: "text", value: "text?" }),
  makesProfile: true,
  async run({ args: [name = "", value = null] }, { config, settings }) {
    const fault = value === null ? null : checks[name]?.(value);
    if (typeof fault === "string") throw wrongUsage(`${name} ${fault}`);
    if (name === "current") await useProfile(config, value ?? "");
    else await writeProfile(config, settings.profileName, change(settings.profile, name, value));
    return { data: { key: name, value } };
  },
};

export const commands: readonly CommandSpec[] = [listCommand, getCommand, setCommand];

function change(profile: Profile, name: string, value: string | null): Readonly<Record<string, unknown>> {
  if (name === "demo_form_id") {
    const { demo_form_id: _, ...others } = profile.urls ?? {};
    return { urls: value === null ? others : { ...others, demo_form_id: value } };
  }
  if (name !== "allow" || value === null) return { [name]: value };
  if (value === "unrestricted") return { allow: null };
  return { allow: value === "read-only" ? [] : value.split(",").map(entryOf) };
}

function settingOf(profile: Profile, name: string): string | null {
  if (name === "demo_form_id") return profile.urls?.demo_form_id ?? null;
  if (name !== "allow") return profile[name as "control_url" | "org" | "space"] ?? null;
  if (profile.allow === undefined) return "unrestricted";
  return profile.allow.map(({ kind, id }) => `${kind}:${id}`).join(",") || "read-only";
}

function entryOf(one: string): AllowEntry | null {
  const [, word = "", value = ""] = /^([a-z-]+):(.+)$/.exec(one) ?? [];
  const kind = kindOf(word);
  return kind === null || id(value) !== null ? null : { kind, id: value };
}
