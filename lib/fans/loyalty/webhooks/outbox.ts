/**
 * The outbox: sends stored messages, that is announcements and replayed dead letters.
 *
 * A message is stored first, then its webhook is scheduled in a due queue of the platform. The process that sends holds the webhook
 * under a lease, so that processes do not send the same message at the same time.
 */

import { DueQueue, type DueWork } from "../../../storage/background/due_queue.ts";
import { platformPartition } from "../../../storage/names.ts";
import type { WebhookDefinition } from "../config/document.ts";
import {
  type SendingServices,
  type StoredDelivery,
  type WebhookAddress,
  type WebhookDelivery,
  webhookName,
  webhookOfName,
} from "./deliveries.ts";

/** Time in ms for which a process holds a webhook while it sends its messages. */
const leaseMs = 1_200_000;
/** Time in ms after which a process begins no further page of a webhook's messages. */
const workMsMax = 60_000;
/** Pause in ms after work on a webhook has failed. */
const retryMs = 60_000;
const roundMax = 100;

export function createWebhookOutbox(services: SendingServices) {
  const { store, clock, holder, deliveries, onFailed } = services;
  const partition = platformPartition("webhooks_waiting");
  const queue = new DueQueue({ store, clock, partition, claims: "member", holder, leaseMs });
  const running = new Map<string, Promise<void>>();
  const work: DueWork = {
    handle: name => sendDue(services, webhookOfName(name)),
    onFailed: (name, error) => onFailed(webhookOfName(name).webhookId, error),
    retryMs,
  };

  /** Starts the work on a webhook, once at a time: messages that come meanwhile leave it due. */
  function start(name: string): void {
    if (running.has(name)) return;
    const done = queue
      .process(name, work)
      .catch((error: unknown) => work.onFailed(name, error))
      .finally(() => running.delete(name));
    running.set(name, done);
  }

  async function schedule(address: WebhookAddress): Promise<void> {
    const name = webhookName(address);
    await store.commit(partition, { writes: queue.schedule([name], clock(), "min") });
    start(name);
  }

  return {
    /** Stores a message and sends it in the background. */
    async post(address: WebhookAddress, delivery: WebhookDelivery): Promise<void> {
      await deliveries.queue(address, delivery);
      await schedule(address);
    },
    /** Sends dead letters again in the background and returns the ids of those that exist. */
    async replay(address: WebhookAddress, deliveryIds: readonly string[]): Promise<readonly string[]> {
      const found = await deliveries.replay(address, deliveryIds);
      if (found.length > 0) await schedule(address);
      return found;
    },
    /** Sends due messages of all webhooks in the background. */
    async work(): Promise<void> {
      for (const name of await queue.due(roundMax)) start(name);
    },
    /** Resolves when nothing is sent in the background any more. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

/** Sends the due messages of a webhook and returns when the next one is due. */
async function sendDue(services: SendingServices, address: WebhookAddress): Promise<number | null> {
  const { clock, deliveries } = services;
  const { webhooks } = await services.config(address.spaceId);
  const webhook = webhooks.find(({ id }) => id === address.webhookId);
  const until = clock() + workMsMax;
  while (clock() < until) {
    const found = await deliveries.due(address);
    if (found.length === 0) break;
    for (const delivery of found) await sendOne(services, address, webhook, delivery);
  }
  return await deliveries.nextAt(address);
}

/** Sends a message, then removes it, or defers it if it is to be tried again. A space may have removed its webhook meanwhile. */
async function sendOne(
  { deliveries, client }: SendingServices,
  address: WebhookAddress,
  webhook: WebhookDefinition | undefined,
  delivery: StoredDelivery,
): Promise<void> {
  if (webhook === undefined) return await deliveries.remove(address, delivery.id);
  const attempt = await client.send({ address, webhook, delivery });
  if (attempt === "delivered") return await deliveries.remove(address, delivery.id);
  if (attempt === "dead") return;
  const { retryAt, ...tried } = attempt;
  await deliveries.defer(address, { ...delivery, ...tried }, retryAt);
}
