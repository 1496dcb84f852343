/** Runs a workflow in the terminal, or by a script. */

import { address } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { conflict, exits, wrongUsage } from "../frame/errors.ts";
import { idFlag } from "../frame/flags.ts";
import { record } from "../frame/output.ts";
import { given } from "../frame/profile.ts";
import type { Kind, Target } from "../frame/resources.ts";

const workflowId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const scopes = ["event", "project", "space", "org"] as const;
const kindNames: Readonly<Record<(typeof scopes)[number], Kind>> = {
  event: "event",
  project: "project",
  space: "space",
  org: "organisation",
};

export const runWorkflow: CommandSpec = {
  words: ["workflow", "run"],
  summary: "Run a workflow of the platform, or the backend at an address, in the terminal or by a script",
  args: [{ name: "workflow", description: "Id of a workflow, or the address of a backend" }],
  flags: {
    event: idFlag("The event in which it runs"),
    project: idFlag("The project in which it runs"),
    space: idFlag("The space in which it runs"),
    org: idFlag("The organisation in which it runs"),
    input: {
      value: "name=value",
      description: "Value of an input; =@path sends a file, =@@ begins a text with @",
      repeated: true,
    },
    press: {
      value: "action",
      description: "Action to press as soon as it is offered, one after the other",
      repeated: true,
    },
    record: {
      value: "path",
      description: "Write the dialogue to a file, with what was entered and without tokens",
      check: path => (path === "-" ? "must name a file" : null),
    },
    force: { description: "Replace the file of --record" },
  },
  changes: "What the actions of the workflow change",
  variables: [
    "GRANDSTAND_SPACE: the space, where no flag names a place; otherwise that of the profile",
    "GRANDSTAND_ORG: the organisation, where no space is known either; otherwise that of the profile",
  ],
  examples: [
    "workflow run $WORKFLOW --event $EVENT",
    "workflow run $WORKFLOW --event $EVENT --input csv=@questions.csv --press import --json",
    "workflow run http://127.0.0.1:3000 --project $PROJECT --record dialogue.json",
  ],
  requests: 3,
  output: record({ outcome: "text", problem: [null, "text?"], views: [null, "json"] }),
  exits: {
    [exits.failed]: "The task failed, or the backend did",
    [exits.conflict]: "The file of --record exists",
    [exits.invalid]: "An action of --press is not offered, or a value of --input does not fit",
    [exits.declined]: "The dialogue was closed before its end",
  },
  async run({ args: [workflow = ""], flags, lists }, context) {
    const isAddress = URL.canParse(workflow);
    const fault = isAddress ? address(workflow) : null;
    if (fault !== null) throw wrongUsage(`The address of the backend ${fault}`);
    if (!isAddress && !workflowId.test(workflow)) {
      throw wrongUsage("<workflow> must be the id of a workflow, or the address of a backend", {
        next: "grandstand workflow list",
      });
    }
    const target = scopeOf(flags, context);
    const { record: path, force } = flags;
    if (path !== undefined && force === undefined && (await context.files.open(path)) !== null) {
      throw conflict(`${path} exists`, { code: "file_exists", hint: "Replace it with --force" });
    }
    const [{ readInputs }, { openBackend }, { Runner }] = await Promise.all([
      import("./backend.ts"),
      import("./backend.ts"),
      import("./runner.ts"),
    ]);
    const inputs = await readInputs(lists.input ?? [], context.files);
    const backend = await openBackend(workflow, target, context);
    const runner = new Runner(backend, { inputs, presses: lists.press ?? [] }, context);
    try {
      return await runner.run();
    } finally {
      if (path !== undefined) {
        await context.files.writeText(path, `${JSON.stringify(runner.recording)}\n`);
        context.note(`Recorded in ${path}`);
      }
    }
  },
};

/** Returns where the dialogue runs: as a flag says, or the profile. @throws {CliError} None or several are given. */
function scopeOf(
  flags: Readonly<Record<string, string>>,
  { variables, settings: { profile } }: CliContext,
): Target {
  const usual: typeof flags = {
    space: given(variables.GRANDSTAND_SPACE) ?? given(profile.space) ?? "",
    org: given(variables.GRANDSTAND_ORG) ?? given(profile.org) ?? "",
  };
  const [name, other] = scopes.filter(each => flags[each] !== undefined);
  if (other !== undefined)
    throw wrongUsage("workflow run takes one of --event, --project, --space and --org");
  const found = name ?? scopes.find(each => given(usual[each]) !== undefined);
  if (found === undefined) throw wrongUsage("workflow run needs --event, --project, --space or --org");
  return { kind: kindNames[found], id: { ...usual, ...flags }[found] ?? "" };
}
