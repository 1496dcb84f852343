/**
 * The command that plays scenarios against a configuration, without a server.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import type { CliContext, CliInput, CliResult, CommandSpec } from "../frame/command.ts";
import { CliError, exits } from "../frame/errors.ts";
import { record } from "../frame/output.ts";
import { readValid } from "./configuration.ts";

/** `loyalty test`. */
export const testCommand: CommandSpec = {
  words: ["loyalty", "test"],
  summary: "Play scenarios against a loyalty configuration, without a server",
  examples: ["loyalty test scenarios.yaml --file loyalty.yaml"],
  output: record({ passed: [null, "whole"], failed: [null, "whole"], checks: [null, "json"] }),
  exits: { [exits.differs]: "an expectation does not hold" },
  args: [{ name: "scenarios", description: "JSON or YAML" }],
  flags: { file: { value: "path", description: "The configuration", required: true } },
  run: test,
};

async function test(
  { args: [path = ""], flags: { file = "" } }: CliInput,
  context: CliContext,
): Promise<CliResult> {
  const { document } = await readValid(file, context);
  const scenarios = await context.files.read(path);
  if (scenarios === null) {
    throw new CliError(exits.failed, `Cannot read ${path}: there is no such file`, { code: "missing_file" });
  }
  const { locate } = scenarios;
  const checks = await context.playScenarios(document, scenarios.document).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    throw new CliError(exits.invalid, `The scenarios in ${path} are not valid`, {
      code: "validation_failed",
      details: error.fields.map(({ pointer, detail }) => `${locate(pointer)} ${pointer}: ${detail}`),
    });
  });
  const failed = checks.filter(({ hasPassed }) => !hasPassed).length;
  return {
    data: { passed: checks.length - failed, failed, checks },
    shown: {
      columns: ["RESULT", "SCENARIO", "WHERE", "USER", "WHAT", "EXPECTED", "ACTUAL"],
      rows: checks.map(({ hasPassed, scenario, pointer, user, what, expected, actual }) => [
        hasPassed ? "passed" : "failed",
        scenario,
        locate(pointer),
        user,
        what,
        JSON.stringify(expected),
        JSON.stringify(actual),
      ]),
    },
    notes: [`${checks.length - failed} passed, ${failed} failed`],
    exit: failed === 0 ? exits.ok : exits.differs,
  };
}
