/**
 * Health of the services behind webhooks.
 *
 * A service that answers 410, or that takes nothing for days, is disabled until an operator enables it or the webhook gets another
 * address. Its messages become dead letters.
 *
 * @module
 */

import { Cache } from "../../../storage/background/mod.ts";
import { decide, type ReadRecord, type Stored } from "../../../storage/mod.ts";
import { type WebhookAddress, webhookKeys, webhookName, webhookPartition } from "./deliveries.ts";
import type { WebhookServices } from "./services.ts";

/** Time for which a service may take nothing before it is disabled, in ms: 5 days. */
const failingMsMax = 5 * 24 * 3_600_000;
/** Time after a failure for which the next one continues the same series, in ms. Pauses between attempts are shorter. */
const failureGapMsMax = 24 * 3_600_000;
/** Interval in ms at which the last failure of a failing service is stored. */
const failureStoredMs = 60_000;
const cacheOptions = { entriesMax: 10_000, maxAgeMs: 5_000 };

/** Health of a service. */
export interface EndpointState {
  /** Unix ms since which it has taken nothing; null: it takes messages. */
  readonly failingSince: number | null;
  readonly lastFailure: { readonly at: number; readonly reason: string } | null;
  /** `gone`: it answered 410. `failing`: it took nothing for 5 days. */
  readonly disabled: { readonly at: number; readonly reason: "gone" | "failing" } | null;
}

const healthy: EndpointState = { failingSince: null, lastFailure: null, disabled: null };
const readEndpoint: ReadRecord = { type: "record", key: webhookKeys.endpoint };

/** The health of services. A service is a webhook with its URL: another URL is another service. */
export type Endpoints = ReturnType<typeof createEndpoints>;

/** Creates the health records of a process. */
export function createEndpoints({ store, clock }: Pick<WebhookServices, "store" | "clock">) {
  const cache = new Cache<EndpointState>({ ...cacheOptions, clock });

  async function change(
    address: WebhookAddress,
    url: string,
    next: (before: EndpointState) => EndpointState,
  ): Promise<EndpointState> {
    const state = await decide(store, webhookPartition(address), {
      reads: [readEndpoint],
      idempotent: true,
      apply([stored]) {
        const before = endpointOf(stored, url);
        const after = next(before);
        const value = JSON.stringify({ url, ...after });
        const put = { type: "put", key: webhookKeys.endpoint, value } as const;
        return { writes: after === before ? [] : [put], answer: after };
      },
    });
    cache.set(cacheKey(address, url), state);
    return state;
  }

  /** Returns the health now. */
  async function load(address: WebhookAddress, url: string): Promise<EndpointState> {
    const [stored] = await store.read(webhookPartition(address), [readEndpoint]);
    const state = endpointOf(stored, url);
    cache.set(cacheKey(address, url), state);
    return state;
  }

  /** Returns the health as of at most 5 seconds ago. */
  async function cached(address: WebhookAddress, url: string): Promise<EndpointState> {
    return cache.get(cacheKey(address, url)) ?? (await load(address, url));
  }

  return {
    load,
    cached,
    /** Records that a message was delivered. */
    async recordSuccess(address: WebhookAddress, url: string): Promise<void> {
      const { failingSince } = await cached(address, url);
      if (failingSince === null) return;
      await change(address, url, before =>
        before.failingSince === null ? before : { ...before, failingSince: null },
      );
    },
    /** Records a failure and returns the health after it. `isGone`: the service answered 410. */
    async recordFailure(
      address: WebhookAddress,
      url: string,
      failure: { readonly reason: string; readonly isGone: boolean },
    ): Promise<EndpointState> {
      const now = clock();
      const state = await cached(address, url);
      const isStored =
        state.failingSince !== null &&
        state.lastFailure !== null &&
        now - state.lastFailure.at < failureStoredMs &&
        !failure.isGone;
      return isStored ? state : await change(address, url, before => afterFailure(before, failure, now));
    },
    /** Enables a disabled service. */
    async enable(address: WebhookAddress, url: string): Promise<void> {
      await change(address, url, before => (before === healthy ? before : healthy));
    },
  };
}

function cacheKey(address: WebhookAddress, url: string): string {
  return `${webhookName(address)} ${url}`;
}

function endpointOf(stored: Stored | null, url: string): EndpointState {
  if (stored === null) return healthy;
  const { url: storedUrl, ...state } = JSON.parse(stored.value) as EndpointState & { readonly url: string };
  return storedUrl === url ? state : healthy;
}

function afterFailure(
  before: EndpointState,
  { reason, isGone }: { readonly reason: string; readonly isGone: boolean },
  now: number,
): EndpointState {
  const { lastFailure, disabled } = before;
  const isSameSeries = lastFailure !== null && now - lastFailure.at < failureGapMsMax;
  const failingSince = (isSameSeries ? before.failingSince : null) ?? now;
  const isGivenUp = now - failingSince >= failingMsMax;
  const why = isGone ? "gone" : isGivenUp ? "failing" : null;
  return {
    failingSince,
    lastFailure: { at: now, reason },
    disabled: disabled ?? (why === null ? null : { at: now, reason: why }),
  };
}
