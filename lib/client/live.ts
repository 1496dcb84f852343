/** Live lists: an event stream (HTML standard, section 9.2) over `fetch`, which reconnects; repeated reads where there are no streams. */

import type { CallOptions } from "./area.ts";
import { type ClientEnvironment, pause } from "./environment.ts";
import { GrandstandError } from "./errors.ts";
import { lines } from "./streams.ts";

/** Pause before a new connection until the server names one, in ms. */
const retryMsDefault = 3_000;
/** Longest pause between connections, in ms. */
const retryMsMax = 30_000;
/** Silence after which a connection counts as lost, in ms: three heartbeats of the server. */
const silenceMsMax = 45_000;
/** Time between two looks whether somebody sees the page, in ms. */
const hiddenMs = 1_000;
/** Time between two reads where there is no stream, in ms. */
const pollMs = 5_000;
/** How many times as long that is while nothing of a page is current. */
const idleFactor = 6;

/** Opens a connection. The header fields and the signal are for this connection. @throws {GrandstandError} */
type OpenStream = (headers: Readonly<Record<string, string>>, signal: AbortSignal) => Promise<Response>;

/** Reads the document that the stream shows. @throws {GrandstandError} */
type ReadDocument = () => Promise<unknown>;

/**
 * Yields the data of events until the signal aborts. Goes on after the last event when the connection is lost, and yields the
 * document as it is read while no connection can be had.
 *
 * @throws {GrandstandError} A connection is refused for good.
 */
export async function* watch(
  { open, read }: { readonly open: OpenStream; readonly read: ReadDocument },
  environment: ClientEnvironment,
  { signal, onLost }: Pick<CallOptions, "signal" | "onLost">,
): AsyncGenerator<unknown> {
  let lastId = "";
  let retryMs = retryMsDefault;
  const isAborted = (): boolean => signal?.aborted === true;
  const { document } = globalThis as Partial<typeof globalThis>;
  for (let failures = 0; !isAborted(); failures++) {
    await seen(environment, signal);
    if (isAborted()) return;
    let retryAfterMs = 0;
    let cause: unknown;
    const connection = new AbortController();
    const close = (): void => connection.abort();
    const leave = (): void => void (isHidden() && close());
    signal?.addEventListener("abort", close);
    // A browser has six connections of HTTP/1.1 to a server, for all of its tabs.
    document?.addEventListener("visibilitychange", leave);
    let cancel = (): void => {};
    const listen = (): void => {
      cancel();
      cancel = environment.timer(close, silenceMsMax);
    };
    try {
      const response = await open(lastId === "" ? {} : { "last-event-id": lastId }, connection.signal);
      listen();
      let data = "";
      for await (const line of lines(response)) {
        listen();
        const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        if (field === "data") data += value;
        else if (field === "id") lastId = value;
        else if (field === "retry" && /^\d+$/.test(value)) retryMs = Number(value);
        else if (line === "" && data !== "") {
          const event = parsed(data);
          data = "";
          failures = 0;
          // Nobody listens while the caller works on an event.
          cancel();
          yield event;
          listen();
        }
      }
    } catch (error) {
      if (isAborted()) return;
      if (error instanceof GrandstandError && !error.retryable && !connection.signal.aborted) throw error;
      if (error instanceof GrandstandError) ({ retryAfterMs } = error);
      cause = error;
    } finally {
      cancel();
      signal?.removeEventListener("abort", close);
      document?.removeEventListener("visibilitychange", leave);
      close();
    }
    if (isAborted()) return;
    if (isHidden()) continue;
    let left = retryAfterMs + reconnectMs(environment, retryMs, failures);
    onLost?.({ cause, retryMs: left });
    do {
      const waits = Math.min(left, pollPauseMs(environment));
      await pause(environment, waits, signal);
      left -= waits;
      if (left > 0 && !isAborted() && !isHidden()) yield* readOnce(read);
    } while (left > 0 && !isAborted());
  }
}

/**
 * Returns the pause before a new connection. All listeners of a server lose it in the same moment: it has named each another pause,
 * of which half is left to chance.
 */
