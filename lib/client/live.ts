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
/** Time between two reads of a list without streams, in ms. */
const pollMs = 5_000;

/** Opens a connection. The header fields and the signal are for this connection. @throws {GrandstandError} */
export type OpenStream = (
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Response>;

/**
 * Yields the data of events until the signal aborts. Goes on after the last event when the connection is lost.
 *
 * @throws {GrandstandError} A connection is refused for good.
 */
export async function* watch(
  open: OpenStream,
  environment: ClientEnvironment,
  { signal, onLost }: Pick<CallOptions, "signal" | "onLost">,
): AsyncGenerator<unknown> {
  let lastId = "";
  let retryMs = retryMsDefault;
  const isAborted = (): boolean => signal?.aborted === true;
  const { document } = globalThis as Partial<typeof globalThis>;
  for (let failures = 0; !isAborted(); failures++) {
    while (document?.hidden === true && !isAborted()) await pause(environment, hiddenMs, signal);
    if (isAborted()) return;
    const connection = new AbortController();
    const close = (): void => connection.abort();
    const leave = (): void => void (document?.hidden === true && close());
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
      if (error instanceof GrandstandError) retryMs = Math.max(retryMs, error.retryAfterMs);
    } finally {
      cancel();
      signal?.removeEventListener("abort", close);
      document?.removeEventListener("visibilitychange", leave);
      close();
    }
    if (isAborted()) return;
    if (document?.hidden === true) continue;
    onLost?.();
    const waits = Math.min(retryMs * 2 ** Math.max(failures - 1, 0), retryMsMax);
    await pause(environment, waits * (0.5 + environment.random() / 2), signal);
  }
}

/** Yields a document now and whenever a later read differs, until the signal aborts. @throws {GrandstandError} A read is refused for good. */
export async function* poll(
  read: () => Promise<unknown>,
  environment: ClientEnvironment,
  { signal, onLost }: Pick<CallOptions, "signal" | "onLost">,
): AsyncGenerator<unknown> {
  const isAborted = (): boolean => signal?.aborted === true;
  for (let last = ""; !isAborted(); ) {
    let waits = pollMs;
    try {
      const document = await read();
      const text = JSON.stringify(document);
      if (text !== last) yield document;
      last = text;
    } catch (error) {
      if (isAborted()) return;
      if (!(error instanceof GrandstandError && error.retryable)) throw error;
      waits = Math.max(waits, error.retryAfterMs);
      onLost?.();
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
