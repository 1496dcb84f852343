/** The command that compares projects, and how projects are read. */

import { id, someOf } from "../frame/checks.ts";
import type { CommandSpec } from "../frame/command.ts";
import type { ControlApi, Document } from "../frame/control_api.ts";
import { exits } from "../frame/errors.ts";
import { rows } from "../frame/output.ts";
import { pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { exitCodeFlag } from "./settings.ts";
import type { Difference, Setting } from "./settings_document.ts";

const sections = ["settings", "app", "enabled"] as const;

export const diffProjects: CommandSpec = {
  words: ["projects", "diff"],
  summary: "Compare two projects",
  args: [
    { name: "a", description: "A project", check: id },
    { name: "b", description: "The other project", check: id },
  ],
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
  output: rows({ section: ["SECTION", "text"], key: ["KEY", "text"], a: ["A", "json"], b: ["B", "json"] }),
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

/** Reads a project with its app. */
export async function readProject(
  api: ControlApi,
  projectId: string,
  hasSettings = false,
): Promise<Document> {
  const fields = `name,archived,environment,enabled_types,space,app${hasSettings ? ",settings" : ""}`;
  return await api.get(pathOf({ kind: "project", id: projectId }), {
    include: "app",
    "fields[projects]": fields,
  });
}

export function appOf(
  project: ResourceObject,
  { included }: Pick<Document, "included">,
): ResourceObject | undefined {
  return included("apps", relation(project, "app"));
}
