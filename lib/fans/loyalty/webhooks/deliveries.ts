/**
 * Stored deliveries: messages that wait to be sent, and dead letters.
 *
 * Changes of users wait in their histories and are stored here only when they are given up. Announcements wait here, and so do dead
 * letters that an operator replays.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  CircuitBreaker,
  circuitRetryMs,
  WebhookError,
  type WebhookSender,
} from "../../../base/outbound/outbound.ts";
import { shardOf } from "../../../base/text/mod.ts";
import { Cache } from "../../../storage/background/mod.ts";
import {
  decide,
  type Partition,
  type ReadBoard,
  type ReadRecord,
  type Result,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import type { WebhookDefinition } from "../config/document.ts";
import type { EntryFailure, ProgressCache } from "./progress.ts";
import type { WebhookServices } from "./services.ts";

/** Most dead letters of a webhook; the oldest is removed where there would be more. */
export const webhookDeadLettersMax = 10_000;
export const deadLettersPageMax = 100;
/** Time for which a dead letter is kept, in ms: 14 days. */
const deadMsMax = 14 * 24 * 3_600_000;
/** Most messages of a webhook that wait; one more becomes a dead letter at once. */
const waitingMax = 10_000;
/** Most outdated dead letters that one new dead letter clears away. */
const clearedMax = 4;

export interface WebhookAddress {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly webhookId: string;
}

export interface WebhookDelivery {
  /** The id that the receiver sees. */
  readonly id: string;
  readonly type: string;
  /** Unix ms of the change that it is about. */
  readonly at: number;
  readonly data: unknown;
}

export interface StoredDelivery extends WebhookDelivery {
  /** Unix ms since which it waits. */
  readonly since: number;
  readonly attempts: number;
  readonly reason: string | null;
}

export interface WebhookDeadLetter extends StoredDelivery {
  readonly deliveryId: string;
  /** Unix ms at which it was given up. */
  readonly deadAt: number;
}

export const webhookKeys = {
  /** Record: health of the service. */
  endpoint: "endpoint",
  /** Board: messages by the time at which they are due. */
  waiting: "waiting",
  /** Board: dead letters by the time at which they were given up. */
  dead: "dead",
} as const;

const { waiting, dead } = webhookKeys;

export function webhookPartition({ organisationId, spaceId, webhookId }: WebhookAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "webhook", spaceId, webhookId);
}

export function webhookName({ organisationId, spaceId, webhookId }: WebhookAddress): string {
  return JSON.stringify([organisationId, spaceId, webhookId]);
}

export function webhookOfName(name: string): WebhookAddress {
  const [organisationId = "", spaceId = "", webhookId = ""] = JSON.parse(name) as readonly string[];
  return { organisationId, spaceId, webhookId };
}

type DeliveryStore = ReturnType<typeof createDeliveryStore>;

export function createDeliveryStore(services: Pick<WebhookServices, "store" | "clock">) {
  return { ...waitingDeliveries(services), ...deadDeliveries(services) };
}

function waitingDeliveries({ store, clock }: Pick<WebhookServices, "store" | "clock">) {
  return {
    /** Stores a message that is due now. One that waits already keeps its place. */
    async queue(address: WebhookAddress, delivery: WebhookDelivery): Promise<void> {
      const id = deliveryIdOf(delivery.id);
      await decide(store, webhookPartition(address), {
        reads: [
          readDelivery(id),
          { type: "standing", key: waiting, member: id },
          { type: "board", key: waiting, limit: 0 },
          { type: "standing", key: dead, member: id },
          { type: "board", key: dead, limit: clearedMax },
        ],
        idempotent: true,
        apply([, inWaiting, { size }, inDead, { entries, size: deadSize }]) {
          const now = clock();
          const stored = { ...delivery, since: now, attempts: 0, reason: null };
          if (inWaiting !== null) return { writes: [], answer: null };
          if (size < waitingMax) return { writes: waitingWrites(stored, now), answer: null };
          const reason = `${waitingMax} messages are waiting for the service`;
          const board = { entries, size: deadSize, isNew: inDead === null, now };
          return { writes: deadLetterWrites({ ...stored, reason }, board), answer: null };
        },
      });
    },
    async due(address: WebhookAddress): Promise<readonly StoredDelivery[]> {
      const [{ entries }] = await store.read(webhookPartition(address), [
        { type: "board", key: waiting, max: clock(), limit: deadLettersPageMax },
      ]);
      const deliveries = await readDeliveries(store, address, membersOf(entries));
      return deliveries.filter(delivery => delivery !== null);
    },
    /** Returns when the next message is due, Unix ms; null: none waits. */
    async nextAt(address: WebhookAddress): Promise<number | null> {
      const [{ entries }] = await store.read(webhookPartition(address), [
        { type: "board", key: waiting, limit: 1 },
      ]);
      return entries[0]?.score ?? null;
    },
    async defer(address: WebhookAddress, delivery: StoredDelivery, at: number): Promise<void> {
      await store.commit(webhookPartition(address), { writes: waitingWrites(delivery, at) });
    },
    async remove(address: WebhookAddress, messageId: string): Promise<void> {
      await store.commit(webhookPartition(address), { writes: removalWrites(deliveryIdOf(messageId)) });
    },
  };
}

