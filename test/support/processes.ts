/** Several processes of one platform, one after the other or at the same time, over a store that outlives them. */

import { createControl } from "../../lib/authoring/control/mod.ts";
import type { WebhookMessage } from "../../lib/base/outbound/outbound.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { createTestClock } from "./clock.ts";
import { ids, seed, testSecret } from "./platform.ts";
import type { OpenStore } from "./stores.ts";

/** A store and the processes that are started over it. */
export interface Processes extends AsyncDisposable {
  readonly store: Store;
  readonly clock: ReturnType<typeof createTestClock>;
  /** Delivered webhooks by id; a delivery may repeat. */
  readonly delivered: Map<string, WebhookMessage>;
  /** Starts a process, over the store or one that stands before it. */
  process(store?: Store): Promise<Platform>;
}

/** Opens a store whose space has the loyalty configuration. */
export async function openProcesses(open: OpenStore, loyalty: object): Promise<Processes> {
  const clock = createTestClock();
  const store = await open(clock.now);
  const delivered = new Map<string, WebhookMessage>();
  await seedDirectory(store, { ...seed, loyalty: { [ids.space]: loyalty } }, { clock: clock.now });
  const webhooks = {
    send: async (message: WebhookMessage): Promise<void> => {
      delivered.set(message.id, message);
    },
  };
  return {
    store,
    clock,
    delivered,
    process: (of = store) =>
      createPlatform({
        store: of,
        secret: testSecret,
        clock: clock.now,
        defaultSpaceId: ids.space,
        webhooks,
        control: createControl,
      }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
