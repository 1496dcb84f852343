/** Runs a workflow in the terminal, or by a script. */

import { eventFlag } from "../events/fields.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { conflict, exits, wrongUsage } from "../frame/errors.ts";
import type { Kind, Target } from "../frame/kinds.ts";
import { record } from "../frame/output.ts";

const scopes = ["event", "project", "space", "org"] as const;
const kindNames: Readonly<Record<(typeof scopes)[number], Kind>> = {
  event: "event",
  project: "project",
  space: "space",
  org: "organisation",
};
const recordingBytesMax = 67_108_864;

/** `workflow run`. */
export const runWorkflow: CommandSpec = {
  words: ["workflow", "run"],
  summary: "Run a workflow of the platform, or the backend at an address, in the terminal or by a script",
  args: [{ name: "workflow", description: "Id of a workflow, or the address of a backend" }],
  flags: {
    event: { ...eventFlag, required: false, description: "The event in which it runs" },
    project: { value: "project", description: "The project, where no event is given" },
    space: {
      value: "space",
      description: "The space, where no project is given",
      variable: "GRANDSTAND_SPACE",
      profile: "space",
    },
    org: {
      value: "organisation",
      description: "The organisation, where no space is given",
      variable: "GRANDSTAND_ORG",
      profile: "org",
    },
    input: { value: "name=value", description: "Value of an input; =@path sends a file", repeated: true },
    press: {
      value: "action",
      description: "Action to press as soon as it is offered, one after the other",
      repeated: true,
    },
    record: {
      value: "path",
      description: "Write the dialogue to a file, with what was entered and without tokens",
    },
    force: { description: "Replace the file of --record" },
  },
  changes: "What the actions of the workflow change",
  examples: [
    "workflow run $WORKFLOW --event $EVENT",
    "workflow run $WORKFLOW --event $EVENT --input csv=@questions.csv --press import --json",
    "workflow run http://127.0.0.1:3000 --project $PROJECT --record dialogue.json",
  ],
  requests: 3,
  output: record({
    outcome: ["OUTCOME", "text"],
    problem: [null, "text?"],
    views: [null, "json"],
  }),
  exits: {
    [exits.failed]: "The task failed, or the backend did",
    [exits.conflict]: "The file of --record exists",
    [exits.invalid]: "An action of --press is not offered, or a value of --input does not fit",
    [exits.declined]: "The dialogue was closed before its end",
  },
  run: runDialogue,
};

async function runDialogue(
  { args: [workflow = ""], flags, lists }: CliInput,
  context: CliContext,
): Promise<CliResult> {
  const { address } = await import("../frame/checks.ts");
  const fault = URL.canParse(workflow) ? address(workflow) : null;
  if (fault !== null) throw wrongUsage(`The address of the backend ${fault}`);
  const target = scopeOf(flags);
  const { record: path, force } = flags;
  if (
    path !== undefined &&
    force === undefined &&
    (await context.files.readText(path, recordingBytesMax)) !== null
  ) {
    throw conflict(`${path} exists`, { code: "file_exists", hint: "Replace it with --force" });
  }
  const [{ readInputs }, { openBackend }, { Runner }] = await Promise.all([
    import("./inputs.ts"),
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
}

/** Returns the innermost scope that is given. @throws {CliError} None is. */
function scopeOf(flags: Readonly<Record<string, string>>): Target {
  const name = scopes.find(each => flags[each] !== undefined);
  const id = name === undefined ? undefined : flags[name];
  if (name === undefined || id === undefined) {
    throw wrongUsage("workflow run needs --event, --project, --space or --org");
  }
  return { kind: kindNames[name], id };
}
