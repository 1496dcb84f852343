/** Platforms with the valid requests of every operation. The requests are made once, and each platform is a copy of that one. */

import { createMemoryBlobs, createMemoryStore } from "../../adapters/memory/mod.ts";
import { openPlatform, type TestPlatform } from "../support/platform.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { credentialsFor, type Example, operationsOf, validExamples } from "./_operations.ts";

/** A platform whose commits are seen. */
export interface ExampleWorld {
  readonly world: TestPlatform;
  readonly store: WatchedStore;
  readonly examples: ReadonlyMap<string, readonly Example[]>;
  /** Credentials by scheme. */
  readonly credentials: ReadonlyMap<string | null, Readonly<Record<string, string>>>;
}

type OpenOptions = NonNullable<Parameters<typeof openPlatform>[1]>;

const nothing = { organisations: [], spaces: [], projects: [], events: [], loyalty: {} };

/** Returns a function that opens such platforms. */
export async function exampleWorlds(): Promise<(options?: OpenOptions) => Promise<ExampleWorld>> {
  const frames: string[] = [];
  const blobs = createMemoryBlobs();
  const first = await openPlatform(async clock => copiedStore([], clock, frame => frames.push(frame)), {
    blobs,
  });
  const examples = await validExamples(first);
  const credentials = new Map<string | null, Readonly<Record<string, string>>>();
  for (const { scheme } of await operationsOf(first))
    if (!credentials.has(scheme)) credentials.set(scheme, await credentialsFor(scheme, first));
  await first.platform.idle();
  const same = { seed: nothing, blobs, login: first.login, startAt: first.clock.now() };
  await first.dispose();
  return async options => {
    const opened: WatchedStore[] = [];
    const open = async (clock: () => number): Promise<WatchedStore> => {
      const store = new WatchedStore(copiedStore(frames, clock));
      opened.push(store);
      return store;
    };
    const world = await openPlatform(open, { ...same, ...options });
    const [store] = opened;
    if (store === undefined) throw new Error("The platform has no store");
    return { world, store, examples, credentials };
  };
}

/** Creates a store in memory that begins with the commits of another one. */
function copiedStore(
  frames: readonly string[],
  clock: () => number,
  keep: (frame: string) => void = () => {},
) {
  return createMemoryStore({
    clock,
    journal: {
      durable: false,
      async open(client) {
        for (const frame of frames) client.apply(frame);
      },
      append(frame, settle) {
        keep(frame);
        queueMicrotask(settle);
      },
      async ping() {},
      async close() {},
    },
  });
}
