import { type Seed, type SeedOptions, seedDirectory } from "./directory/mod.ts";
import { AppError } from "./errors/mod.ts";
import { compileConfig } from "./loyalty/mod.ts";
import type { Store } from "./storage/mod.ts";

/**
 * Creates or replaces every record of the document, its loyalty configurations included. What it does not name stays.
 *
 * @throws {AppError} `validation_failed` with the pointer of every fault; then nothing was written. `conflict` where another
 * space holds a domain.
 */
export async function seedPlatform(store: Store, document: Seed, options: SeedOptions = {}): Promise<void> {
  for (const [spaceId, loyalty] of Object.entries(document.loyalty ?? {})) checkLoyalty(spaceId, loyalty);
  await seedDirectory(store, document, options);
}

function checkLoyalty(spaceId: string, loyalty: unknown): void {
  try {
    compileConfig(loyalty);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const fields = (error.fields ?? []).map(({ pointer, detail }) => ({
      pointer: `/loyalty/${spaceId}${pointer}`,
      detail,
    }));
    throw new AppError(error.code, error.message, { cause: error, fields });
  }
}
