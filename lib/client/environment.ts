/** Time, chance and the network, as a client gets them. */

/** The environment of a client. */
export interface ClientEnvironment {
  /** Sends requests. @default the global `fetch` */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Unix ms. It may be wrong: only differences count. @default Date.now */
  readonly clock: () => number;
  /** Runs a task after `ms` and returns a function that cancels it. @default setTimeout */
  readonly timer: (task: () => void, ms: number) => () => void;
  /** Returns a number from 0 up to 1, for pauses. @default Math.random */
  readonly random: () => number;
  /** Returns a new unique id, for idempotency keys, action ids and devices. @default a UUID by `crypto`, or by `random` without one */
  readonly uniqueId: () => string;
}

export function environmentOf(given: Partial<ClientEnvironment>): ClientEnvironment {
  const { random = Math.random } = given;
  return {
    fetch: given.fetch ?? ((url, init) => fetch(url, init)),
    clock: given.clock ?? Date.now,
    timer: given.timer ?? startTimer,
    random,
    uniqueId: given.uniqueId ?? (() => newUuid(random)),
  };
}

/** React Native's own `fetch` answers at the end of a stream, which never comes. */
export function canStream({ fetch }: Partial<ClientEnvironment>): boolean {
  const { Response, ReadableStream } = globalThis as Partial<typeof globalThis>;
  return ReadableStream !== undefined && (fetch !== undefined || "body" in (Response?.prototype ?? {}));
}

function startTimer(task: () => void, ms: number): () => void {
  const timer = setTimeout(task, ms);
  return () => clearTimeout(timer);
}

/** Browsers have `crypto.randomUUID` on secure pages alone, and React Native has no `crypto`. */
function newUuid(random: () => number): string {
  const { crypto } = globalThis as { readonly crypto?: Partial<Crypto> };
  if (crypto?.randomUUID !== undefined) return crypto.randomUUID();
  const bytes = new Uint8Array(16).map(() => random() * 256);
  crypto?.getRandomValues?.(bytes);
  const hex = [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, "$1-$2-4$3-8$4-$5");
}

/** Resolves after `ms`, or as soon as the signal aborts or the browser is online again. */
export function pause(
  { timer }: Pick<ClientEnvironment, "timer">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted === true) return resolve();
    // React Native has a window that knows no events.
    const { window } = globalThis as Partial<typeof globalThis>;
    const end = (): void => {
      cancel();
      window?.removeEventListener?.("online", end);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = timer(end, ms);
    signal?.addEventListener("abort", end);
    window?.addEventListener?.("online", end);
  });
}
