/** Commands about workflows. */

import { oneOf, someOf, whole } from "../frame/checks.ts";
import type { CommandSpec } from "../frame/command.ts";
import { conflict, exits } from "../frame/errors.ts";
import { idArgument, yesFlag } from "../frame/flags.ts";
import { listCommand } from "../frame/list_command.ts";
import { type Fields, fieldsOf, record } from "../frame/output.ts";
import { platformUrl } from "../frame/profile.ts";
import { documentOf } from "../frame/resources.ts";
import { checkCommand } from "./check.ts";
import { runWorkflow } from "./run.ts";

const exampleCommand: CommandSpec = {
  words: ["workflow", "example"],
  summary: "Serve an example backend on this machine until Ctrl-C",
  args: [
    {
      name: "name",
      description: "quiz-from-csv or leaderboard-winners",
      check: oneOf("quiz-from-csv", "leaderboard-winners"),
    },
  ],
  flags: {
    port: { value: "port", description: "Port of the backend", otherwise: "3000", check: whole(0, 65_535) },
  },
  examples: ["workflow example quiz-from-csv", "workflow example leaderboard-winners --port 3001"],
  requests: 0,
  output: record({ url: "text" }),
  exits: { [exits.conflict]: "Another program has the port" },
  async run({ args: [name = ""], flags }, { settings, fetch, memoryStore, serve, note, interruption }) {
    const { generateMasterSecret, systemRandom } = await import("../../workflow/mod.ts");
    const { leaderboardWinners, quizFromCsv } = await import("../../workflow/examples/mod.ts");
    const create = name === "quiz-from-csv" ? quizFromCsv : leaderboardWinners;
    const given = {
      control: platformUrl(settings),
      secret: generateMasterSecret(systemRandom),
      store: await memoryStore(),
      fetch: (address: string, init: RequestInit) => fetch(new Request(address, init)),
    };
    const served = await serve(Number(flags.port), async request => await backend.fetch(request));
    const { url, stop } = served;
    const backend = create({ ...given, endpoint: [url, url.replace("127.0.0.1", "localhost")] });
    note(`${name} is at ${url}: grandstand workflow run ${url} --event $EVENT`);
    const stopped = interruption();
    await new Promise<void>(resolve => {
      if (stopped.aborted) resolve();
      stopped.addEventListener("abort", () => resolve(), { once: true });
    });
    await stop();
    return { data: { url } };
  },
};

const scopes = ["organisation", "space", "project", "event"] as const;

const workflow: Fields = {
  id: "text",
  name: "text",
  endpoint_url: ["ENDPOINT", "text"],
  availability: "texts",
  enabled: "flag",
};

const listWorkflows = listCommand({
  words: ["workflow", "list"],
  summary: "List the workflows of the platform",
  flags: {
    scope: {
      value: "kind",
      description: "Only those that run there: organisation, space, project or event",
      check: oneOf(...scopes),
    },
  },
  examples: ["workflow list", "workflow list --scope event --json"],
  fields: workflow,
  path: () => "/workflows",
  query: ({ scope }) => ({ "filter[scope]": scope }),
});

const registerWorkflow: CommandSpec = {
  words: ["workflow", "register"],
  summary: "Register a workflow, or change the one of that name",
  args: [{ name: "name", description: "Its name" }],
  flags: {
    endpoint: { value: "url", description: "Address of the backend", required: true },
    availability: {
      value: "kinds",
      description: "Where it runs, separated by commas: organisation, space, project, event",
      required: true,
      check: someOf(...scopes),
    },
    disabled: { description: "Let nobody run it for now" },
  },
  changes: "Adds or changes the workflow for everybody on the platform",
  examples: [
    "workflow register Line-up --endpoint https://workflows.example/line-up --availability event,project",
  ],
  requests: 2,
  output: record(workflow),
  exits: {
    [exits.forbidden]: "You are no operator",
    [exits.conflict]: "The platform has several workflows of this name",
  },
  async run({ args: [name = ""], flags }, { api }) {
    const control = await api();
    const attributes = {
      name,
      endpoint_url: flags.endpoint,
      availability: [...new Set(flags.availability?.split(","))],
      enabled: !("disabled" in flags),
    };
    const [known, ...others] = (await control.all("/workflows")).data.filter(
      one => one.attributes.name === name,
    );
    if (others.length > 0)
      throw conflict(`The platform has several workflows named ${name}`, {
        next: "grandstand workflow list",
      });
    const document = documentOf("workflows", attributes, { id: known?.id });
    const { data } = await (known === undefined
      ? control.write("POST", "/workflows", { within: null, document })
      : control.write("PATCH", `/workflows/${known.id}`, { within: null, document }));
    return { data: fieldsOf(workflow, data), notes: [`Run it: grandstand workflow run ${data.id}`] };
  },
};

const removeWorkflow: CommandSpec = {
  words: ["workflow", "remove"],
  summary: "Remove a workflow from the platform; its backend is left alone",
  args: [idArgument("workflow", "Its id")],
  flags: { yes: yesFlag },
  changes: "Removes the workflow for everybody on the platform",
  examples: ["workflow remove $WORKFLOW --yes"],
  requests: 2,
  output: record(workflow),
  exits: { [exits.forbidden]: "You are no operator" },
  async run({ args: [workflowId = ""] }, { api, confirm }) {
    const control = await api();
    const path = `/workflows/${encodeURIComponent(workflowId)}`;
    const { data } = await control.get(path);
    await confirm(`Remove the workflow ${data.attributes.name}`);
    await control.write("DELETE", path, { within: null });
    return { data: fieldsOf(workflow, data) };
  },
};

export const commands: readonly CommandSpec[] = [
  listWorkflows,
  registerWorkflow,
  removeWorkflow,
  runWorkflow,
  checkCommand,
  exampleCommand,
];
