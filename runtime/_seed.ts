import { readFile } from "node:fs/promises";
import { AppError, type Seed, seedPlatform } from "../lib/mod.ts";
import type { Store } from "../lib/storage/mod.ts";

/**
 * Creates or replaces what a JSON file describes.
 *
 * @throws {Error} The file cannot be read, is not JSON, or its content is not valid; the message names every fault.
 */
export async function seedFromFile(store: Store, path: string): Promise<void> {
  try {
    await seedPlatform(store, JSON.parse(await readFile(path, "utf8")) as Seed);
  } catch (cause) {
    const faults = cause instanceof AppError ? (cause.fields ?? []) : [];
    const lines = faults.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`).join("");
    throw new Error(`Cannot seed from ${path}: ${cause instanceof Error ? cause.message : cause}${lines}`, {
      cause,
    });
  }
}