function deadDeliveries({ store, clock }: Pick<WebhookServices, "store" | "clock">) {
  return {
    async moveToDeadLetters(address: WebhookAddress, delivery: StoredDelivery): Promise<void> {
      const id = deliveryIdOf(delivery.id);
      await decide(store, webhookPartition(address), {
        reads: [
          readDelivery(id),
          { type: "standing", key: dead, member: id },
          { type: "board", key: dead, limit: clearedMax },
        ],
        idempotent: true,
        apply([, inDead, { entries, size }]) {
          const board = { entries, size, isNew: inDead === null, now: clock() };
          return { writes: deadLetterWrites(delivery, board), answer: null };
        },
      });
    },
    /** Lists dead letters, newest first. */
    async listDead(
      address: WebhookAddress,
      { offset, limit }: { readonly offset: number; readonly limit: number },
    ): Promise<{ readonly deadLetters: readonly WebhookDeadLetter[]; readonly total: number }> {
      const min = clock() - deadMsMax + 1;
      const [{ entries, size }, outdated] = await store.read(webhookPartition(address), [
        { type: "board", key: dead, min, offset, limit, reverse: true },
        { type: "before", key: dead, score: min },
      ]);
      const found = await readDeliveries(store, address, membersOf(entries));
      const deadLetters = entries.flatMap(({ member, score }, index) => {
        const delivery = found[index] ?? null;
        return delivery === null ? [] : [{ ...delivery, deliveryId: member, deadAt: score }];
      });
      return { deadLetters, total: size - outdated };
    },
    async counts(address: WebhookAddress): Promise<{ readonly waiting: number; readonly dead: number }> {
      const [{ size: waitingSize }, { size }, outdated] = await store.read(webhookPartition(address), [
        { type: "board", key: waiting, limit: 0 },
        { type: "board", key: dead, limit: 0 },
        { type: "before", key: dead, score: clock() - deadMsMax + 1 },
      ]);
      return { waiting: waitingSize, dead: size - outdated };
    },
    /** Makes dead letters due again and returns the ids of those that exist. */
    async replay(address: WebhookAddress, deliveryIds: readonly string[]): Promise<readonly string[]> {
      return await decide(store, webhookPartition(address), {
        reads: deliveryIds.map(readDelivery),
        idempotent: true,
        apply(found) {
          const now = clock();
          const again = (delivery: StoredDelivery): readonly Write[] => [
            ...waitingWrites({ ...delivery, since: now, attempts: 0 }, now),
            { type: "unscore", key: dead, member: deliveryIdOf(delivery.id) },
          ];
          return {
            writes: found.flatMap(stored => (stored === null ? [] : again(parseDelivery(stored)))),
            answer: deliveryIds.filter((_, index) => (found[index] ?? null) !== null),
          };
        },
      });
    },
  };
}

async function readDeliveries(
  store: Store,
  address: WebhookAddress,
  ids: readonly string[],
): Promise<readonly (StoredDelivery | null)[]> {
  if (ids.length === 0) return [];
  const found = await store.read(webhookPartition(address), ids.map(readDelivery));
  return found.map(stored => (stored === null ? null : parseDelivery(stored)));
}

function readDelivery(deliveryId: string): ReadRecord {
  return { type: "record", key: keyName("letter", deliveryId) };
}

function parseDelivery({ value }: Stored): StoredDelivery {
  return JSON.parse(value) as StoredDelivery;
}

