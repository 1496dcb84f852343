import type { TestContext } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { openPlatform } from "../support/platform.ts";
import type { OpenStore } from "../support/stores.ts";
import { operatorHeaders } from "./_control_examples.ts";

/** Opens a platform on which an operator acts at random. */
export async function openRandomAuthor(t: TestContext, open: OpenStore, seed: number) {
  const world = await openPlatform(open);
  t.after(() => world.dispose());
  const headers = await operatorHeaders(world);
  const { integer: random } = createRandom(seed);
  return {
    world,
    random,
    /** One of some values. */
    one: <T>(...values: readonly T[]): T => values[random(values.length)] as T,
    /** Unix seconds. */
    now: () => Math.floor(world.clock.now() / 1_000),
    call: (path: string, method?: string, body?: unknown) =>
      world.call(`/api/v2${path}`, { headers, ...(method === undefined ? {} : { method, body }) }),
  };
}
