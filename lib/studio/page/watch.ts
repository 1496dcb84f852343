/**
 * Watches an event: its elements, live statistics and leaderboards.
 *
 * @module
 */

import type { ViewContext } from "./places.ts";

/** Shows an event until the user leaves. */
export async function watchEvent({ root }: ViewContext): Promise<void> {
  root.replaceChildren();
}