function reconnectMs({ random }: ClientEnvironment, retryMs: number, failures: number): number {
  return Math.min(retryMs * 2 ** Math.max(failures - 1, 0), retryMsMax) * (0.5 + 0.5 * random());
}

function pollPauseMs({ random }: ClientEnvironment): number {
  return pollMs * (0.8 + 0.4 * random());
}

/** Tests if a document, whose JSON is given too, is a page of events on which nothing is current. */
function isIdle(document: unknown, text: string): boolean {
  const page = Object(document);
  return ("livestats" in page || "listings" in page) && !text.includes('"state":"current"');
}

/** Yields the document; nothing if it cannot be read. */
async function* readOnce(read: ReadDocument): AsyncGenerator<unknown> {
  const found = await read().catch((error: unknown) => {
    if (!(error instanceof GrandstandError)) throw error;
  });
  if (found !== undefined) yield found;
}

/** Resolves as soon as somebody sees the page, or the signal aborts. */
async function seen(environment: ClientEnvironment, signal: AbortSignal | undefined): Promise<void> {
  while (isHidden() && signal?.aborted !== true) await pause(environment, hiddenMs, signal);
}

function isHidden(): boolean {
  return (globalThis as Partial<typeof globalThis>).document?.hidden === true;
}

interface Items {
  readonly [name: string]: unknown;
}

export async function* documents(events: AsyncIterable<unknown>): AsyncGenerator<unknown> {
  let document: unknown = {};
  for await (const event of events) {
    document = changed(document, event);
    yield document;
  }
}

/** Applies an event to a document: it has the members that changed, and a feed with `removed` the items that did. */
function changed(document: unknown, event: unknown): unknown {
  const next = { ...(document as Record<string, unknown>) };
  for (const [name, member] of Object.entries(event as Record<string, unknown>)) {
    if (typeof member !== "object") next[name] = member;
    else {
      const last = next[name] as Items | undefined;
      const { removed, ...given } = member as Items;
      // A board may have the name "removed".
      const isChange = Array.isArray(removed);
      next[name] = { ...last, ...(isChange ? withItems(last, given, removed) : (member as Items)) };
    }
  }
  return next;
}

interface Item {
  readonly id: string;
}

/** Completes the lists of a change. */
function withItems(last: Items | undefined, given: Items, removed: readonly string[]): Items {
  return Object.fromEntries(
    Object.entries(given).map(([name, changes]) => {
      if (!Array.isArray(changes)) return [name, changes];
      const items = changes as readonly Item[];
      const byId = new Map(items.map(item => [item.id, item]));
      const kept = ((last?.[name] ?? []) as Item[]).filter(({ id }) => !removed.includes(id));
      const ids = new Set(kept.map(({ id }) => id));
      return [
        name,
        [...kept.map(item => byId.get(item.id) ?? item), ...items.filter(({ id }) => !ids.has(id))],
      ];
    }),
  );
}

/** Yields a document now and whenever a later read differs, until the signal aborts. @throws {GrandstandError} A read is refused for good. */
export async function* poll(
  read: ReadDocument,
  environment: ClientEnvironment,
  { signal, onLost }: Pick<CallOptions, "signal" | "onLost">,
): AsyncGenerator<unknown> {
  const isAborted = (): boolean => signal?.aborted === true;
  for (let last = ""; !isAborted(); ) {
    await seen(environment, signal);
    if (isAborted()) return;
    let waits = pollPauseMs(environment);
    try {
      const document = await read();
      const text = JSON.stringify(document);
      if (text !== last) yield document;
      last = text;
      if (isIdle(document, text)) waits *= idleFactor;
    } catch (error) {
      if (isAborted()) return;
      if (!(error instanceof GrandstandError && error.retryable)) throw error;
      waits = Math.max(waits, error.retryAfterMs);
      onLost?.({ cause: error, retryMs: waits });
    }
    await pause(environment, waits, signal);
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new GrandstandError("bad_answer", "An event of the stream is no JSON", { cause, retryable: true });
  }
}
