/** Command lines against a platform of tests. */

import assert from "node:assert/strict";
import { publicUrlDefault } from "../../lib/platform/options.ts";
import { ids, type TestPlatform } from "../support/platform.ts";
import { type Outcome, runCli, type Surroundings } from "../support/terminal.ts";
import { operatorToken } from "./_control_examples.ts";

/** Runs command lines as an operator, with the organisation and space of the common seed. */
export type Cli = (line: string | readonly string[], around?: Surroundings) => Promise<Outcome>;

/** Opens the command line of a platform. `files` stay between the command lines. */
export async function openCli(
  world: TestPlatform,
  files?: Map<string, string | Uint8Array>,
  token?: string,
): Promise<Cli> {
  const variables = {
    GRANDSTAND_CONTROL_URL: publicUrlDefault,
    GRANDSTAND_TOKEN: token ?? (await operatorToken(world)),
    GRANDSTAND_ORG: ids.organisation,
    GRANDSTAND_SPACE: ids.space,
  };
  const { fetch } = world.platform;
  return (line, around = {}) =>
    runCli(line, {
      fetch,
      ...(files === undefined ? {} : { files }),
      clock: world.clock.now,
      ...around,
      variables: { ...variables, ...around.variables },
    });
}

/** Runs a command line with `--json` and returns its data. */
export async function dataOf(cli: Cli, line: string | readonly string[], around?: Surroundings) {
  const words = typeof line === "string" ? line.split(" ") : line;
  const outcome = await cli([...words, "--json"], around);
  assert.equal(outcome.code, 0, outcome.stderr);
  return outcome.json.data;
}
