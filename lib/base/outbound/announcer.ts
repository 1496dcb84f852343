/**
 * Port for webhook events that are not part of a user's history.
 *
 * @module
 */

/** An event for the webhooks of a space. */
export interface Announcement {
  readonly organisationId: string;
  readonly spaceId: string;
  /** Identifies the event in every retry, so that receivers can ignore duplicates. At most 256 characters. */
  readonly id: string;
  readonly area: "audience" | "loyalty";
  /** The name that webhooks subscribe to: `exportCompleted`. The message has the type `<area>.<event>`. */
  readonly event: string;
  /** Time of the event, Unix ms. */
  readonly at: number;
  /** JSON without secrets: it may be stored for weeks and shown to operators. */
  readonly data: unknown;
}

/** Sends events to webhooks. */
export interface Announcer {
  /**
   * Resolves once the deliveries are stored. They are retried until the receivers accept them or they become dead letters.
   * May be repeated. Does nothing if no webhook subscribes to the event.
   */
  announce(announcement: Announcement): Promise<void>;
}
