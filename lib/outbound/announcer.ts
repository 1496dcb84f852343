/**
 * The port through which areas tell the webhooks of a space of something that is no part of a user's history.
 *
 * @module
 */

/** Something to tell. */
export interface Announcement {
  readonly organisationId: string;
  readonly spaceId: string;
  /** The same whenever it is announced again: receivers know a repetition by it. At most 256 characters. */
  readonly id: string;
  /** The name under which webhooks ask for it: `exportCompleted`. The message has the type `audience.<event>`. */
  readonly event: string;
  /** When it happened, Unix ms. */
  readonly at: number;
  /** JSON. It may be stored for weeks and shown to operators, so it holds no secrets. */
  readonly data: unknown;
}

/** Tells webhooks. */
export interface Announcer {
  /**
   * Resolves once the messages are stored: from then on they are sent, and sent again, until the services have taken them or
   * they are dead letters. May be repeated. Nothing happens where no webhook asks for it.
   */
  announce(announcement: Announcement): Promise<void>;
}
