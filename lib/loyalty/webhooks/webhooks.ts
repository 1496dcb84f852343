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
import { createAttempts, type WebhookKeys } from "./attempts.ts";
import { createWebhookDispatch, type WebhookDispatch } from "./dispatch.ts";
import { createEndpoints, type EndpointState } from "./endpoints.ts";
import { createLetters, type LetterCounts, type Letters } from "./letters.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import type { WebhookPlace } from "./places.ts";
import { createProgressMemory, type ProgressMemory } from "./progress.ts";

/** How a webhook does. */
export interface WebhookStatus extends EndpointState {
  readonly letters: LetterCounts;
}

/** What operators see and do of webhooks. */
export interface WebhookOffice {
  status(place: WebhookPlace, webhook: WebhookDefinition): Promise<WebhookStatus>;
  /** Lets a webhook be told again that was disabled. What it missed is among its dead letters. */
  enable(place: WebhookPlace, webhook: WebhookDefinition): Promise<void>;
  readonly deadLetters: Letters["list"];
  /** Sends dead letters again in the background, and says which there were. */
  readonly replay: Outbox["replay"];
}

/** Tells webhooks what happened. */
export interface Webhooks extends Announcer, WebhookOffice, Pick<WebhookDispatch, "enqueue" | "deliver"> {
  /** What is remembered of how much of a user's history each webhook has been told. */
  readonly progress: ProgressMemory;
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
  const letters = createLetters(options);
  const attempts = createAttempts({ ...options, sender, endpoints });
  const progress = createProgressMemory();
  const dispatch = createWebhookDispatch({ ...options, progress, attempts, letters });
  const outbox = createOutbox({ ...options, attempts, letters });
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
      const [state, counts] = await Promise.all([endpoints.look(place, url), letters.counts(place)]);
      return { ...state, letters: counts };
    },
    enable: (place, { url }) => endpoints.enable(place, url),
    deadLetters: letters.list,
    replay: outbox.replay,
  };
}
