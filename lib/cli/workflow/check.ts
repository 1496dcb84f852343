/** Checks a workflow backend against a platform in memory, with every fixture that the suite asks for. */

import type { CheckOutcome } from "../../workflow/conformance/mod.ts";
import { address, id, oneOf, whole } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { exits } from "../frame/errors.ts";
import { rows } from "../frame/output.ts";
import { readInputs } from "./inputs.ts";

const fields = {
  result: ["RESULT", "text"],
  level: ["LEVEL", "text"],
  id: ["CHECK", "text"],
  title: [null, "text"],
  detail: ["DETAIL", "text?"],
  hint: [null, "text?"],
} as const;

/** `workflow check`. */
export const checkCommand: CommandSpec = {
  words: ["workflow", "check"],
  summary: "Check a workflow backend in any language against the protocol; it is pressed dozens of times",
  args: [{ name: "url", description: "Address of the backend", check: address }],
  flags: {
    port: {
      value: "port",
      description: "Port of the platform that the command runs, with which the backend has to be configured",
      otherwise: "8787",
      check: whole(0, 65_535),
    },
    scope: {
      value: "scope",
      description: "Where the dialogues run: organisation, space, project or event",
      otherwise: "event",
      check: oneOf("organisation", "space", "project", "event"),
    },
    input: {
      value: "name=value",
      description: "Value of an input; =@path sends a file",
      repeated: true,
    },
    press: { value: "action", description: "The action of the first view to press; otherwise the first one", check: id },
    check: { value: "id", description: "Run this check alone, or some", repeated: true },
    tap: { description: "Print TAP version 14" },
  },
  examples: [
    "workflow check http://127.0.0.1:3000",
    "workflow check http://127.0.0.1:3000 --input csv=@questions.csv --tap",
    "workflow check http://127.0.0.1:3000 --check action.parallel --json",
  ],
  output: rows(fields),
  exits: {
    [exits.failed]: "Something mandatory failed",
    [exits.conflict]: "The port is taken, for example by a platform: stop it, or configure the backend with another --port",
  },
  async run({ args: [url = ""], flags, lists }, context) {
    const { port = "", scope = "event", press: action } = flags;
    const inputs = await readInputs(lists.input ?? [], context.files);
    const [{ checkBackend, conformanceChecks, formatReport }, world] = await Promise.all([
      import("../../workflow/conformance/mod.ts"),
      openWorld(context, Number(port), scope),
    ]);
    const only = lists.check ?? conformanceChecks.map(check => check.id);
    requireKnown(only, conformanceChecks);
    try {
      const report = await checkBackend({
        ...world.fixtures,
        url,
        inputs,
        ...(action === undefined ? {} : { action }),
        ...context,
        send: context.fetch,
        only,
        onCheck: check => context.progress(`${only.indexOf(check) + 1}/${only.length} ${check}`),
      });
      return { data: report.checks, shown: "tap" in flags ? formatReport(report, "tap") : undefined, notes: notesOf(report.checks), exit: report.passed ? exits.ok : exits.failed };
    } finally {
      await world.close();
    }
  },
};
