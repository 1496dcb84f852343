/** Files that fill the store, at the start of a server or by a command. */

import { readFile } from "node:fs/promises";
import type { Clock } from "../../lib/auth/mod.ts";
import type { SeedCounts } from "../../lib/cli/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import { createLoyaltyVersions } from "../../lib/fans/directory/loyalty_versions.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { AppError, type Seed, seedPlatform } from "../../lib/mod.ts";
import { checkPlatformSeed } from "../../lib/platform/seed.ts";
import type { Store } from "../../lib/storage/mod.ts";

interface SeedFilesOptions {
  readonly seed?: string | undefined;
  /** A loyalty configuration, in place of that of the seed for the same space. */
  readonly loyalty?: string | undefined;
  readonly spaceId?: string | undefined;
}

interface SeedFiles {
  readonly counts: SeedCounts;
  /**
   * Creates or replaces the records of the documents. An equal loyalty configuration creates no version.
   *
   * @param spaceId The space that the loyalty file configures where the options name none.
   *
   * @throws {Error} A domain is another space's, or there is no space to configure; nothing is written.
   */
  write(store: Store, clock: Clock, spaceId?: string): Promise<void>;
}

/**
 * Reads and checks the files, so that a start which they would prevent changes nothing.
 *
 * @throws {Error} A file cannot be read or is invalid; the message names every fault.
 */
export async function readSeedFiles(options: SeedFilesOptions): Promise<SeedFiles> {
  const configured = options.loyalty === undefined ? undefined : options.spaceId;
  const seed = options.seed === undefined ? null : await readSeed(options.seed, configured);
  const loyalty = options.loyalty === undefined ? null : await readLoyalty(options.loyalty);
  return {
    counts: countsOf(seed?.document),
    async write(store, clock, spaceId = options.spaceId) {
      const target = loyalty === null ? null : await spaceOf(loyalty, spaceId, { store, clock, seed });
      if (seed !== null) await withPath(seed.path, () => seedPlatform(store, seed.document, { clock }));
      if (loyalty === null || target === null) return;
      await createLoyaltyVersions({ store, clock }).put(target, { document: loyalty.document, by: "file" });
    },
  };
}

function countsOf(seed: Seed | undefined): SeedCounts {
  const { organisations = [], spaces = [], projects = [], events = [], loyalty = {} } = seed ?? {};
  return {
    organisations: organisations.length,
    spaces: spaces.length,
    projects: projects.length,
    events: events.length,
    loyalty: Object.keys(loyalty).length,
  };
}

interface ReadFile<T> {
  readonly path: string;
  readonly document: T;
}

async function readSeed(path: string, configuredElsewhere: string | undefined): Promise<ReadFile<Seed>> {
  return await withPath(path, async () => {
    const seed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path))) as Seed;
    const document = configuredElsewhere === undefined ? seed : without(seed, configuredElsewhere);
    checkPlatformSeed(document);
    return { path, document };
  });
}

async function withPath<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
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

async function readLoyalty(path: string): Promise<ReadFile<unknown>> {
  const { readDocumentFile } = await import("./document_file.ts");
  const { document, locate } = await readDocumentFile(path);
  const faults = loyaltyFaults(document);
  if (faults.length === 0) return { path, document };
  const lines = faults.map(({ pointer, detail }) => `\n  ${locate(pointer)} ${pointer}: ${detail}`);
  throw new Error(`Cannot use the loyalty configuration in ${path}:${lines.join("")}`);
}

interface SpaceSources {
  readonly store: Store;
  readonly clock: Clock;
  readonly seed: ReadFile<Seed> | null;
}

/** Returns the id of the space that a loyalty file configures, which is in the store or in the seed. */
async function spaceOf(
  { path }: ReadFile<unknown>,
  spaceId: string | undefined,
  { store, clock, seed }: SpaceSources,
): Promise<string> {
  if (spaceId === undefined) {
    throw new Error(`Cannot use ${path}: GRANDSTAND_DEFAULT_SPACE must name the space that it configures`);
  }
  const id = spaceId.toLowerCase();
  if (seed?.document.spaces.some(space => space.id.toLowerCase() === id)) return id;
  if ((await createDirectory({ store, clock }).space(id)) !== null) return id;
  throw new Error(`Cannot configure the loyalty of space ${id} from ${path}: there is no such space`);
}

export function loyaltyFaults(document: unknown): NonNullable<AppError["fields"]> {
  try {
    compileConfig(document);
    return [];
  } catch (error) {
    if (error instanceof AppError && error.fields !== undefined) return error.fields;
    throw error;
  }
}
