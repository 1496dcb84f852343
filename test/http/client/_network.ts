/** A network between clients and a test platform: it counts requests, and fails as a test wants. */

import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import type { ClientEnvironment } from "../../../lib/client/mod.ts";
import type { PlatformOptions } from "../../../lib/mod.ts";
import { openPlatform, type TestPlatform } from "../../support/platform.ts";

/** Address of the platform under test. */
export const url = "http://club.example";

/** Answers a request in the place of the platform; null lets it through. */
export type Disturb = (request: Request) => Response | Promise<Response> | null;

/** A platform and the environment of clients that call it. */
export interface Network {
  readonly world: TestPlatform;
  readonly environment: Partial<ClientEnvironment>;
  /** Method and path of each request. */
  readonly requests: string[];
  /** Pauses of clients, in ms. They pass at once, while timeouts never come. */
  readonly pauses: number[];
  disturb: Disturb;
}

/** Longest pause of a client, in ms; longer timers are timeouts. */
const pauseMsMax = 10_000;

/** Opens a platform in memory. */
export async function openNetwork(options: Partial<PlatformOptions> = {}): Promise<Network> {
  const { outbound: _, ...more } = options;
  const world = await openPlatform(async clock => createMemoryStore({ clock }), more);
  const network: Network = {
    world,
    requests: [],
    pauses: [],
    disturb: () => null,
    environment: {
      clock: world.clock.now,
      timer(task, ms) {
        if (ms > pauseMsMax) return () => {};
        network.pauses.push(ms);
        const immediate = setImmediate(task);
        return () => clearImmediate(immediate);
      },
      async fetch(address, init) {
        const request = new Request(address, init);
        network.requests.push(`${request.method} ${new URL(address).pathname}`);
        return (await network.disturb(request)) ?? (await world.platform.fetch(request));
      },
    },
  };
  return network;
}
