/** Checks a workflow backend against a platform in memory, which has all that the suite asks for. */

import type { DialogueScope } from "../../platform/check_platform.ts";
import type { CheckOutcome } from "../../workflow/conformance/mod.ts";
import { address, oneOf, whole } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { exits, wrongUsage } from "../frame/errors.ts";
import { rows } from "../frame/output.ts";
import { suggestion } from "../frame/suggest.ts";
import { readInputs } from "./inputs.ts";

/** `workflow check`. */
export const checkCommand: CommandSpec = {
  words: ["workflow", "check"],
  summary:
    "Check a workflow backend in any language; it opens dialogues and presses an action dozens of times",
  args: [{ name: "url", description: "Address of the backend", check: address }],
  flags: {
    port: {
      value: "port",
      description: "Port of the platform that the check runs on this machine: the backend's control API",
      otherwise: "8787",
      check: whole(0, 65_535),
    },
    scope: {
      value: "scope",
      description: "Where the dialogues run: organisation, space, project or event",
      otherwise: "event",
      check: oneOf("organisation", "space", "project", "event"),
    },
    input: { value: "name=value", description: "Value of an input; =@path sends a file", repeated: true },
    press: { value: "action", description: "Action of the first view to press; otherwise the first one" },
    check: { value: "id", description: "Check to run; otherwise all", repeated: true },
    tap: { description: "Print TAP version 14" },
  },
  changes: "Whatever the action of the backend changes; the platform is in memory",
  examples: [
    "workflow check http://127.0.0.1:3000",
    "workflow check http://127.0.0.1:3000 --input csv=@questions.csv --press go",
    "workflow check http://127.0.0.1:3000 --check action.parallel --check action.twice --tap",
  ],
  output: rows({
    result: ["RESULT", "text"],
    level: ["LEVEL", "text"],
    id: ["CHECK", "text"],
    title: [null, "text"],
    detail: ["DETAIL", "text?"],
    hint: [null, "text?"],
  }),
  exits: {
    [exits.failed]: "Something mandatory failed",
    [exits.conflict]: "Another program has the port",
  },
  async run({ args: [url = ""], flags, lists }, context) {
    const { port, scope, press: action } = flags;
    const inputs = await readInputs(lists.input ?? [], context.files);
    const { checkBackend, conformanceChecks, formatReport } = await import(
      "../../workflow/conformance/mod.ts"
    );
    const ids = conformanceChecks.map(({ id }) => id);
    const only = lists.check ?? ids;
    const unknown = only.find(id => !ids.includes(id));
    if (unknown !== undefined) throw wrongUsage(`There is no check ${unknown}.${suggestion(unknown, ids)}`);
    const world = await openWorld(context, Number(port), scope as DialogueScope);
    const { fetch: send, clock, pause, timeLimit } = context;
    try {
      const report = await checkBackend({
        ...world.fixtures,
        ...{ url, inputs, only, send, clock, pause, timeLimit },
        ...(action === undefined ? {} : { action }),
        onCheck: id => context.progress(`${only.indexOf(id) + 1}/${only.length} ${id}`),
      });
      return {
        data: report.checks,
        ...("tap" in flags ? { shown: formatReport(report, "tap") } : {}),
        notes: notesOf(report.checks),
        exit: report.passed ? exits.ok : exits.failed,
      };
    } finally {
      await world.close();
    }
  },
};

/** Serves the platform and the address that must never be asked. @throws {CliError} Another program has the port. */
async function openWorld({ serve, memoryStore }: CliContext, port: number, scope: DialogueScope) {
  const { openCheckPlatform } = await import("../../platform/check_platform.ts");
  const own = await serve(port, async (...call) => await (await world).fetch(...call));
  const foreign = await serve(0, async (...call) => await (await world).listener(...call));
  const world = (async () =>
    await openCheckPlatform({ store: await memoryStore(), url: own.url, listenerUrl: foreign.url, scope }))();
  const { fixtures, platform } = await world;
  return {
    fixtures,
    async close() {
      await Promise.all([own.stop(), foreign.stop()]);
      await platform.close();
    },
  };
}

/** The hints of what failed, and what was left out. */
function notesOf(checks: readonly CheckOutcome[]): readonly string[] {
  const count = (wanted: CheckOutcome["result"]): number =>
    checks.filter(({ result }) => result === wanted).length;
  const failed = checks.filter(({ result }) => result === "fail");
  return [
    ...failed.map(({ id, hint }) => `${id}: ${hint}`),
    `${count("pass")} passed, ${failed.length} failed, ${count("skip")} skipped`,
  ];
}
