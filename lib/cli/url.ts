import type { CliContext, CliInput, CommandSpec } from "./frame/command.ts";
import { invalid } from "./frame/errors.ts";
import { eventFlag, idFlag, projectFlag } from "./frame/flags.ts";
import { rows, text } from "./frame/output.ts";
import { type ResourceObject, relation } from "./frame/resources.ts";

/** The form that `forms demo` names where the profile names none. */
const demoFormId = "00000000-0000-8000-8000-000000000f02";

type Addresses = Readonly<Record<string, string>>;

function pageCommand(name: "consumer" | "studio", summary: string): CommandSpec {
  return {
    words: ["url", name],
    summary,
    flags: { project: projectFlag, event: idFlag("An event of the project") },
    examples: [`url ${name} --project $PROJECT`, `url ${name} --project $PROJECT --event $EVENT`],
    output: text,
    async run(input, context) {
      return { data: pageAddress(await projectOf(input, context), name, input.flags.event) };
    },
  };
}

export function pageAddress(project: ResourceObject, name: "consumer" | "studio", event?: string): string {
  const url = new URL(urlsOf(project)[name] ?? "");
  if (event !== undefined) url.searchParams.set("event", event);
  return url.href;
}

/** Returns a project. @throws {CliError} The event is of another one. */
async function projectOf(
  { flags: { project = "", event } }: CliInput,
  { api }: CliContext,
): Promise<ResourceObject> {
  const control = await api();
  if (event === undefined) return (await control.read({ kind: "project", id: project })).data;
  const found = await control.read({ kind: "event", id: event }, { include: "project" });
  const own = relation(found.data, "project");
  const included = found.included("projects", own);
  if (own === project && included !== undefined) return included;
  throw invalid(`Event ${event} is of another project`, {
    next: `grandstand events list --project ${project}`,
  });
}

function urlsOf({ attributes }: ResourceObject): Addresses {
  return attributes.urls as Addresses;
}

const feeds: CommandSpec = {
  words: ["url", "feeds"],
  summary: "Print the public feeds of a project, a line each",
  flags: { project: projectFlag },
  examples: ["url feeds --project $PROJECT"],
  output: rows({ name: "text", url: "text" }),
  async run(input, context) {
    const {
      self: _,
      consumer: _consumer,
      studio: _studio,
      ...urls
    } = urlsOf(await projectOf(input, context));
    const data = Object.entries(urls).map(([name, url]) => ({ name, url }));
    return { data, shown: data.map(({ name, url }) => `${name} ${url}\n`).join("") };
  },
};

const liveStats: CommandSpec = {
  words: ["url", "livestats"],
  summary: "Print the address of the live statistics of an event",
  flags: { event: eventFlag },
  examples: ["url livestats --event $EVENT"],
  output: text,
  async run({ flags: { event = "" } }, { api }) {
    const { data } = await (await api()).read({ kind: "event", id: event });
    return { data: urlsOf(data).livestats };
  },
};

const demoForm: CommandSpec = {
  words: ["forms", "demo"],
  summary: "Print the id of the demo form: demo_form_id in the urls of the profile, else the one built in",
  examples: ["forms demo"],
  requests: 0,
  output: text,
  run: async (_, { settings }) => ({ data: settings.profile.urls?.demo_form_id ?? demoFormId }),
};

export const commands: readonly CommandSpec[] = [
  pageCommand("consumer", "Print the address at which fans see a project"),
  feeds,
  liveStats,
  pageCommand("studio", "Print the address at which a project is edited"),
  demoForm,
];
