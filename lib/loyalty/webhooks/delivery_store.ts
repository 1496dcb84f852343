/**
 * Messages for webhooks that are stored as such: those that wait to be sent, and dead letters.
 *
 * What happens to users waits in their histories and is stored here only when it is given up. What is announced, and what an
 * operator replays, waits here.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { decide, type ReadBoard, type Result, type Store, type Write } from "../../storage/mod.ts";
import {
  deliveryIdOf,
  deliveryKey,
  type WebhookAddress,
  type WebhookDelivery,
  webhookKeys,
  webhookPartition,
} from "./delivery.ts";

/** How long a dead letter is kept, in ms: 14 days. */
export const webhookDeadMsMax: number = 14 * 24 * 3_600_000;
/** Most dead letters of a webhook; the oldest goes where there would be more. */
export const webhookDeadLettersMax = 10_000;
/** Most messages of a webhook that wait; one more becomes a dead letter at once. */
export const webhookDeliveriesWaitingMax = 10_000;
/** Most letters that are listed, replayed or sent at a time. */
export const deadLettersPageMax = 100;
/** How many letters that are over, at most, one new letter clears away. */
const clearedMax = 4;

/** A letter with what became of it. */
export interface StoredDelivery extends WebhookDelivery {
  /** Since when it waits in this box, Unix ms. */
  readonly since: number;
  readonly attempts: number;
  /** Why the last attempt failed; null: there was none. */
  readonly reason: string | null;
}

/** A letter that was given up. */
export interface WebhookDeadLetter extends StoredDelivery {
  /** Names the letter. */
  readonly deliveryId: string;
  /** When it was given up, Unix ms. */
  readonly deadAt: number;
}

/** How many letters there are. */
export interface DeliveryCounts {
  readonly waiting: number;
  readonly dead: number;
}

/** The stored messages of all webhooks. */
export interface DeliveryStore {
  /** Stores a message that is to be sent now. One that waits already keeps its place. */
  queue(place: WebhookAddress, letter: WebhookDelivery): Promise<void>;
  /** The messages that are to be sent by now, the longest due first. */
  due(place: WebhookAddress): Promise<readonly StoredDelivery[]>;
  /** When the next message is to be sent, Unix ms; null: none waits. */
  nextAt(place: WebhookAddress): Promise<number | null>;
  /** Notes a failed attempt, and when the next one is due. */
  defer(place: WebhookAddress, letter: StoredDelivery, at: number): Promise<void>;
  /** Forgets a message that was sent. */
  remove(place: WebhookAddress, messageId: string): Promise<void>;
  /** Makes a message a dead letter. */
  moveToDeadLetters(place: WebhookAddress, letter: StoredDelivery): Promise<void>;
  /** Dead letters, newest first. */
  list(
    place: WebhookAddress,
    page: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly letters: readonly WebhookDeadLetter[]; readonly size: number }>;
  counts(place: WebhookAddress): Promise<DeliveryCounts>;
  /** Lets dead letters wait to be sent again, and says which of them there were. */
  replay(place: WebhookAddress, letterIds: readonly string[]): Promise<readonly string[]>;
}

const { waiting, dead } = webhookKeys;

/** What the stored messages are made over. */
export interface DeliveryStoreOptions {
  readonly store: Store;
  readonly clock: Clock;
}

/** Creates the stored messages of all webhooks. */
export function createDeliveryStore(options: DeliveryStoreOptions): DeliveryStore {
  return { ...deliveryReads(options), ...deliveryWrites(options) };
}

function deliveryReads({
  store,
  clock,
}: DeliveryStoreOptions): Pick<DeliveryStore, "due" | "nextAt" | "list" | "counts"> {
  return {
    async due(place) {
      const [{ entries }] = await store.read(webhookPartition(place), [
        { type: "board", key: waiting, max: clock(), limit: deadLettersPageMax },
      ]);
      const letters = await readDeliveries(
        store,
        place,
        entries.map(({ member }) => member),
      );
      return letters.filter(letter => letter !== null);
    },
    async nextAt(place) {
      const [{ entries }] = await store.read(webhookPartition(place), [
        { type: "board", key: waiting, limit: 1 },
      ]);
      return entries[0]?.score ?? null;
    },
    async list(place, { offset, limit }) {
      const min = clock() - webhookDeadMsMax + 1;
      const [{ entries, size }, past] = await store.read(webhookPartition(place), [
        { type: "board", key: dead, min, offset, limit, reverse: true },
        { type: "before", key: dead, score: min },
      ]);
      const found = await readDeliveries(
        store,
        place,
        entries.map(({ member }) => member),
      );
      const letters = entries.flatMap(({ member, score }, index) => {
        const letter = found[index] ?? null;
        return letter === null ? [] : [{ ...letter, deliveryId: member, deadAt: score }];
      });
      return { letters, size: size - past };
    },
    async counts(place) {
      const [{ size: waitingNow }, { size }, past] = await store.read(webhookPartition(place), [
        { type: "board", key: waiting, limit: 0 },
        { type: "board", key: dead, limit: 0 },
        { type: "before", key: dead, score: clock() - webhookDeadMsMax + 1 },
      ]);
      return { waiting: waitingNow, dead: size - past };
    },
  };
}

