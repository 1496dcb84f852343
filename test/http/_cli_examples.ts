/** What the first example of each command needs: variables, files and records. */

import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { CommandSpec } from "../../lib/cli/mod.ts";
import { documentDigest } from "../../lib/fans/directory/loyalty_versions.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { catalogueUrl } from "./_apps.ts";
import { type Cli, openCli } from "./_cli.ts";
import { eventExamples } from "./_cli_event_examples.ts";
import { operatorToken, resource, to } from "./_control_examples.ts";

/** A platform with an operator, for commands. */
export interface CliWorld extends TestPlatform {
  /** The operator's token. */
  readonly token: string;
  /** Variables of every example, such as PROJECT. */
  readonly variables: Readonly<Record<string, string>>;
  /** Runs a command line as the operator. */
  readonly cli: Cli;
  /** Ids of the newest changes in organisation, space and project. */
  audit(): Promise<readonly string[]>;
  /** Creates a record and returns its id. */
  create(
    path: string,
    type: string,
    attributes: object,
    related?: Readonly<Record<string, readonly [string, string]>>,
  ): Promise<string>;
}

/** What an example needs. */
export interface CliExample {
  /** Variables beside those of the world. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly files?: ReadonlyMap<string, string | Uint8Array>;
  /** What a person types. Omitted: nobody is there. */
  readonly answers?: readonly string[];
}

type Prepare = (world: CliWorld) => Promise<CliExample>;
const nothing: Prepare = async () => ({});

/** Opens a platform in memory with an operator. */
export async function openCliWorld(options: Parameters<typeof openPlatform>[1] = {}): Promise<CliWorld> {
  const world = await openPlatform(async clock => createMemoryStore({ clock }), options);
  const token = await operatorToken(world);
  const variables = { ORG: ids.organisation, SPACE: ids.space, PROJECT: ids.project, EVENT: ids.event };
  return {
    ...world,
    token,
    variables,
    cli: await openCli(world, undefined, token),
    async audit() {
      const places = [`organisations/${ids.organisation}`, `spaces/${ids.space}`, `projects/${ids.project}`];
      const headers = { authorization: `Bearer ${token}` };
      const lists = places.map(place => world.call(`/api/v2/${place}/audit`, { headers }));
      return (await Promise.all(lists)).flatMap(({ json }) => json.data.map(({ id }: { id: string }) => id));
    },
    async create(path, type, attributes, related = {}) {
      const relationships = Object.fromEntries(
        Object.entries(related).map(([name, [kind, id]]) => [name, to(kind, id)]),
      );
      const answer = await world.call(`/api/v2${path}`, {
        body: resource(type, attributes, { relationships }),
        headers: { authorization: `Bearer ${token}` },
      });
      if (answer.status !== 201) throw new Error(`Cannot create an example: ${answer.status} ${answer.text}`);
      return answer.json.data.id;
    },
  };
}

/** Returns the arguments of a command's first example, with variables filled in and without what is for the shell. */
export function exampleArgs(
  { examples: [example = ""] }: CommandSpec,
  variables: Readonly<Record<string, string>>,
): readonly string[] {
  const [line = ""] = example.split(/ [<>|] /);
  return (line.match(/"[^"]*"|\S+/g) ?? []).map(word =>
    word.replaceAll('"', "").replace(/\$([A-Z_]+)/g, (_, name: string) => {
      const value = variables[name];
      if (value === undefined) throw new Error(`The example "${example}" needs $${name}`);
      return value;
    }),
  );
}

async function withMember(world: CliWorld): Promise<CliExample> {
  await world.create(`/spaces/${ids.space}/roles`, "scope_roles", {
    email: "sam@example.com",
    role: "viewer",
  });
  return {};
}

async function withToken(world: CliWorld): Promise<CliExample> {
  return { variables: { TOKEN: await world.create("/access_tokens", "access_tokens", { name: "Old" }) } };
}

