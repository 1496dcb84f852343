/** Flags and arguments that several commands have. */

import { id } from "./checks.ts";
import type { ArgumentSpec, FlagSpec } from "./command.ts";

export function idFlag(description: string): FlagSpec {
  return { value: "id", description, check: id };
}

export function requiredId(description: string): FlagSpec {
  return { ...idFlag(description), required: true };
}

export function idArgument(name: string, description: string): ArgumentSpec {
  return { name, description, check: id };
}

export const orgFlag: FlagSpec = {
  ...requiredId("The organisation"),
  variable: "GRANDSTAND_ORG",
  profile: "org",
};
export const spaceFlag: FlagSpec = {
  ...requiredId("The space"),
  variable: "GRANDSTAND_SPACE",
  profile: "space",
};
export const projectFlag = requiredId("The project");
export const eventFlag = requiredId("The event");
export const yesFlag: FlagSpec = { description: "Do not ask" };
export const dryRunFlag: FlagSpec = { description: "Say what would be done, and change nothing" };
export const exitCodeFlag: FlagSpec = { description: "Exit with 3 if there are differences" };

export const envFileFlag: FlagSpec = {
  value: "path",
  description: "Read variables from a file; those of the environment win",
};

/** Returns variables, those of the product without the byte-order marks and white space that editors and secret stores put around them. */
export function trimmedVariables(
  variables: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const own = Object.entries(variables).filter(([name]) => name.startsWith("GRANDSTAND_"));
  return { ...variables, ...Object.fromEntries(own.map(([name, value]) => [name, value?.trim()])) };
}
