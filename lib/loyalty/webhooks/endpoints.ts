/**
 * How the services behind webhooks do: since when one fails, and whether it is told anything at all.
 *
 * A service that answers 410 says that it is gone, one that has taken nothing for days is given up; both are disabled until
 * somebody enables them, or gives the webhook another address. What they would have been told becomes dead letters.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { BoundedCache, decide, type ReadRecord, type Store, type Stored } from "../../storage/mod.ts";
import { type WebhookAddress, webhookKeys, webhookName, webhookPartition } from "./delivery.ts";

/** How long a service may take nothing before it is disabled, in ms: 5 days. */
export const webhookFailingMsMax: number = 5 * 24 * 3_600_000;
/** How long after a failure the next one still belongs to the same row, in ms. Pauses between attempts are shorter. */
export const webhookFailureGapMsMax: number = 24 * 3_600_000;
/** How long a process rests on what it knows of a service, in ms. */
export const endpointFreshMs = 5_000;
/** Number of services of which a process rests on what it knows; the one asked about for longest ago is forgotten first. */
export const endpointsKnownMax = 10_000;
/** How often a process notes the last failure of a service that is known to fail, in ms. */
export const failureNotedMs = 60_000;

/** How a service does. */
export interface EndpointState {
  /** Since when it has taken nothing, Unix ms; null: it takes what it is sent. */
  readonly failingSince: number | null;
  readonly lastFailure: { readonly at: number; readonly reason: string } | null;
  /** `gone`: it answered 410. `failing`: it took nothing for {@linkcode webhookFailingMsMax}. */
  readonly disabled: { readonly at: number; readonly reason: "gone" | "failing" } | null;
}

/** A failed attempt to tell a service. */
export interface EndpointFailure {
  readonly reason: string;
  /** Whether the service says that it is there no more. */
  readonly isGone: boolean;
}

/** What is known of services. A service is a webhook with its address: another address is another service. */
export interface Endpoints {
  /** How it does now. */
  load(place: WebhookAddress, url: string): Promise<EndpointState>;
  /** How it does, as known within the last seconds. */
  cached(place: WebhookAddress, url: string): Promise<EndpointState>;
  /** Notes that it took a message. */
  recordSuccess(place: WebhookAddress, url: string): Promise<void>;
  /** Notes that it did not, and says how it does now. */
  recordFailure(place: WebhookAddress, url: string, failure: EndpointFailure): Promise<EndpointState>;
  /** Lets it be told again. */
  enable(place: WebhookAddress, url: string): Promise<void>;
}

interface StoredEndpoint extends EndpointState {
  readonly url: string;
}

interface Known {
  readonly url: string;
  readonly state: EndpointState;
  readonly at: number;
}

const fine: EndpointState = { failingSince: null, lastFailure: null, disabled: null };
const readEndpoint: ReadRecord = { type: "record", key: webhookKeys.endpoint };

function endpointOf(stored: Stored | null, url: string): EndpointState {
  if (stored === null) return fine;
  const { url: known, ...state } = JSON.parse(stored.value) as StoredEndpoint;
  return known === url ? state : fine;
}

/** Creates what a process knows of services. */
export function createEndpoints({
  store,
  clock,
}: {
  readonly store: Store;
  readonly clock: Clock;
}): Endpoints {
  const memory = new BoundedCache<Known>(endpointsKnownMax);

  async function change(
    place: WebhookAddress,
    url: string,
    next: (before: EndpointState) => EndpointState,
  ): Promise<EndpointState> {
    const state = await decide(store, webhookPartition(place), {
      reads: [readEndpoint],
      idempotent: true,
      apply([stored]) {
        const before = endpointOf(stored, url);
        const after = next(before);
        const value = JSON.stringify({ url, ...after } satisfies StoredEndpoint);
        const put = { type: "put", key: webhookKeys.endpoint, value } as const;
        return { writes: after === before ? [] : [put], answer: after };
      },
    });
    memory.set(webhookName(place), { url, state, at: clock() });
    return state;
  }

  async function look(place: WebhookAddress, url: string): Promise<EndpointState> {
    const [stored] = await store.read(webhookPartition(place), [readEndpoint]);
    const state = endpointOf(stored, url);
    memory.set(webhookName(place), { url, state, at: clock() });
    return state;
  }

  async function state(place: WebhookAddress, url: string): Promise<EndpointState> {
    const known = memory.get(webhookName(place));
    const isFresh = known?.url === url && clock() - known.at < endpointFreshMs;
    return isFresh ? known.state : await look(place, url);
  }

  return {
    load: look,
    cached: state,
    async recordSuccess(place, url) {
      const { failingSince } = await state(place, url);
      if (failingSince === null) return;
      await change(place, url, before =>
        before.failingSince === null ? before : { ...before, failingSince: null },
      );
    },
    async recordFailure(place, url, failure) {
      const now = clock();
      const known = await state(place, url);
      const isNoted =
        known.failingSince !== null &&
        known.lastFailure !== null &&
        now - known.lastFailure.at < failureNotedMs &&
        !failure.isGone;
      return isNoted ? known : await change(place, url, before => afterFailure(before, failure, now));
    },
    async enable(place, url) {
      await change(place, url, before => (before === fine ? before : fine));
    },
  };
}

function afterFailure(
  before: EndpointState,
  { reason, isGone }: EndpointFailure,
  now: number,
): EndpointState {
  const { lastFailure, disabled } = before;
  const isSameRow = lastFailure !== null && now - lastFailure.at < webhookFailureGapMsMax;
  const failingSince = (isSameRow ? before.failingSince : null) ?? now;
  const isGivenUp = now - failingSince >= webhookFailingMsMax;
  const why = isGone ? "gone" : isGivenUp ? "failing" : null;
  return {
    failingSince,
    lastFailure: { at: now, reason },
    disabled: disabled ?? (why === null ? null : { at: now, reason: why }),
  };
}
