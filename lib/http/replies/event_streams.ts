/**
 * Answers to those who ask for server-sent events (HTML standard, section 9.2).
 *
 * The `EventSource` of a browser gives up for good after any status but 200, and comes back after a stream that ends.
 *
 * @module
 */

/** Media type of server-sent events. */
export const eventStreamType = "text/event-stream";

/** Header fields of a stream of events. */
export const eventStreamHeaders = {
  "content-type": eventStreamType,
  // A proxy or middleware that compresses would keep events until it has enough of them.
  "cache-control": "no-store, no-transform",
  // Keeps proxies from buffering the stream.
  "x-accel-buffering": "no",
} as const;

type Field = string | null | undefined;

/** Returns true if a request with this `Accept` accepts event streams and not JSON. */
export function acceptsEvents(accept: Field): boolean {
  const accepted = accept?.toLowerCase();
  if (accepted?.includes(eventStreamType) !== true) return false;
  const types = accepted.split(",").map(part => part.split(";", 1)[0]?.trim());
  return types.includes(eventStreamType) && !types.includes("application/json");
}

/** Returns true if an `EventSource` sent the request: it asks caches for nothing, as its standard demands. */
export function isEventSource(accept: Field, cacheControl: Field): boolean {
  return acceptsEvents(accept) && cacheControl?.toLowerCase().includes("no-cache") === true;
}

/** Builds the whole of a stream after which an `EventSource` comes back in `ms`. */
export function emptyEventStream(ms: number): {
  readonly status: 200;
  readonly headers: Record<string, string>;
  readonly text: string;
} {
  // Of whatever page: there is nothing in it, and without the field the browser gives up.
  const headers = { ...eventStreamHeaders, "access-control-allow-origin": "*" };
  return { status: 200, headers, text: `retry: ${ms}\n\n` };
}