function deliveryWrites({
  store,
  clock,
}: DeliveryStoreOptions): Pick<DeliveryStore, "queue" | "defer" | "remove" | "moveToDeadLetters" | "replay"> {
  return {
    async queue(place, letter) {
      const id = deliveryIdOf(letter.id);
      await decide(store, webhookPartition(place), {
        reads: [
          { type: "record", key: deliveryKey(id) },
          { type: "standing", key: waiting, member: id },
          { type: "board", key: waiting, limit: 0 },
          { type: "standing", key: dead, member: id },
          { type: "board", key: dead, limit: clearedMax },
        ],
        idempotent: true,
        apply([, standing, { size }, grave, { entries, size: graves }]) {
          const now = clock();
          const stored = { ...letter, since: now, attempts: 0, reason: null };
          if (standing !== null) return { writes: [], answer: null };
          if (size < webhookDeliveriesWaitingMax) return { writes: waitingWrites(stored, now), answer: null };
          const reason = `${webhookDeliveriesWaitingMax} messages are waiting for the service`;
          return {
            writes: deadLetterWrites(
              { ...stored, reason },
              { entries, size: graves, isNew: grave === null, now },
            ),
            answer: null,
          };
        },
      });
    },
    async defer(place, letter, at) {
      await store.commit(webhookPartition(place), { writes: waitingWrites(letter, at) });
    },
    async remove(place, messageId) {
      await store.commit(webhookPartition(place), { writes: removalWrites(deliveryIdOf(messageId)) });
    },
    async moveToDeadLetters(place, letter) {
      await decide(store, webhookPartition(place), {
        reads: [
          { type: "record", key: deliveryKey(deliveryIdOf(letter.id)) },
          { type: "standing", key: dead, member: deliveryIdOf(letter.id) },
          { type: "board", key: dead, limit: clearedMax },
        ],
        idempotent: true,
        apply([, grave, { entries, size }]) {
          const writes = deadLetterWrites(letter, { entries, size, isNew: grave === null, now: clock() });
          return { writes, answer: null };
        },
      });
    },
    async replay(place, letterIds) {
      const found = await readDeliveries(store, place, letterIds);
      const now = clock();
      const writes = letterIds.flatMap((id, index): readonly Write[] => {
        const letter = found[index] ?? null;
        if (letter === null) return [];
        return [
          ...waitingWrites({ ...letter, since: now, attempts: 0 }, now),
          { type: "unscore", key: dead, member: id },
        ];
      });
      if (writes.length > 0) await store.commit(webhookPartition(place), { writes });
      return letterIds.filter((_, index) => (found[index] ?? null) !== null);
    },
  };
}

async function readDeliveries(
  store: Store,
  place: WebhookAddress,
  ids: readonly string[],
): Promise<readonly (StoredDelivery | null)[]> {
  if (ids.length === 0) return [];
  const reads = ids.map(id => ({ type: "record", key: deliveryKey(id) }) as const);
  const found = await store.read(webhookPartition(place), reads);
  return found.map(stored => (stored === null ? null : (JSON.parse(stored.value) as StoredDelivery)));
}

function waitingWrites(letter: StoredDelivery, at: number): readonly Write[] {
  const id = deliveryIdOf(letter.id);
  return [
    { type: "put", key: deliveryKey(id), value: JSON.stringify(letter) },
    { type: "score", op: "set", key: waiting, member: id, score: at },
  ];
}

interface DeadLetterBoard extends Result<ReadBoard> {
  readonly isNew: boolean;
  readonly now: number;
}

/** A dead letter takes the place of what is over, and of the oldest where there would be too many. */
function deadLetterWrites(
  letter: StoredDelivery,
  { entries, size, isNew, now }: DeadLetterBoard,
): readonly Write[] {
  const id = deliveryIdOf(letter.id);
  const surplus = size + (isNew ? 1 : 0) - webhookDeadLettersMax;
  const over = entries.filter(
    ({ member, score }, index) => member !== id && (score <= now - webhookDeadMsMax || index < surplus),
  );
  return [
    { type: "put", key: deliveryKey(id), value: JSON.stringify(letter), expireAt: now + webhookDeadMsMax },
    { type: "unscore", key: waiting, member: id },
    { type: "score", op: "set", key: dead, member: id, score: now },
    ...over.flatMap(({ member }) => removalWrites(member)),
  ];
}

function removalWrites(letterId: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key: deliveryKey(letterId) },
    { type: "unscore", key: waiting, member: letterId },
    { type: "unscore", key: dead, member: letterId },
  ];
}
