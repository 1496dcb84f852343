/**
 * The client of webhooks: sends one message, unless the service is disabled or left alone.
 *
 * @module
 */

import {
  CircuitBreaker,
  circuitRetryMs,
  WebhookError,
  type WebhookSender,
} from "../../../base/outbound/outbound.ts";
import { Cache } from "../../../storage/background/mod.ts";
import type { WebhookDefinition } from "../config/document.ts";
import { type DeliveryStore, type WebhookAddress, type WebhookDelivery, webhookName } from "./deliveries.ts";
import type { EndpointState, Endpoints } from "./endpoints.ts";
import type { ProgressCache } from "./progress.ts";
import { retryMsMax } from "./schedule.ts";
import type { WebhookServices } from "./services.ts";

/** Outcome of sending a message. */
export type SendResult =
  | { readonly outcome: "delivered" }
  /** To be tried again later. */
  | { readonly outcome: "failed"; readonly reason: string; readonly retryAfterMs: number | null }
  /** Not tried, because the service is left alone until then, Unix ms. */
  | { readonly outcome: "postponed"; readonly until: number }
  /** Not to be tried again. */
  | { readonly outcome: "refused"; readonly reason: string; readonly isTried: boolean };

/** A message and the webhook that it is for. */
export interface SendRequest {
  readonly address: WebhookAddress;
  readonly webhook: WebhookDefinition;
  readonly delivery: WebhookDelivery;
}

/** Sends messages, once each time. */
export type WebhookClient = ReturnType<typeof createWebhookClient>;

/** Services that sending needs. */
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
) {
  const services = new Cache<Service>({ entriesMax: servicesMax });

  /** Each webhook has a service of its own: another organisation that names the same address must not affect it. */
  function serviceOf(address: WebhookAddress, webhook: WebhookDefinition): Service {
    const name = `${webhookName(address)} ${webhook.url}`;
    const service = services.get(name) ?? { breaker: new CircuitBreaker(clock), pausedUntil: 0 };
    services.set(name, service);
    return service;
  }

  async function recordFailure({ address, webhook }: SendRequest, error: unknown): Promise<SendResult> {
    // Other errors may hold addresses: they are for the log alone.
    const { status, retryAfterMs, message: reason } = error instanceof WebhookError ? error : unexplained;
    if (retryAfterMs !== null) {
      serviceOf(address, webhook).pausedUntil = clock() + Math.min(retryAfterMs, retryMsMax);
    }
    const isGone = status === 410;
    const { disabled } = await endpoints.recordFailure(address, webhook.url, { reason, isGone });
    if (disabled !== null) return { outcome: "refused", reason, isTried: true };
    return { outcome: "failed", reason, retryAfterMs };
  }

  return {
    async send(request: SendRequest): Promise<SendResult> {
      const { address, webhook, delivery } = request;
      const { disabled } = await endpoints.cached(address, webhook.url);
      if (disabled !== null) return { outcome: "refused", reason: refusalOf(disabled), isTried: false };
      const service = serviceOf(address, webhook);
      if (clock() < service.pausedUntil) return { outcome: "postponed", until: service.pausedUntil };
      let isTried = false;
      try {
        await service.breaker.run(async () => {
          isTried = true;
          const { id, type, at, data } = delivery;
          const key = keyOf(address.spaceId, webhook.id);
          await sender.send({ url: webhook.url, key, id, type, at, data });
        });
      } catch (error) {
        if (!isTried) return { outcome: "postponed", until: clock() + circuitRetryMs };
        onFailed(webhook.id, error);
        return await recordFailure(request, error);
      }
      await endpoints
        .recordSuccess(address, webhook.url)
        .catch((error: unknown) => onFailed(webhook.id, error));
      return { outcome: "delivered" };
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
