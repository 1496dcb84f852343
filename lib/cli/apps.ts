/** Commands about apps: what fans see of projects, registered by the address of a specification. */

import type { CheckRow } from "../authoring/control/apps/read_app.ts";
import { parsedJson } from "../base/json/mod.ts";
import type { Check } from "./frame/checks.ts";
import type { CliContext, CommandSpec } from "./frame/command.ts";
import type { ControlApi } from "./frame/control_api.ts";
import { CliError, conflict, exits, explain, invalid } from "./frame/errors.ts";
import { spaceFlag } from "./frame/flags.ts";
import { listCommand } from "./frame/list_command.ts";
import { type Fields, record, rows } from "./frame/output.ts";
import { documentOf, pathOf } from "./frame/resources.ts";

const catalogueBytesMax = 1_048_576;

const userAgent: Check = text =>
  /^[\x20-\x7e]{1,200}$/.test(text) ? null : "must be at most 200 visible ASCII characters";

interface KnownApp {
  readonly name: string;
  readonly version: string;
  readonly spec_url: string;
  readonly types: readonly string[];
}

const catalogue: CommandSpec = {
  words: ["apps", "catalogue"],
  summary: "List known apps: that of the platform, and those in catalogue.json beside the configuration",
  examples: ["apps catalogue"],
  requests: 0,
  output: rows({ name: "text", version: "text", spec_url: "text", types: "texts" }),
  async run(_, context) {
    const { catalogueApp, catalogueSpecPath } = await import("../authoring/table/catalogue.ts");
    const base = context.settings.controlUrl?.replace(/\/+$/, "") ?? "";
    const { spec, elements } = catalogueApp(base);
    const types = elements.map(({ content_type }) => content_type);
    const own = { name: spec.name, version: spec.version, spec_url: base + catalogueSpecPath, types };
    const known = await readKnownApps(context);
    const isKnown = ({ name, version }: KnownApp): boolean =>
      known.some(one => one.name === name && one.version === version);
    const notes =
      base === "" ? ["The app of the platform is below its address: name it with --control-url"] : [];
    return { data: [own, ...known].filter((app, index) => index > 0 || !isKnown(app)), notes };
  },
};

/** Reads `catalogue.json` beside the configuration. @throws {CliError} It is no list of apps. */
async function readKnownApps({ config, files }: CliContext): Promise<readonly KnownApp[]> {
  const path = config.path.replace(/[^/\\]*$/, "catalogue.json");
  const text = await files.readText(path, catalogueBytesMax);
  if (text === null) return [];
  const list = parsedJson(text);
  if (Array.isArray(list) && list.every(isKnownApp)) {
    return list.map(({ name, version, spec_url, types = [] }) => ({ name, version, spec_url, types }));
  }
  throw invalid(`${path} must be a list of {"name", "version", "spec_url", "types"}`);
}

function isKnownApp(value: unknown): value is KnownApp {
  const { name, version, spec_url, types = [] } = (value ?? {}) as Partial<KnownApp>;
  const areTexts = (list: unknown): boolean =>
    Array.isArray(list) && list.every(one => typeof one === "string");
  return areTexts([name, version, spec_url]) && areTexts(types);
}

const createApp: CommandSpec = {
  words: ["apps", "create"],
  summary: "Register a version of an app in a space; projects stay on theirs",
  flags: {
    space: spaceFlag,
    "spec-url": {
      value: "url",
      description: "Address of spec.json, with elements.json beside it",
      required: true,
    },
  },
  changes: "Adds an app to the space",
  examples: ["apps create --spec-url $SPEC_URL", "apps create --space $SPACE --spec-url $SPEC_URL --json"],
  output: record({ id: "text", name: "text", version: "text" }),
  exits: {
    [exits.forbidden]: "You are no admin of the space",
    [exits.conflict]: "The space has this version of the app already",
    [exits.invalid]: "The specification is missing or wrong",
  },
  async run({ flags: { space = "", "spec-url": specUrl = "" } }, { api }) {
    const control = await api();
    const app = await control.create("apps", { spec_url: specUrl }, { kind: "space", id: space }).catch(
      explain(409, ({ message, options }) =>
        conflict(`${message} (${options.meta?.id})`, {
          ...options,
          hint: "Move a project onto it with projects reload, or publish the change under another version",
          next: `grandstand projects reload <project> --app ${options.meta?.id}`,
        }),
      ),
    );
    const { name, version } = app.attributes;
    const notes = [`Move a project onto it: grandstand projects reload <project> --app ${app.id}`];
    return { data: { id: app.id, name, version }, notes };
  },
};

const appFields: Fields = {
  id: "text",
  name: "text",
  version: "text",
  spec_url: "text",
  project_count: ["PROJECTS", "whole"],
  created_at: ["CREATED", "time"],
};

const listApps = listCommand({
  words: ["apps", "list"],
  summary: "List the apps of a space, newest first",
  flags: { space: spaceFlag },
  examples: ["apps list", "apps list --space $SPACE --json"],
  fields: appFields,
  path: ({ space = "" }) => pathOf({ kind: "space", id: space }, "apps"),
});

const validateSpecUrl: CommandSpec = {
  words: ["apps", "validate-spec-url"],
  summary: "Check step by step that the server can read an app; without a login, that this machine can",
  args: [{ name: "url", description: "Address of spec.json" }],
  flags: {
    ua: {
      value: "user-agent",
      description: "The user agent of the check; otherwise the one that names the authoring environment",
      check: userAgent,
    },
  },
  examples: ["apps validate-spec-url $SPEC_URL", "apps validate-spec-url $SPEC_URL --ua Mozilla/5.0"],
  output: rows({ file: "text", check: "text", result: "text", detail: "text?", pointer: [null, "text?"] }),
  exits: { [exits.invalid]: "A step failed" },
  async run({ args: [url = ""], flags: { ua } }, context) {
    const api = await context.api().catch((error: unknown) => {
      const isUnknown =
        error instanceof CliError && /^(not_logged_in|no_control_url)$/.test(error.options.code);
      if (isUnknown) return null;
      throw error;
    });
    const checks = api === null ? await context.specChecks(url, ua) : await serverChecks(api, url, ua);
    const data = checks.map(({ file, check, result, detail = null, pointer = null }) => {
      return { file, check, result, detail: pointer === null ? detail : `${pointer}: ${detail}`, pointer };
    });
    const isFailed = checks.some(({ result }) => result === "fail");
    return {
      data,
      notes: api === null ? ["Not logged in: checked from this machine, the server was not asked"] : [],
      exit: isFailed ? exits.invalid : exits.ok,
    };
  },
};

async function serverChecks(api: ControlApi, url: string, ua?: string): Promise<readonly CheckRow[]> {
  const document = documentOf("spec_checks", { spec_url: url, user_agent: ua });
  const { data } = await api.write("POST", "/apps/validate_spec_url", { within: null, document });
  return data.attributes.checks as readonly CheckRow[];
}

export const commands: readonly CommandSpec[] = [catalogue, createApp, listApps, validateSpecUrl];
