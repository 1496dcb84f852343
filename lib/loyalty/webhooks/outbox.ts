/**
 * Sends the messages that are stored as such: announcements, and dead letters that somebody replays.
 *
 * A message is stored first, then its webhook is listed among those that have messages waiting; whoever works on a listed webhook holds
 * it for a while, so that processes do not send the same side by side.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { decide, keyName, type Standing, type Store, type Version } from "../../storage/mod.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import type { SendResult, WebhookClient } from "./client.ts";
import {
  type WebhookAddress,
  type WebhookDelivery,
  waitingWebhooksPartition,
  webhookName,
  webhookOfName,
} from "./delivery.ts";
import type { DeliveryStore, StoredDelivery } from "./delivery_store.ts";
import { retryDelayMs, webhookTriedMsMax } from "./schedule.ts";

/** How long a process holds a webhook while it sends its messages, in ms. */
export const outboxLeaseMs = 1_200_000;
/** After how long a process that sends the messages of a webhook takes no more of them, in ms. */
export const outboxWorkedMsMax = 60_000;
/** Most webhooks that one round attends to. */
export const outboxRoundMax = 100;

/** Sends stored messages. */
export interface WebhookOutbox {
  /** Stores a message and sends it in the background. */
  post(place: WebhookAddress, letter: WebhookDelivery): Promise<void>;
  /** Sends dead letters again in the background, and says which there were. */
  replay(place: WebhookAddress, letterIds: readonly string[]): Promise<readonly string[]>;
  /** Sends what is due in the background, of all webhooks. */
  work(): Promise<void>;
  /** Resolves when nothing is sent in the background any more. */
  idle(): Promise<void>;
}

/** What an outbox needs. */
export interface WebhookOutboxOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that send. */
  readonly holder: string;
  readonly attempts: WebhookClient;
  readonly letters: DeliveryStore;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

const due = "due";

