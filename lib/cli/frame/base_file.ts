import type { CliContext } from "./command.ts";

/**
 * Reads what a file was pulled from, of the file beside it; null if there is none of the same place. Standard input (`-`) has
 * none.
 */
export async function readBase<B extends object>(
  file: string,
  place: Partial<B>,
  { files }: CliContext,
): Promise<B | null> {
  if (file === "-") return null;
  const base = (await files.read(`${file}.base.json`))?.document as B | undefined;
  const isOfPlace = Object.entries(place).every(([name, value]) => base?.[name as keyof B] === value);
  return base !== undefined && isOfPlace ? base : null;
}

export async function writeBase(file: string, base: object, { files, clock }: CliContext): Promise<void> {
  if (file !== "-")
    await files.write(`${file}.base.json`, { ...base, pulled_at: new Date(clock()).toISOString() });
}
