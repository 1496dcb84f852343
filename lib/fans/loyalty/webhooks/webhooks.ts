/** The webhooks of all spaces: sending them changes and announcements, and their administration. */

import type { Announcer } from "../../../base/outbound/outbound.ts";
import type { WebhookDefinition } from "../config/document.ts";
import type { SpaceUser } from "../user/state.ts";
import {
  createDeliveryStore,
  createEndpoints,
  createWebhookClient,
  type WebhookAddress,
} from "./deliveries.ts";
import { createWebhookDispatcher } from "./dispatcher.ts";
import { createWebhookOutbox } from "./outbox.ts";
import { createProgressCache } from "./progress.ts";
import type { WebhookServices } from "./services.ts";

/** Sends webhooks what changes for users, and administers them. */
export type Webhooks = ReturnType<typeof createWebhooks>;

export type WebhookAdmin = Pick<Webhooks, "status" | "enable" | "deadLetters" | "replay">;

export type WebhookStatus = Awaited<ReturnType<Webhooks["status"]>>;

export function createWebhooks(services: WebhookServices) {
  const isEnabled = services.sender !== undefined;
  const endpoints = createEndpoints(services);
  const deliveries = createDeliveryStore(services);
  const client = createWebhookClient(services, endpoints, deliveries);
  const progress = createProgressCache();
  const sending = { ...services, client, deliveries, progress };
  const dispatcher = createWebhookDispatcher(sending);
  const outbox = createWebhookOutbox(sending);
  return {
    /** Positions of webhooks in users' histories, as far as this process knows them. */
    progress,
    enqueue(user: SpaceUser): void {
      if (isEnabled) dispatcher.enqueue(user);
    },
    /** Sends a user's changes now and returns when to retry what was not taken, in Unix ms; null: nothing is left. */
    deliver: async (user: SpaceUser): Promise<number | null> =>
      isEnabled ? await dispatcher.deliver(user) : null,
    async work(): Promise<void> {
      dispatcher.retry();
      await outbox.work();
    },
    /** Resolves when nothing is sent in the background any more. */
    async idle(): Promise<void> {
      await Promise.all([dispatcher.idle(), outbox.idle()]);
    },
    async announce(announcement: Parameters<Announcer["announce"]>[0]): Promise<void> {
      const { organisationId, spaceId, area, id, event, at, data } = announcement;
      if (!isEnabled) return;
      const { webhooks } = await services.config(spaceId);
      for (const webhook of webhooks.filter(({ events }) => events.includes(event))) {
        const address = { organisationId, spaceId, webhookId: webhook.id };
        const messageId = `${spaceId}:${webhook.id}:${id}`;
        await outbox.post(address, { id: messageId, type: `${area}.${event}`, at, data });
      }
    },
    /** Returns the health of a webhook, and the numbers of its stored messages. */
    async status(address: WebhookAddress, { url }: WebhookDefinition) {
      const [state, counts] = await Promise.all([endpoints.load(address, url), deliveries.counts(address)]);
      return { ...state, deliveries: counts };
    },
    /** Enables a disabled webhook. Messages that it missed are among its dead letters. */
    enable: (address: WebhookAddress, { url }: WebhookDefinition) => endpoints.enable(address, url),
    deadLetters: deliveries.listDead,
    replay: outbox.replay,
  };
}