function membersOf(entries: Result<ReadBoard>["entries"]): readonly string[] {
  return entries.map(({ member }) => member);
}

function waitingWrites(delivery: StoredDelivery, at: number): readonly Write[] {
  const id = deliveryIdOf(delivery.id);
  return [
    { type: "put", key: readDelivery(id).key, value: JSON.stringify(delivery) },
    { type: "score", op: "set", key: waiting, member: id, score: at },
  ];
}

/** Stores a dead letter in place of outdated ones, and of the oldest where there would be too many. */
function deadLetterWrites(
  delivery: StoredDelivery,
  { entries, size, isNew, now }: Result<ReadBoard> & { readonly isNew: boolean; readonly now: number },
): readonly Write[] {
  const id = deliveryIdOf(delivery.id);
  const surplus = size + (isNew ? 1 : 0) - webhookDeadLettersMax;
  const removed = entries.filter(
    ({ member, score }, index) => member !== id && (score <= now - deadMsMax || index < surplus),
  );
  const value = JSON.stringify(delivery);
  return [
    { type: "put", key: readDelivery(id).key, value, expireAt: now + deadMsMax },
    { type: "unscore", key: waiting, member: id },
    { type: "score", op: "set", key: dead, member: id, score: now },
    ...removed.flatMap(({ member }) => removalWrites(member)),
  ];
}

function removalWrites(deliveryId: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key: readDelivery(deliveryId).key },
    { type: "unscore", key: waiting, member: deliveryId },
    { type: "unscore", key: dead, member: deliveryId },
  ];
}

/** Derives the short id of a stored message, whatever the id of the message holds. */
function deliveryIdOf(messageId: string): string {
  return `wdl_${bytesToHex(sha256(utf8ToBytes(messageId)).subarray(0, 16))}`;
}

/** Outcome of an attempt: the message is taken, or a dead letter, or waits for the next attempt. */
type Attempt = "delivered" | "dead" | EntryFailure;

interface SendRequest {
  readonly address: WebhookAddress;
  readonly webhook: WebhookDefinition;
  readonly delivery: StoredDelivery;
}

/** Sends messages, once each time. */
type WebhookClient = ReturnType<typeof createWebhookClient>;

export interface SendingServices extends WebhookServices {
  readonly client: WebhookClient;
  readonly deliveries: DeliveryStore;
  readonly progress: ProgressCache;
}

const noSender: WebhookSender = {
  async send() {
    throw new WebhookError("the platform has no sender of webhooks");
  },
};

/** Number of services whose failures a process remembers. */
const servicesMax = 10_000;

/**
 * Creates the client of a process. It leaves a service alone for some seconds after repeated failures, and for as long as the
 * service asks in `Retry-After`.
 */
export function createWebhookClient(
  { clock, sender = noSender, keyOf, onFailed }: WebhookServices,
  endpoints: Endpoints,
  deliveries: Pick<DeliveryStore, "moveToDeadLetters">,
) {
  const services = new Cache<Service>({ entriesMax: servicesMax });

  /** Each webhook has a service of its own: another organisation that names the same address must not affect it. */
  function serviceOf(address: WebhookAddress, webhook: WebhookDefinition): Service {
    const name = `${webhookName(address)} ${webhook.url}`;
    const service = services.get(name) ?? { breaker: new CircuitBreaker(clock), pausedUntil: 0 };
    services.set(name, service);
    return service;
  }

  async function giveUp(address: WebhookAddress, delivery: StoredDelivery): Promise<"dead"> {
    await deliveries.moveToDeadLetters(address, delivery);
    return "dead";
  }

  async function recordFailure(
    { address, webhook, delivery }: SendRequest,
    error: unknown,
  ): Promise<Attempt> {
    // Other errors may hold addresses: they are for the log alone.
    const { status, retryAfterMs, message: reason } = error instanceof WebhookError ? error : unexplained;
    if (retryAfterMs !== null) {
      serviceOf(address, webhook).pausedUntil = clock() + Math.min(retryAfterMs, retryMsMax);
    }
    const isGone = status === 410;
    const { disabled } = await endpoints.recordFailure(address, webhook.url, { reason, isGone });
    const { id, since } = delivery;
    const attempts = delivery.attempts + 1;
    const now = clock();
    // A late message is tried once all the same: it may have waited behind one that the service did not take.
    if (disabled !== null || now > since + triedMsMax) {
      return await giveUp(address, { ...delivery, attempts, reason });
    }
    return { attempts, reason, retryAt: now + retryDelayMs({ id, attempts, retryAfterMs }) };
  }

  return {
    /** Sends a message once. A message that is not tried any more becomes a dead letter. */
    async send(request: SendRequest): Promise<Attempt> {
      const { address, webhook, delivery } = request;
      const { id, type, at, data, attempts, reason } = delivery;
      const { disabled } = await endpoints.cached(address, webhook.url);
      if (disabled !== null) return await giveUp(address, { ...delivery, reason: refusalOf(disabled) });
      const service = serviceOf(address, webhook);
      if (clock() < service.pausedUntil) return { attempts, reason, retryAt: service.pausedUntil };
      let isTried = false;
      try {
        await service.breaker.run(async () => {
          isTried = true;
          const [key, ...otherKeys] = keyOf(address.spaceId, webhook.id);
          await sender.send({ url: webhook.url, key, otherKeys, id, type, at, data });
        });
      } catch (error) {
        if (!isTried) return { attempts, reason, retryAt: clock() + circuitRetryMs };
        onFailed(webhook.id, error);
        return await recordFailure(request, error);
      }
      await endpoints
        .recordSuccess(address, webhook.url)
        .catch((error: unknown) => onFailed(webhook.id, error));
      return "delivered";
    },
  };
}

