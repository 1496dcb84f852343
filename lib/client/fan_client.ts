/** The client of a fan's app. */

import { type Areas, type Client, createClient } from "./client.ts";
import { FanSession, type SessionOptions } from "./session.ts";

/** Options of a fan's client. */
export interface FanClientOptions<A extends Areas> extends SessionOptions {
  /** The areas that the client has: `{ loyalty, leaderboards }`. */
  readonly areas: A;
}

/** A client with the session of its fan. */
export type FanClient<A extends Areas> = Client<A> & { readonly session: FanSession };

/**
 * Creates a client that signs a fan in and keeps the session. Calls carry its tokens.
 *
 * @throws {TypeError} The address is no URL of http or https.
 * @example
 * ```ts
 * import { createFanClient, loyalty } from "grandstand/client";
 *
 * const fan = createFanClient({
 *   url: "https://api.club.example",
 *   projectId: "0c000000-0000-4000-8000-000000000001",
 *   storage: localStorage,
 *   areas: { loyalty },
 * });
 * if ((await fan.session.user()) === null) await fan.session.register({ provider: "noLogin", username: "Sam" });
 * await fan.loyalty.reportAction({ body: { action: "cheer" } });
 * ```
 */
export function createFanClient<A extends Areas>(options: FanClientOptions<A>): FanClient<A> {
  const session = new FanSession(options);
  return { ...createClient({ ...options, credentials: session }), session };
}
