/**
 * The webhooks of all spaces: sending them changes and announcements, and their administration.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Announcer } from "../../outbound/announcer.ts";
import { WebhookError, type WebhookSender } from "../../outbound/webhook_sender.ts";
import type { Store } from "../../storage/mod.ts";
import type { LoyaltyConfig, WebhookDefinition } from "../config/document.ts";
import { createWebhookClient, type WebhookKeys } from "./client.ts";
import {
  createDeliveryStore,
  type DeliveryCounts,
  type DeliveryStore,
  type WebhookAddress,
} from "./deliveries.ts";
import { createWebhookDispatcher, type WebhookDispatcher } from "./dispatcher.ts";
import { createEndpoints, type EndpointState } from "./endpoints.ts";
import { createWebhookOutbox, type WebhookOutbox } from "./outbox.ts";
import { createProgressCache, type ProgressCache } from "./progress.ts";

/** Health of a webhook and its stored messages. */
export interface WebhookStatus extends EndpointState {
  readonly deliveries: DeliveryCounts;
}

/** Administration of webhooks. */
export interface WebhookAdmin {
  /** Returns the health of a webhook. */
  status(address: WebhookAddress, webhook: WebhookDefinition): Promise<WebhookStatus>;
  /** Enables a disabled webhook. Messages that it missed are among its dead letters. */
  enable(address: WebhookAddress, webhook: WebhookDefinition): Promise<void>;
  /** Lists dead letters, newest first. */
  readonly deadLetters: DeliveryStore["listDead"];
  /** Sends dead letters again in the background and returns the ids of those that exist. */
  readonly replay: WebhookOutbox["replay"];
}

/** Sends webhooks what changes for users. */
export interface Webhooks extends Announcer, WebhookAdmin, Pick<WebhookDispatcher, "enqueue" | "deliver"> {
  /** Positions of webhooks in users' histories, as far as this process knows them. */
  readonly progress: ProgressCache;
  /** Retries what is due. Call it repeatedly. */
  work(): Promise<void>;
  /** Resolves when nothing is sent in the background any more. */
  idle(): Promise<void>;
}

/** Services that webhooks need. */
export interface WebhooksOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Omitted: nothing is sent. */
  readonly sender?: WebhookSender | undefined;
  readonly keyOf: WebhookKeys;
  /** Names this process among those that send. */
  readonly holder: string;
  readonly config: (spaceId: string) => LoyaltyConfig | Promise<LoyaltyConfig>;
  /** Receives failures; the messages are sent again later. */
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

const noSender: WebhookSender = {
  async send() {
    throw new WebhookError("the platform has no sender of webhooks");
  },
};

/** Creates the webhooks of a process. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const isEnabled = options.sender !== undefined;
  const sender = options.sender ?? noSender;
  const endpoints = createEndpoints(options);
  const deliveries = createDeliveryStore(options);
  const client = createWebhookClient({ ...options, sender, endpoints });
  const progress = createProgressCache();
  const dispatcher = createWebhookDispatcher({ ...options, progress, client, deliveries });
  const outbox = createWebhookOutbox({ ...options, client, deliveries });
  return {
    progress,
    enqueue(user) {
      if (isEnabled) dispatcher.enqueue(user);
    },
    deliver: async user => (isEnabled ? await dispatcher.deliver(user) : null),
    async work() {
      dispatcher.retry();
      await outbox.work();
    },
    async idle() {
      await Promise.all([dispatcher.idle(), outbox.idle()]);
    },
    async announce({ organisationId, spaceId, id, event, at, data }) {
      if (!isEnabled) return;
      const { webhooks } = await options.config(spaceId);
      for (const webhook of webhooks.filter(({ events }) => events.includes(event))) {
        const address = { organisationId, spaceId, webhookId: webhook.id };
        const messageId = `${spaceId}:${webhook.id}:${id}`;
        await outbox.post(address, { id: messageId, type: `audience.${event}`, at, data });
      }
    },
    async status(address, { url }) {
      const [state, counts] = await Promise.all([endpoints.load(address, url), deliveries.counts(address)]);
      return { ...state, deliveries: counts };
    },
    enable: (address, { url }) => endpoints.enable(address, url),
    deadLetters: deliveries.listDead,
    replay: outbox.replay,
  };
}
