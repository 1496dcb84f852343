/**
 * The manifest of a journal directory: the generation of the newest log that is known to hold frames. It distinguishes
 * a log that lost its content from one that was never used. It is written once for each log, after the first frames are on disk.
 *
 * @module
 */
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { logPath, syncDirectory } from "./directory.ts";
import { lineHeaderBytes } from "./line.ts";

/** Notes which logs hold frames. */
export class Manifest {
  readonly #directory: string;
  #used = 0;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Notes that the log of this generation holds frames. A failure is made good with the next frames. */
  async noteUsed(generation: number, frames: { sync(): Promise<void> }): Promise<void> {
    if (this.#used === generation) return;
    const draft = `${manifestPath(this.#directory)}.draft`;
    try {
      await frames.sync();
      const handle = await open(draft, "w", 0o600);
      try {
        await handle.writeFile(`${JSON.stringify({ used: generation })}\n`);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, manifestPath(this.#directory));
      await syncDirectory(this.#directory);
      this.#used = generation;
    } catch {
      await rm(draft, { force: true }).catch(() => {});
    }
  }
}

/**
 * Requires that the log that the manifest names has content, where it is one of the chain that begins with `first`.
 *
 * @throws AppError `storage_unavailable`
 */
export async function requireUsedLog(directory: string, first: number): Promise<void> {
  const used = await usedGeneration(directory);
  if (used < first) return;
  const path = logPath(directory, used);
  const size = await stat(path).then(
    found => found.size,
    () => 0,
  );
  if (size > lineHeaderBytes) return;
  throw new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${path} is empty, but held data before. Restore its directory from a backup. To give up the data ` +
      `instead, keep a copy of the directory and remove ${manifestPath(directory)}.`,
  );
}

/** Returns 0 where there is no manifest, as in directories of earlier releases. */
async function usedGeneration(directory: string): Promise<number> {
  const text = await readFile(manifestPath(directory), "utf8").catch(() => "");
  const digits = /"used":(\d{1,10})/.exec(text)?.[1];
  return digits === undefined ? 0 : Number(digits);
}

function manifestPath(directory: string): string {
  return join(directory, "manifest");
}
