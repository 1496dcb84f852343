/**
 * The webhooks of all spaces: telling them what happened, and what operators see and do of them.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Announcer } from "../../outbound/announcer.ts";
import { WebhookError, type WebhookSender } from "../../outbound/webhook_sender.ts";
import type { Store } from "../../storage/mod.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import { createWebhookClient, type WebhookKeys } from "./client.ts";
import type { WebhookAddress } from "./delivery.ts";
import { createDeliveryStore, type DeliveryCounts, type DeliveryStore } from "./delivery_store.ts";
import { createWebhookDispatcher, type WebhookDispatcher } from "./dispatcher.ts";
import { createEndpoints, type EndpointState } from "./endpoints.ts";
import { createWebhookOutbox, type WebhookOutbox } from "./outbox.ts";
import { createProgressCache, type ProgressCache } from "./progress.ts";

/** How a webhook does. */
export interface WebhookStatus extends EndpointState {
  readonly deliveries: DeliveryCounts;
}

/** What operators see and do of webhooks. */
export interface WebhookAdmin {
  status(place: WebhookAddress, webhook: WebhookDefinition): Promise<WebhookStatus>;
  /** Lets a webhook be told again that was disabled. What it missed is among its dead letters. */
  enable(place: WebhookAddress, webhook: WebhookDefinition): Promise<void>;
  readonly deadLetters: DeliveryStore["list"];
  /** Sends dead letters again in the background, and says which there were. */
  readonly replay: WebhookOutbox["replay"];
}

/** Tells webhooks what happened. */
export interface Webhooks extends Announcer, WebhookAdmin, Pick<WebhookDispatcher, "enqueue" | "deliver"> {
  /** What is remembered of how much of a user's history each webhook has been told. */
  readonly progress: ProgressCache;
  /** Sends again what is due. To be called again and again. */
  work(): Promise<void>;
  /** Resolves when nothing is sent in the background any more. */
  idle(): Promise<void>;
}

/** What webhooks need. */
export interface WebhooksOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Omitted: webhooks are not told anything. */
  readonly sender?: WebhookSender | undefined;
  readonly keyOf: WebhookKeys;
  /** Names this process among those that send. */
  readonly holder: string;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  /** Told of what was not taken; it is sent again later. */
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

const mute: WebhookSender = {
  async send() {
    throw new WebhookError("the platform has no sender of webhooks");
  },
};

/** Creates the webhooks of a process. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const isTold = options.sender !== undefined;
  const sender = options.sender ?? mute;
  const endpoints = createEndpoints(options);
  const letters = createDeliveryStore(options);
  const attempts = createWebhookClient({ ...options, sender, endpoints });
  const progress = createProgressCache();
  const dispatch = createWebhookDispatcher({ ...options, progress, attempts, letters });
  const outbox = createWebhookOutbox({ ...options, attempts, letters });
  return {
    progress,
    enqueue(member) {
      if (isTold) dispatch.enqueue(member);
    },
    deliver: async member => (isTold ? await dispatch.deliver(member) : null),
    async work() {
      dispatch.retry();
      await outbox.work();
    },
    async idle() {
      await Promise.all([dispatch.idle(), outbox.idle()]);
    },
    async announce({ organisationId, spaceId, id, event, at, data }) {
      if (!isTold) return;
      const { webhooks } = await options.config(spaceId);
      for (const webhook of webhooks.filter(({ events }) => events.includes(event))) {
        const place = { organisationId, spaceId, webhookId: webhook.id };
        const messageId = `${spaceId}:${webhook.id}:${id}`;
        await outbox.post(place, { id: messageId, type: `audience.${event}`, at, data });
      }
    },
    async status(place, { url }) {
      const [state, counts] = await Promise.all([endpoints.load(place, url), letters.counts(place)]);
      return { ...state, deliveries: counts };
    },
    enable: (place, { url }) => endpoints.enable(place, url),
    deadLetters: letters.list,
    replay: outbox.replay,
  };
}
