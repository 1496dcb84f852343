import { readFile } from "node:fs/promises";
import { AppError, type Seed, seedPlatform } from "../lib/mod.ts";
import type { Store } from "../lib/storage/mod.ts";

/** What a seed file is read for. */
export interface SeedFileOptions {
  /** A space that another file has the loyalty configuration of: what this one says of it would be a version in between. */
  readonly configuredElsewhere?: string | undefined;
}

/**
 * Creates or replaces what a JSON file describes.
 *
 * @throws {Error} The file cannot be read, is not JSON, or its content is not valid; the message names every fault.
 */
export async function seedFromFile(
  store: Store,
  path: string,
  { configuredElsewhere }: SeedFileOptions = {},
): Promise<void> {
  try {
    const seed = JSON.parse(await readFile(path, "utf8")) as Seed;
    await seedPlatform(store, configuredElsewhere === undefined ? seed : without(seed, configuredElsewhere));
  } catch (cause) {
    const faults = cause instanceof AppError ? (cause.fields ?? []) : [];
    const lines = faults.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`).join("");
    throw new Error(`Cannot seed from ${path}: ${cause instanceof Error ? cause.message : cause}${lines}`, {
      cause,
    });
  }
}

/** The document without a space's loyalty configuration. What is no configuration at all stays, to be refused. */
function without(seed: Seed, spaceId: string): Seed {
  const { loyalty } = seed;
  if (typeof loyalty !== "object" || loyalty === null) return seed;
  const others = Object.entries(loyalty).filter(([id]) => id.toLowerCase() !== spaceId.toLowerCase());
  return { ...seed, loyalty: Object.fromEntries(others) };
}
