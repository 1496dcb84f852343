/**
 * Files that fill the store at the start of a server.
 *
 * @module
 */

import { readFile } from "node:fs/promises";
import type { Clock } from "../../lib/auth/mod.ts";
import { createDirectory, createLoyaltyVersions } from "../../lib/directory/mod.ts";
import { compileConfig } from "../../lib/loyalty/mod.ts";
import { AppError, type Seed, seedPlatform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";

/** Options of {@linkcode seedFromFile}. */
export interface SeedFileOptions {
  /** A space whose loyalty configuration comes from another file, so that this one adds no version. */
  readonly configuredElsewhere?: string | undefined;
}

/**
 * Creates or replaces the records that a JSON file describes.
 *
 * @throws {Error} The file cannot be read, is not JSON, or is invalid; the message names every fault.
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

/** Removes a space's loyalty configuration from the document. An invalid member stays, to be reported. */
function without(seed: Seed, spaceId: string): Seed {
  const { loyalty } = seed;
  if (typeof loyalty !== "object" || loyalty === null) return seed;
  const others = Object.entries(loyalty).filter(([id]) => id.toLowerCase() !== spaceId.toLowerCase());
  return { ...seed, loyalty: Object.fromEntries(others) };
}

/** Options of {@linkcode loyaltyFromFile}. */
export interface LoyaltyFileOptions {
  readonly path: string;
  /** The space to configure. */
  readonly spaceId: string | undefined;
  readonly clock: Clock;
}

/**
 * Stores the document of a file as the newest version of a space's loyalty configuration, unless it is the current one.
 *
 * @throws {Error} The file or its document is invalid, or there is no such space; nothing is written. The message names
 * every fault with its line and column.
 */
export async function loyaltyFromFile(
  store: Store,
  { path, spaceId, clock }: LoyaltyFileOptions,
): Promise<void> {
  if (spaceId === undefined) {
    throw new Error(`Cannot use ${path}: GRANDSTAND_DEFAULT_SPACE must name the space that it configures`);
  }
  const { readDocumentFile } = await import("./document_file.ts");
  const { document, locate } = await readDocumentFile(path);
  const faults = loyaltyFaults(document);
  if (faults.length > 0) {
    const lines = faults.map(({ pointer, detail }) => `\n  ${locate(pointer)} ${pointer}: ${detail}`);
    throw new Error(`Cannot use the loyalty configuration in ${path}:${lines.join("")}`);
  }
  const id = spaceId.toLowerCase();
  if ((await createDirectory({ store, clock }).space(id)) === null) {
    throw new Error(`Cannot configure the loyalty of space ${id} from ${path}: there is no such space`);
  }
  await createLoyaltyVersions({ store, clock }).put(id, { document, by: "file" });
}

/** Lists the faults of a loyalty configuration. */
export function loyaltyFaults(document: unknown): NonNullable<AppError["fields"]> {
  try {
    compileConfig(document);
    return [];
  } catch (error) {
    if (error instanceof AppError && error.fields !== undefined) return error.fields;
    throw error;
  }
}