/** Creates the outbox of a process. */
export function createWebhookOutbox(options: WebhookOutboxOptions): WebhookOutbox {
  const { store, clock, letters, onFailed } = options;
  const running = new Map<string, Promise<void>>();

  /** One at a time for a webhook: what comes meanwhile is found by the next round. */
  function start(place: WebhookAddress): Promise<void> {
    const name = webhookName(place);
    const known = running.get(name);
    if (known !== undefined) return known;
    const done = sendDue(options, place)
      .catch((error: unknown) => onFailed(place.webhookId, error))
      .finally(() => running.delete(name));
    running.set(name, done);
    return done;
  }

  async function list(place: WebhookAddress): Promise<void> {
    const name = webhookName(place);
    await store.commit(waitingWebhooksPartition(), {
      writes: [
        { type: "put", key: gateOf(name), value: "" },
        { type: "score", op: "min", key: due, member: name, score: clock() },
      ],
    });
    void start(place);
  }

  return {
    async post(place, letter) {
      await letters.queue(place, letter);
      await list(place);
    },
    async replay(place, letterIds) {
      const found = await letters.replay(place, letterIds);
      if (found.length > 0) await list(place);
      return found;
    },
    async work() {
      const [{ entries }] = await store.read(waitingWebhooksPartition(), [
        { type: "board", key: due, max: clock(), limit: outboxRoundMax },
      ]);
      for (const { member } of entries) void start(webhookOfName(member));
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

/** Sends the messages of a webhook that are due, if nobody else does. */
async function sendDue(options: WebhookOutboxOptions, place: WebhookAddress): Promise<void> {
  const name = webhookName(place);
  const claim = await claimed(options, name);
  if (claim === null) return;
  const { webhooks } = await options.config(place.spaceId);
  const webhook = webhooks.find(({ id }) => id === place.webhookId);
  const until = options.clock() + outboxWorkedMsMax;
  while (options.clock() < until) {
    const found = await options.letters.due(place);
    if (found.length === 0) break;
    for (const letter of found) await sendOne(options, { place, webhook, letter });
  }
  await release(options, { name, gate: claim.gate, next: await options.letters.nextAt(place) });
}

interface Sending {
  readonly place: WebhookAddress;
  /** Undefined: the space has no such webhook any more. */
  readonly webhook: WebhookDefinition | undefined;
  readonly letter: StoredDelivery;
}

async function sendOne(options: WebhookOutboxOptions, { place, webhook, letter }: Sending): Promise<void> {
  const { letters, attempts, clock } = options;
  if (webhook === undefined) return await letters.remove(place, letter.id);
  const { id, type, at, data } = letter;
  const result = await attempts.send({ address: place, webhook, delivery: { id, type, at, data } });
  await settled(letters, { place, letter, result, now: clock() });
}

interface Settling {
  readonly place: WebhookAddress;
  readonly letter: StoredDelivery;
  readonly result: SendResult;
  readonly now: number;
}

async function settled(
  letters: WebhookOutboxOptions["letters"],
  { place, letter, result, now }: Settling,
): Promise<void> {
  switch (result.outcome) {
    case "taken":
      return await letters.remove(place, letter.id);
    case "refused":
      return await letters.moveToDeadLetters(place, {
        ...letter,
        attempts: letter.attempts + (result.isTried ? 1 : 0),
        reason: result.reason,
      });
    case "postponed":
      return await letters.defer(place, letter, result.until);
    case "failed": {
      const { reason, retryAfterMs } = result;
      const tried = { ...letter, attempts: letter.attempts + 1, reason };
      if (now - letter.since > webhookTriedMsMax) return await letters.moveToDeadLetters(place, tried);
      const pause = retryDelayMs({ id: letter.id, attempts: tried.attempts, retryAfterMs });
      return await letters.defer(place, tried, now + pause);
    }
  }
}

function gateOf(name: string): string {
  return keyName("gate", name);
}

function leaseOf(name: string): string {
  return keyName("lease", name);
}

interface Claim {
  /** As it was when the webhook was claimed: put anew whenever a message is added. */
  readonly gate: Version | null;
}

async function claimed({ store, clock, holder }: WebhookOutboxOptions, name: string): Promise<Claim | null> {
  return await decide(store, waitingWebhooksPartition(), {
    reads: [
      { type: "record", key: leaseOf(name) },
      { type: "record", key: gateOf(name) },
      { type: "standing", key: due, member: name },
    ],
    idempotent: true,
    apply([lease, gate, standing]) {
      const now = clock();
      const isHeld = lease !== null && lease.value !== holder;
      if (isHeld || standing === null || standing.score > now) return { writes: [], answer: null };
      const put = { type: "put", key: leaseOf(name), value: holder, expireAt: now + outboxLeaseMs } as const;
      return { writes: [put], answer: { gate: gate?.version ?? null } };
    },
  });
}

interface Release extends Claim {
  readonly name: string;
  /** When the next message is due, Unix ms; null: none waits. */
  readonly next: number | null;
}

/** A webhook to which messages were added meanwhile stays due. */
async function release({ store }: WebhookOutboxOptions, { name, gate, next }: Release): Promise<void> {
  await decide(store, waitingWebhooksPartition(), {
    reads: [
      { type: "record", key: gateOf(name) },
      { type: "standing", key: due, member: name },
    ],
    idempotent: true,
    apply([stored, standing]: readonly [{ readonly version: Version } | null, Standing | null]) {
      const freed = { type: "delete", shape: "record", key: leaseOf(name) } as const;
      if ((stored?.version ?? null) !== gate || standing === null) return { writes: [freed], answer: null };
      if (next !== null) {
        return {
          writes: [freed, { type: "score", op: "set", key: due, member: name, score: next }],
          answer: null,
        };
      }
      const gone = { type: "delete", shape: "record", key: gateOf(name) } as const;
      return { writes: [freed, gone, { type: "unscore", key: due, member: name }], answer: null };
    },
  });
}
