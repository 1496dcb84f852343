import type { Clock } from "../lib/auth/mod.ts";
import { createDirectory, createLoyaltyVersions } from "../lib/directory/mod.ts";
import { AppError } from "../lib/errors/mod.ts";
import { compileConfig } from "../lib/loyalty/mod.ts";
import type { Store } from "../lib/storage/mod.ts";

/** Which file is for which space. */
export interface LoyaltyFileOptions {
  readonly path: string;
  /** The space that the configuration is for; undefined where none is known. */
  readonly spaceId: string | undefined;
  readonly clock: Clock;
}

/**
 * Makes the document of a file the newest version of a space's loyalty configuration, where it differs from the current one.
 *
 * @throws {Error} The file cannot be read or its document is not valid, or there is no such space; the message names every
 * fault with its place in the file. Nothing is written then.
 */
export async function loyaltyFromFile(
  store: Store,
  { path, spaceId, clock }: LoyaltyFileOptions,
): Promise<void> {
  if (spaceId === undefined) {
    throw new Error(`Cannot use ${path}: GRANDSTAND_DEFAULT_SPACE must name the space that it configures`);
  }
  const { readDocumentFile } = await import("./_document_file.ts");
  const { document, locate } = await readDocumentFile(path);
  const faults = loyaltyFaults(document);
  if (faults.length > 0) {
    const told = faults.map(({ pointer, detail }) => `\n  ${locate(pointer)} ${pointer}: ${detail}`);
    throw new Error(`Cannot use the loyalty configuration in ${path}:${told.join("")}`);
  }
  const id = spaceId.toLowerCase();
  if ((await createDirectory({ store, clock }).space(id)) === null) {
    throw new Error(`Cannot configure the loyalty of space ${id} from ${path}: there is no such space`);
  }
  await createLoyaltyVersions({ store, clock }).put(id, { document, by: "file" });
}

/** Everything that is wrong with a loyalty configuration. */
export function loyaltyFaults(document: unknown): NonNullable<AppError["fields"]> {
  try {
    compileConfig(document);
    return [];
  } catch (error) {
    if (error instanceof AppError && error.fields !== undefined) return error.fields;
    throw error;
  }
}
