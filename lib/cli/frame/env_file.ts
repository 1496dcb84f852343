import type { FlagSpec } from "./command.ts";

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
