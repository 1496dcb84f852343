import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const made: string[] = [];
// Hooks of a test run in the order of their registration: one of its own would run while a store that opened later writes.
process.on("exit", () => {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
});

/** Makes a directory that goes away with the process. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "grandstand-journal-"));
  made.push(directory);
  return directory;
}
