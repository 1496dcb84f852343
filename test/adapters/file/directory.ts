import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Makes a directory that goes away with the test. */
export async function temporaryDirectory(context: Pick<TestContext, "after">): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "grandstand-journal-"));
  context.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