const withSpec: Prepare = async () => ({ variables: { SPEC_URL: catalogueUrl } });

async function withApp(world: CliWorld): Promise<CliExample> {
  const APP = await world.create(
    "/apps",
    "apps",
    { spec_url: catalogueUrl },
    { space: ["spaces", ids.space] },
  );
  return { variables: { APP } };
}

async function withProjects(world: CliWorld): Promise<CliExample> {
  const { variables: { APP = "" } = {} } = await withApp(world);
  const related = { space: ["spaces", ids.space], app: ["apps", APP] } as const;
  return {
    variables: { OTHER_PROJECT: await world.create("/projects", "projects", { name: "B" }, related) },
  };
}

/** Settings that were pulled when the project had none, and edited. */
const withSettings: Prepare = async () => {
  const base = { project: ids.project, digest: documentDigest([]) };
  const settings = [{ key: "skin", values: { all: "dark" } }];
  const files = { "settings.json": settings, "settings.json.base.json": base };
  return { files: new Map(Object.entries(files).map(([path, content]) => [path, JSON.stringify(content)])) };
};

async function withNote(world: CliWorld): Promise<CliExample> {
  await world.cli(`annotations set project ${ids.project} note=Rain`);
  return {};
}

const withLogo: Prepare = async () => ({ files: new Map([["logo.png", "Logo"]]) });

async function withAsset(world: CliWorld): Promise<CliExample> {
  const { json } = await world.cli("assets upload logo.png --json", {
    files: new Map([["logo.png", "Logo"]]),
  });
  const TAG = await world.create("/tags", "tags", { name: "Logos" }, { space: ["spaces", ids.space] });
  return { variables: { ASSET: json.data[0].id, TAG } };
}

const withManifest: Prepare = async () => {
  const element = { key: "welcome", type: "message", data: { fields: { body: "Welcome" } } };
  const event = { key: "match", id: ids.event, duration: 7_200, elements: [element] };
  const project = { key: "main", id: ids.project, locales: ["en"], events: [event] };
  return { files: new Map([["show.yaml", JSON.stringify({ version: 1, id: "show", projects: [project] })]]) };
};

async function withWorkflow({ create }: CliWorld): Promise<CliExample> {
  const attributes = { name: "Quiz", endpoint_url: "https://quiz.example/", availability: ["event"] };
  return { variables: { WORKFLOW: await create("/workflows", "workflows", attributes) } };
}

/** By the words of a command: every command that calls the control API. */
export const cliExamples: Readonly<Record<string, Prepare>> = {
  "orgs list": nothing,
  "spaces list": nothing,
  "apps create": withSpec,
  "apps list": nothing,
  "apps validate-spec-url": withSpec,
  "projects create": withApp,
  "projects diff": withProjects,
  "projects inspect": nothing,
  "projects list": nothing,
  "projects reload": withApp,
  "projects settings diff": withSettings,
  "projects settings pull": nothing,
  "projects settings push": withSettings,
  "url consumer": nothing,
  "url feeds": nothing,
  "url livestats": nothing,
  "url studio": nothing,
  plan: withManifest,
  apply: withManifest,
  export: nothing,
  "annotations delete": withNote,
  "annotations get": nothing,
  "annotations set": nothing,
  context: nothing,
  "assets delete": withAsset,
  "assets list": nothing,
  "assets media-types": nothing,
  "assets tag": withAsset,
  "assets untag": withAsset,
  "assets update": withAsset,
  "assets upload": withLogo,
  "assets uploaders": nothing,
  "scope check": nothing,
  whoami: nothing,
  "tags list": nothing,
  "tags create": nothing,
  "members list": nothing,
  "members set": nothing,
  "members remove": withMember,
  "tokens list": nothing,
  "tokens create": nothing,
  "tokens revoke": withToken,
  "workflow list": withWorkflow,
  "workflow register": nothing,
  "workflow remove": withWorkflow,
  ...eventExamples,
};
