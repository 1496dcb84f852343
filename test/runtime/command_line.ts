/** Command lines run in this process, with its files and stores: for what does not depend on how a program starts and ends. */

import { trimmedVariables } from "../../lib/cli/frame/flags.ts";
import { groups, runCommandLine } from "../../lib/cli/mod.ts";
import { serverGroups } from "../../runtime/commands/groups.ts";
import { host } from "../../runtime/commands/host.ts";
import { testHost } from "../support/terminal.ts";

/** How a command ended, and what it printed. */
export interface Outcome {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

let last: Promise<unknown> = Promise.resolve();

/** Runs a command line where nobody can be asked, without profiles, once the one before it has ended. */
export function runHere(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const outcome = last.then(() => run(args, environment));
  // One that fails is the matter of its own test.
  last = outcome.catch(() => {});
  return outcome;
}

/** Commands in stores read the environment of the process, which has the product's own variables for this one alone. */
async function run(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Outcome> {
  const inherited = { ...process.env };
  for (const name of Object.keys(inherited)) if (name.startsWith("GRANDSTAND_")) delete process.env[name];
  Object.assign(process.env, environment);
  const printed = { stdout: "", stderr: "" };
  const { terminal, config } = testHost({}, printed);
  const here = { ...host, variables: trimmedVariables(process.env), terminal, config };
  try {
    return { code: await runCommandLine(args, here, [...groups, ...serverGroups]), ...printed };
  } finally {
    for (const name of Object.keys(environment)) delete process.env[name];
    Object.assign(process.env, inherited);
  }
}
