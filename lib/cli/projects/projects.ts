/** Commands about projects. */

import type {
  ClientTokenSchema as ClientTokenAnswer,
  ClientTokensSchema as ClientTokensAnswer,
  IssuedClientTokenSchema as IssuedClientTokenAnswer,
} from "../../fans/identity/operators/schema.ts";
import { createApiClient, organisationFlags } from "../api_client.ts";
import { someOf } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import type { ControlApi, Document } from "../frame/control_api.ts";
import { CliError, conflict, exits, explain, invalid, wrongUsage } from "../frame/errors.ts";
import { exitCodeFlag, idArgument, idFlag, requiredId, spaceFlag } from "../frame/flags.ts";
import { listCommand } from "../frame/list_command.ts";
import { type Fields, json, record, rows } from "../frame/output.ts";
import { pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { isoTime } from "../frame/text.ts";
import { projectArgument, settingsCommands } from "./settings.ts";
import type { Difference, Setting } from "./settings_document.ts";

const createProject: CommandSpec = {
  words: ["projects", "create"],
  summary: "Create a project in a space",
  flags: {
    space: spaceFlag,
    name: { value: "text", description: "Its name", required: true },
    app: requiredId("Its app, one of `apps list`"),
  },
  changes: "Adds a project to the space",
  examples: ["projects create --name Show --app $APP"],
  output: record({ id: "text", name: "text", app_id: ["APP", "text"] }),
  exits: { [exits.invalid]: "The app is not one of the space" },
  async run({ flags: { space = "", name = "", app = "" } }, { api }) {
    const related = { app: { type: "apps", id: app } };
    const within = { kind: "space", id: space } as const;
    const project = await (await api()).create("projects", { name }, within, { related });
    return { data: { id: project.id, name: project.attributes.name, app_id: relation(project, "app") } };
  },
};

const projectFields: Fields = {
  id: "text",
  name: "text",
  app: "text?",
  app_id: [null, "text?"],
  state: "text",
  updated_at: ["UPDATED", "time"],
};

const listProjects = listCommand({
  words: ["projects", "list"],
  summary: "List the projects of a space",
  flags: { space: spaceFlag },
  examples: ["projects list", "projects list --space $SPACE --json"],
  fields: projectFields,
  path: ({ space = "" }) => pathOf({ kind: "space", id: space }, "projects"),
  query: () => ({ include: "app" }),
  more: (project, list) => ({
    app: titleOf(appOf(project, list)),
    app_id: relation(project, "app"),
    state: stateOf(project),
  }),
});

const inspectProject: CommandSpec = {
  words: ["projects", "inspect"],
  summary: "Show a project with its app and content types",
  args: [projectArgument],
  examples: ["projects inspect $PROJECT", "projects inspect $PROJECT --json"],
  requests: 2,
  output: record({
    id: "text",
    name: "text",
    state: "text",
    space_id: ["SPACE", "text?"],
    app_id: ["APP", "text?"],
    app: ["APP_NAME", "text?"],
    spec_url: "text?",
    settings_digest: ["SETTINGS", "text"],
    settings_bytes: ["BYTES", "whole"],
    types: "json",
  }),
  async run({ args: [projectId = ""] }, context) {
    const api = await context.api();
    const path = pathOf({ kind: "project", id: projectId });
    const [document, types] = await Promise.all([
      readProject(api, projectId),
      api.get<readonly ResourceObject[]>(`${path}/content_types`),
    ]);
    const project = document.data;
    const app = appOf(project, document);
    const data = {
      id: project.id,
      name: project.attributes.name,
      state: stateOf(project),
      space_id: relation(project, "space"),
      app_id: relation(project, "app"),
      app: titleOf(app),
      spec_url: app?.attributes.spec_url ?? null,
      settings_digest: project.meta?.settings_digest,
      settings_bytes: project.meta?.settings_bytes,
      types: types.data.map(({ attributes: { content_type: type, name: title, enabled } }) => ({
        type,
        title,
        enabled,
      })),
    };
    const { types: shownTypes, ...facts } = data;
    const rows = [
      ...Object.entries(facts).map(([key, value]) => [key, String(value ?? "")]),
      ...shownTypes.map(({ type, title, enabled }) => [
        `type ${type}`,
        `${title}${enabled === true ? "" : " (hidden)"}`,
      ]),
    ];
    return { data, shown: { columns: ["KEY", "VALUE"], rows } };
  },
};

const reloadProject: CommandSpec = {
  words: ["projects", "reload"],
  summary: "Move a project to another app, or to what the address of its app has now",
  args: [projectArgument],
  flags: {
    app: idFlag("The app; otherwise the address of its app is read again"),
    force: { description: "Move it although elements lose their content type" },
    "dry-run": { description: "Show what would change" },
  },
  changes: "Registers a new version of the app, and moves the project to it",
  examples: ["projects reload $PROJECT --app $APP", "projects reload $PROJECT --dry-run"],
  requests: 4,
  output: record({
    project: "text",
    before: "text?",
    after: "text?",
    app_id: ["APP", "text?"],
    added_types: ["ADDED", "texts"],
    removed_types: ["REMOVED", "texts"],
    changed: [null, "flag"],
  }),
  exits: {
    [exits.conflict]: "Elements have content types that the app lacks, or somebody moved the project",
  },
  async run({ args: [projectId = ""], flags }, context) {
    const api = await context.api();
    const isDryRun = flags["dry-run"] !== undefined;
    const target = { kind: "project", id: projectId } as const;
    await api.requireAllowed(target);
    const [project, app] = await Promise.all([
      readProject(api, projectId),
      flags.app === undefined ? null : api.get(`/apps/${flags.app}`),
    ]);
    const before = titleOf(appOf(project.data, project));
    const next =
      app === null
        ? await appAgain(api, project, isDryRun, context)
        : { id: app.data.id, title: titleOf(app.data), specUrl: undefined };
    const data = {
      project: projectId,
      before,
      after: next.title,
      app_id: next.id,
      added_types: [],
      removed_types: [],
    };
    if (next.id !== null && next.id === relation(project.data, "app"))
      return { data: { ...data, changed: false }, notes: ["No change"] };
    const move = (isDry: boolean) =>
      api
        .write("PATCH", `${pathOf(target)}/relationships/app`, {
          within: target,
          document: { data: { type: "apps", id: next.id ?? relation(project.data, "app") } },
          ifMatch: project.etag,
          isDryRun: isDry,
          query: { force: flags.force === undefined ? undefined : "true", spec_url: next.specUrl },
        })
        .catch(
          explain(409, ({ message, options }) =>
            conflict(message, {
              ...options,
              hint: "Elements of lost types can neither be changed nor published any more: --force moves it all the same",
              next: `grandstand projects reload ${projectId}${next.id === null ? "" : ` --app ${next.id}`} --force`,
            }),
          ),
        );
    const { added_types, removed_types } = (await move(true)).meta;
    if (!isDryRun) await move(false);
    return { data: { ...data, added_types, removed_types, changed: true } };
  },
};

/** Registers what the address of a project's app has now; the id is null where that is only tried. */
async function appAgain(
  api: ControlApi,
  project: Document,
  isDryRun: boolean,
  { done }: CliContext,
): Promise<{ readonly id: string | null; readonly title: string | null; readonly specUrl?: string }> {
  const app = appOf(project.data, project);
  const spaceId = relation(project.data, "space");
  if (app === undefined || spaceId === null) {
    const isHidden = relation(project.data, "app") !== null;
    throw invalid(
      isHidden ? "You have no role in the space of the project's app" : "The project has no app",
      {
        hint: "Name one of its space with --app",
        next: `grandstand apps list --space ${spaceId}`,
      },
    );
  }
  const specUrl = String(app.attributes.spec_url);
  try {
    const within = { kind: "space", id: spaceId } as const;
    const added = await api.create("apps", { spec_url: specUrl }, within, { isDryRun });
    if (!isDryRun) done(`registered app ${added.id}`);
    return isDryRun ? { id: null, title: titleOf(added), specUrl } : { id: added.id, title: titleOf(added) };
  } catch (error) {
    const { id: existing, is_equal: isEqual } = error instanceof CliError ? (error.options.meta ?? {}) : {};
    if (isEqual !== true) throw error;
    return { id: String(existing), title: existing === app.id ? titleOf(app) : null };
  }
}

function titleOf(app: ResourceObject | undefined): string | null {
  return app === undefined ? null : `${app.attributes.name} ${app.attributes.version}`;
}

function stateOf({ attributes }: ResourceObject): string {
  return attributes.archived === true ? "archived" : String(attributes.environment);
}

const nameDefault = "App";

const clientTokenCommand: CommandSpec = {
  words: ["projects", "client-token"],
  isOurs: true,
  summary:
    "Issue a client token, which the project's app carries so that users without a session recover their passwords; or list or end them",
  changes: "issues a token, or ends one with --end",
  examples: [
    "projects client-token $PROJECT --name iOS",
    "projects client-token $PROJECT --list",
    "projects client-token $PROJECT --end $CLIENT_TOKEN",
  ],
  output: json,
  args: [{ name: "project", description: "The id of the project" }],
  flags: {
    key: organisationFlags.key,
    name: { value: "text", description: `Purpose of the new token; otherwise ${nameDefault}` },
    list: { description: "List the tokens of the project instead" },
    end: { value: "id", description: "End this token instead" },
  },
  async run(input, context) {
    const [projectId = ""] = input.args;
    const { name, list, end } = input.flags;
    if ([name, list, end].filter(flag => flag !== undefined).length > 1) {
      throw wrongUsage("projects client-token takes one of --name, --list and --end");
    }
    const server = await createApiClient(input, context, { kind: "project", id: projectId.toLowerCase() });
    const path = `/internal/identity/projects/${encodeURIComponent(projectId)}/client-tokens`;
    if (list !== undefined) {
      const { json } = await server.send<typeof ClientTokensAnswer>(path);
      const { clientTokens } = json.data;
      const rows = clientTokens.map(token => [
        token.id,
        token.name,
        isoTime(token.createdAt),
        isoTime(token.expiresAt),
        isoTime(token.endedAt) ?? "",
      ]);
      return { data: clientTokens, shown: { columns: ["ID", "NAME", "CREATED", "EXPIRES", "ENDED"], rows } };
    }
    if (end !== undefined) {
      const { json } = await server.send<typeof ClientTokenAnswer>(`${path}/${encodeURIComponent(end)}`, {
        method: "DELETE",
      });
      return { data: json.data, shown: `${end}\n`, notes: [`${end} does not work any more`] };
    }
    const { json } = await server.send<typeof IssuedClientTokenAnswer>(path, {
      method: "POST",
      body: { name: name ?? nameDefault },
      // A second attempt could issue another token.
      isRepeatable: false,
    });
    const { id, expiresAt, token } = json.data;
    return {
      data: json.data,
      shown: `${token}\n`,
      notes: [`Token ${id} works until ${isoTime(expiresAt)}; it is not shown again`],
    };
  },
};

const sections = ["settings", "app", "enabled"] as const;

const diffProjects: CommandSpec = {
  words: ["projects", "diff"],
  summary: "Compare two projects",
  args: [idArgument("a", "A project"), idArgument("b", "The other project")],
  flags: {
    only: {
      value: sections.join("|"),
      description: "What is compared, separated by commas; otherwise all of it",
      otherwise: sections.join(","),
      check: someOf(...sections),
    },
    "exit-code": exitCodeFlag,
  },
  examples: [
    "projects diff $PROJECT $OTHER_PROJECT",
    "projects diff $PROJECT $OTHER_PROJECT --only settings,app",
  ],
  requests: 2,
  output: rows({ section: "text", key: "text", a: "json", b: "json" }),
  async run({ args: [a = "", b = ""], flags: { only = "", "exit-code": exitCode } }, context) {
    const api = await context.api();
    const wanted = only.split(",");
    const read = (projectId: string) => readProject(api, projectId, wanted.includes("settings"));
    const [first, second] = await Promise.all([read(a), read(b)]);
    const { differences } = await import("./settings_document.ts");
    const settingsOf = ({ data }: Document) => (data.attributes.settings ?? []) as readonly Setting[];
    const compared = differences(settingsOf(first), settingsOf(second));
    const data = sections
      .filter(section => wanted.includes(section))
      .flatMap(section => comparisons[section](first, second, compared).map(row => ({ section, ...row })));
    const notes = data.length === 0 ? ["No difference"] : [];
    return { data, notes, exit: exitCode !== undefined && data.length > 0 ? exits.differs : exits.ok };
  },
};

interface DiffRow {
  readonly key: string;
  readonly a: unknown;
  readonly b: unknown;
}

const comparisons: Readonly<
  Record<
    (typeof sections)[number],
    (a: Document, b: Document, settings: readonly Difference[]) => readonly DiffRow[]
  >
> = {
  settings: (_a, _b, settings) =>
    settings.map(({ key, pointer, from, to }) => ({ key: key + pointer, a: from, b: to })),
  app(a, b) {
    const [from, to] = [a, b].map(document => {
      const { attributes = {} } = appOf(document.data, document) ?? {};
      return {
        id: relation(document.data, "app"),
        version: attributes.version ?? null,
        digest: attributes.spec_digest ?? null,
      };
    });
    return (["id", "version", "digest"] as const)
      .map(key => ({ key, a: from?.[key], b: to?.[key] }))
      .filter(row => row.a !== row.b);
  },
  enabled(a, b) {
    const [from, to] = [a, b].map(({ data }) => data.attributes.enabled_types as readonly string[]);
    const all = [...new Set([...(from ?? []), ...(to ?? [])])];
    return all
      .map(key => ({ key, a: from?.includes(key) ?? false, b: to?.includes(key) ?? false }))
      .filter(row => row.a !== row.b);
  },
};

async function readProject(api: ControlApi, projectId: string, hasSettings = false): Promise<Document> {
  const fields = `name,archived,environment,enabled_types,space,app${hasSettings ? ",settings" : ""}`;
  return await api.read({ kind: "project", id: projectId }, { include: "app", "fields[projects]": fields });
}

function appOf(
  project: ResourceObject,
  { included }: Pick<Document, "included">,
): ResourceObject | undefined {
  return included("apps", relation(project, "app"));
}

export const commands: readonly CommandSpec[] = [
  createProject,
  diffProjects,
  inspectProject,
  listProjects,
  reloadProject,
  ...settingsCommands,
  clientTokenCommand,
];
