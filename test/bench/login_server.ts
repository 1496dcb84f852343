/** The whole platform with the runtime's own key derivation, on a free port. */

import { readFileSync } from "node:fs";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { nativeKernels } from "../../adapters/native/mod.ts";
import { createPlatform, MasterSecret } from "../../lib/mod.ts";
import type { Batch, Partition } from "../../lib/storage/mod.ts";
import { serveHere } from "../../runtime/_runtime.ts";

const { commits } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as {
  readonly commits: readonly (readonly [Partition, Batch])[];
};
const store = createMemoryStore();
for (const [partition, batch] of commits) await store.commit(partition, batch);
const platform = await createPlatform({
  store,
  secret: new MasterSecret("a master secret for tests, long enough to be accepted"),
  passwordKernels: nativeKernels(),
});
console.log((await serveHere(platform.fetch, { port: 0, onError: console.error })).url);
