/**
 * Stored deliveries: messages that wait to be sent, and dead letters.
 *
 * Changes of users wait in their histories and are stored here only when they are given up. Announcements wait here, and so do dead
 * letters that an operator replays.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import {
  decide,
  keyName,
  type Partition,
  type ReadBoard,
  type Result,
  type Store,
  tenantPartition,
  type Write,
} from "../../../storage/mod.ts";
import type { WebhookServices } from "./services.ts";

/** Most dead letters of a webhook; the oldest is removed where there would be more. */
export const webhookDeadLettersMax = 10_000;
/** Most dead letters that are listed or replayed at a time. */
export const deadLettersPageMax = 100;
/** Time for which a dead letter is kept, in ms: 14 days. */
const deadMsMax = 14 * 24 * 3_600_000;
/** Most messages of a webhook that wait; one more becomes a dead letter at once. */
const waitingMax = 10_000;
/** Most outdated dead letters that one new dead letter clears away. */
const clearedMax = 4;

/** A webhook of a space. */
export interface WebhookAddress {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly webhookId: string;
}

/** A message for a webhook. */
export interface WebhookDelivery {
  /** The id that the receiver sees. */
  readonly id: string;
  readonly type: string;
  /** Unix ms of the change that it is about. */
  readonly at: number;
  /** JSON. */
  readonly data: unknown;
}

/** A stored message with its attempts. */
export interface StoredDelivery extends WebhookDelivery {
  /** Unix ms since which it waits. */
  readonly since: number;
  readonly attempts: number;
  /** The reason of the last failure; null: there was none. */
  readonly reason: string | null;
}

/** A message that was given up. */
export interface WebhookDeadLetter extends StoredDelivery {
  readonly deliveryId: string;
  /** Unix ms at which it was given up. */
  readonly deadAt: number;
}

/** The keys of a webhook's partition. */
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

/** Returns a webhook's name among those of all organisations. */
export function webhookName({ organisationId, spaceId, webhookId }: WebhookAddress): string {
  return JSON.stringify([organisationId, spaceId, webhookId]);
}

export function webhookOfName(name: string): WebhookAddress {
  const [organisationId = "", spaceId = "", webhookId = ""] = JSON.parse(name) as readonly string[];
  return { organisationId, spaceId, webhookId };
}

/** The stored messages of all webhooks. */
export type DeliveryStore = ReturnType<typeof createDeliveryStore>;

/** Creates the stored messages of all webhooks. */
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
          { type: "record", key: deliveryKey(id) },
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
    /** Returns the messages that are due, longest due first. */
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
    /** Stores a failed attempt and when the next one is due. */
    async defer(address: WebhookAddress, delivery: StoredDelivery, at: number): Promise<void> {
      await store.commit(webhookPartition(address), { writes: waitingWrites(delivery, at) });
    },
    /** Removes a message that was delivered. */
    async remove(address: WebhookAddress, messageId: string): Promise<void> {
      await store.commit(webhookPartition(address), { writes: removalWrites(deliveryIdOf(messageId)) });
    },
  };
}

function deadDeliveries({ store, clock }: Pick<WebhookServices, "store" | "clock">) {
  return {
    /** Makes a message a dead letter. */
    async moveToDeadLetters(address: WebhookAddress, delivery: StoredDelivery): Promise<void> {
      const id = deliveryIdOf(delivery.id);
      await decide(store, webhookPartition(address), {
        reads: [
          { type: "record", key: deliveryKey(id) },
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
    /** Counts the stored messages. */
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
      const found = await readDeliveries(store, address, deliveryIds);
      const now = clock();
      const writes = deliveryIds.flatMap((id, index): readonly Write[] => {
        const delivery = found[index] ?? null;
        if (delivery === null) return [];
        return [
          ...waitingWrites({ ...delivery, since: now, attempts: 0 }, now),
          { type: "unscore", key: dead, member: id },
        ];
      });
      if (writes.length > 0) await store.commit(webhookPartition(address), { writes });
      return deliveryIds.filter((_, index) => (found[index] ?? null) !== null);
    },
  };
}

async function readDeliveries(
  store: Store,
  address: WebhookAddress,
  ids: readonly string[],
): Promise<readonly (StoredDelivery | null)[]> {
  if (ids.length === 0) return [];
  const reads = ids.map(id => ({ type: "record", key: deliveryKey(id) }) as const);
  const found = await store.read(webhookPartition(address), reads);
  return found.map(stored => (stored === null ? null : (JSON.parse(stored.value) as StoredDelivery)));
}

function membersOf(entries: Result<ReadBoard>["entries"]): readonly string[] {
  return entries.map(({ member }) => member);
}

function waitingWrites(delivery: StoredDelivery, at: number): readonly Write[] {
  const id = deliveryIdOf(delivery.id);
  return [
    { type: "put", key: deliveryKey(id), value: JSON.stringify(delivery) },
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
    { type: "put", key: deliveryKey(id), value, expireAt: now + deadMsMax },
    { type: "unscore", key: waiting, member: id },
    { type: "score", op: "set", key: dead, member: id, score: now },
    ...removed.flatMap(({ member }) => removalWrites(member)),
  ];
}

function removalWrites(deliveryId: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key: deliveryKey(deliveryId) },
    { type: "unscore", key: waiting, member: deliveryId },
    { type: "unscore", key: dead, member: deliveryId },
  ];
}

/** Derives the short id of a stored message, whatever the id of the message holds. */
function deliveryIdOf(messageId: string): string {
  return `wdl_${bytesToHex(sha256(utf8ToBytes(messageId)).subarray(0, 16))}`;
}

function deliveryKey(deliveryId: string): string {
  return keyName("letter", deliveryId);
}
