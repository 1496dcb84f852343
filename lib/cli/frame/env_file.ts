import type { FlagSpec } from "./command.ts";

/** The flag of commands that take the settings of a deployment. */
export const envFileFlag: FlagSpec = {
  value: "path",
  description: "Read variables from a file; those of the environment win",
};
