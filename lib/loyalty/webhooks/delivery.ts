/** Where what is known of webhooks is stored, and what is told of a message. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { keyName, type Partition, platformPartition, tenantPartition } from "../../storage/mod.ts";

/** A webhook of a space. */
export interface WebhookAddress {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly webhookId: string;
}

/** What a webhook is told. */
export interface WebhookDelivery {
  /** The id that the receiver sees. */
  readonly id: string;
  readonly type: string;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** JSON. */
  readonly data: unknown;
}

/** The keys of a webhook's partition. */
export const webhookKeys = {
  /** Record: how the service does. */
  endpoint: "endpoint",
  /** Board: messages that are to be sent, by when. */
  waiting: "waiting",
  /** Board: messages that were given up, by when that was. */
  dead: "dead",
} as const;

/** What is known of one webhook. */
export function webhookPartition({ organisationId, spaceId, webhookId }: WebhookAddress): Partition {
  return tenantPartition({ organisation: organisationId }, "webhook", spaceId, webhookId);
}

/** Where the webhooks are listed that have messages waiting. */
export function waitingWebhooksPartition(): Partition {
  return platformPartition("webhooks_waiting");
}

/** The name of a letter: short, whatever the id of its message holds. */
export function deliveryIdOf(messageId: string): string {
  return `wdl_${bytesToHex(sha256(utf8ToBytes(messageId)).subarray(0, 16))}`;
}

/** The record of a letter. */
export function deliveryKey(letterId: string): string {
  return keyName("letter", letterId);
}

/** A webhook's name on the list of those that have messages waiting. */
export function webhookName({ organisationId, spaceId, webhookId }: WebhookAddress): string {
  return JSON.stringify([organisationId, spaceId, webhookId]);
}

/** The webhook of that name. */
export function webhookOfName(name: string): WebhookAddress {
  const [organisationId = "", spaceId = "", webhookId = ""] = JSON.parse(name) as readonly string[];
  return { organisationId, spaceId, webhookId };
}