/** State of a service in the memory of a process. */
interface Service {
  readonly breaker: CircuitBreaker;
  /** Unix ms. */
  pausedUntil: number;
}

const unexplained: Pick<WebhookError, "status" | "retryAfterMs" | "message"> = new WebhookError(
  "the reason is in the log",
);

function refusalOf({ reason }: NonNullable<EndpointState["disabled"]>): string {
  const why = reason === "gone" ? "it answered 410" : "it took nothing for days";
  return `Cannot deliver the webhook: the service is disabled because ${why}`;
}

const retryMsMin = 5_000;
const retryFactor = 4;
const retryJitter = 0.2;
const jitterSteps = 10_001;
/** Longest pause in ms, also where a service asks for a longer one: 8 hours. */
const retryMsMax: number = 8 * 3_600_000;
/** Time for which a message is tried, in ms: 3 days. */
const triedMsMax: number = 3 * 24 * 3_600_000;

/** Computes the pause after a failed attempt, in ms: never shorter than the service asked for, within the longest pause. */
export function retryDelayMs({
  id,
  attempts,
  retryAfterMs,
}: {
  /** Id of the message, from which the jitter follows. */
  readonly id: string;
  /** Number of attempts so far, this one included. */
  readonly attempts: number;
  /** Pause that the service asked for, in ms. */
  readonly retryAfterMs: number | null;
}): number {
  const pause = Math.min(retryMsMax, retryMsMin * retryFactor ** (attempts - 1));
  const position = shardOf(`${id}#${attempts}`, jitterSteps) / (jitterSteps - 1);
  const jittered = Math.round(pause * (1 + retryJitter * (2 * position - 1)));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, retryMsMax));
}

/** Time for which a service may take nothing before it is disabled, in ms: 5 days. */
const failingMsMax = 5 * 24 * 3_600_000;

/** Time after a failure for which the next one continues the same series, in ms. Pauses between attempts are shorter. */
const failureGapMsMax = 24 * 3_600_000;

/** Interval in ms at which the last failure of a failing service is stored. */
const failureStoredMs = 60_000;

const cacheOptions = { entriesMax: 10_000, maxAgeMs: 5_000 };

interface EndpointState {
  /** Unix ms since which it has taken nothing; null: it takes messages. */
  readonly failingSince: number | null;
  readonly lastFailure: { readonly at: number; readonly reason: string } | null;
  /** `gone`: it answered 410. `failing`: it took nothing for 5 days. */
  readonly disabled: { readonly at: number; readonly reason: "gone" | "failing" } | null;
}

const healthy: EndpointState = { failingSince: null, lastFailure: null, disabled: null };

const readEndpoint: ReadRecord = { type: "record", key: webhookKeys.endpoint };

/** The health of services. A service is a webhook with its URL: another URL is another service. */
type Endpoints = ReturnType<typeof createEndpoints>;

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
