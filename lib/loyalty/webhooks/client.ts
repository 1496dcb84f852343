/**
 * One attempt to tell a service something.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { CircuitBreaker, circuitRetryMs } from "../../outbound/circuit_breaker.ts";
import { WebhookError, type WebhookSender } from "../../outbound/webhook_sender.ts";
import { BoundedCache } from "../../storage/mod.ts";
import type { WebhookDefinition } from "../config/document.ts";
import { type WebhookAddress, type WebhookDelivery, webhookName } from "./delivery.ts";
import type { EndpointState, Endpoints } from "./endpoints.ts";
import { webhookRetryMsMax } from "./schedule.ts";

/** Number of services that a process remembers; the one that was told nothing for longest is forgotten first. */
export const webhookServicesMax = 10_000;

/** Finds the bytes that a webhook's messages are signed with. */
export type WebhookKeys = (spaceId: string, webhookId: string) => Uint8Array;

/** What came of an attempt. */
export type SendResult =
  | { readonly outcome: "taken" }
  /** To be tried again later. */
  | { readonly outcome: "failed"; readonly reason: string; readonly retryAfterMs: number | null }
  /** Not tried, because the service is left alone until then, Unix ms. */
  | { readonly outcome: "postponed"; readonly until: number }
  /** Not to be tried again. */
  | { readonly outcome: "refused"; readonly reason: string; readonly isTried: boolean };

/** What is sent where. */
export interface SendRequest {
  readonly address: WebhookAddress;
  readonly webhook: WebhookDefinition;
  readonly delivery: WebhookDelivery;
}

/** Tells services something, once each time. */
export interface WebhookClient {
  send(delivery: SendRequest): Promise<SendResult>;
}

/** What attempts need. */
export interface WebhookClientOptions {
  readonly clock: Clock;
  readonly sender: WebhookSender;
  readonly keyOf: WebhookKeys;
  readonly endpoints: Endpoints;
  /** Told of a message that was not taken. */
  readonly onFailed: (webhookId: string, error: unknown) => void;
}

/**
 * Creates the attempts of a process. A service that fails again and again is left alone for some seconds, one that asks for it
 * as long as it says.
 */
export function createWebhookClient(options: WebhookClientOptions): WebhookClient {
  const { clock, endpoints, onFailed } = options;
  const services = new BoundedCache<Service>(webhookServicesMax);

  /** Each webhook has a service of its own: whoever else names its address must not decide when it is told. */
  function serviceOf({ address: place, webhook }: SendRequest): Service {
    const name = `${webhookName(place)} ${webhook.url}`;
    const service = services.get(name) ?? { breaker: new CircuitBreaker(clock), heldUntil: 0 };
    services.set(name, service);
    return service;
  }

  return {
    async send(delivery) {
      const { address: place, webhook } = delivery;
      const { disabled } = await endpoints.cached(place, webhook.url);
      if (disabled !== null) return { outcome: "refused", reason: refusalOf(disabled), isTried: false };
      const service = serviceOf(delivery);
      if (clock() < service.heldUntil) return { outcome: "postponed", until: service.heldUntil };
      let isAsked = false;
      try {
        await service.breaker.run(async () => {
          isAsked = true;
          await post(options, delivery);
        });
      } catch (error) {
        if (!isAsked) return { outcome: "postponed", until: clock() + circuitRetryMs };
        onFailed(webhook.id, error);
        return await failed(options, { delivery, service, error });
      }
      await endpoints
        .recordSuccess(place, webhook.url)
        .catch((error: unknown) => onFailed(webhook.id, error));
      return { outcome: "taken" };
    },
  };
}

/** What a process remembers of a service. */
interface Service {
  readonly breaker: CircuitBreaker;
  /** Unix ms. */
  heldUntil: number;
}

async function post(
  { sender, keyOf }: WebhookClientOptions,
  { address: place, webhook, delivery: letter }: SendRequest,
): Promise<void> {
  const { id, type, at, data } = letter;
  await sender.send({ url: webhook.url, key: keyOf(place.spaceId, webhook.id), id, type, at, data });
}

const unexplained: Pick<WebhookError, "status" | "retryAfterMs" | "message"> = new WebhookError(
  "the reason is in the log",
);

interface Failure {
  readonly delivery: SendRequest;
  readonly service: Service;
  readonly error: unknown;
}

async function failed(
  { clock, endpoints }: WebhookClientOptions,
  { delivery: { address: place, webhook }, service, error }: Failure,
): Promise<SendResult> {
  // What others throw may hold addresses: it is for the log alone.
  const { status, retryAfterMs, message: reason } = error instanceof WebhookError ? error : unexplained;
  if (retryAfterMs !== null) service.heldUntil = clock() + Math.min(retryAfterMs, webhookRetryMsMax);
  const { disabled } = await endpoints.recordFailure(place, webhook.url, { reason, isGone: status === 410 });
  if (disabled !== null) return { outcome: "refused", reason, isTried: true };
  return { outcome: "failed", reason, retryAfterMs };
}

function refusalOf({ reason }: NonNullable<EndpointState["disabled"]>): string {
  const why = reason === "gone" ? "it answered 410" : "it took nothing for days";
  return `Cannot deliver the webhook: the service is disabled because ${why}`;
}
