import type { Clock, Keys } from "../../../auth/mod.ts";
import type { WebhookSender } from "../../../base/outbound/outbound.ts";
import type { Store } from "../../../storage/mod.ts";
import type { LoyaltyConfig } from "../config/document.ts";

/** Finds the keys that sign the messages of a webhook, the one that receivers are told first. */
export type WebhookKeys = (spaceId: string, webhookId: string) => Keys;

export interface WebhookServices {
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
