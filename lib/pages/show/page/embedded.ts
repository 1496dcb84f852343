/** The page in a frame of `<grandstand-show>`: it tells its height and what the fan does, and signs in whom the host names. */

import { effect } from "@preact/signals";
import { GrandstandError } from "../../../client/mod.ts";
import type { Show } from "./show.ts";
import type { CountedVote } from "./votes.ts";

/** What the element sends to open the channel, with a port. */
export type Hello = "grandstand:host";
const hello: Hello = "grandstand:host";

/** What the element says: the ID token of the host's user; null where nobody is signed in there. */
export interface ToShow {
  readonly token: string | null;
}

/** What the page says: its height in CSS pixels, or an event for the host. */
export type ToHost =
  | { readonly height: number }
  /** The fan asks for the top of the page. */
  | { readonly top: true }
  | { readonly type: "vote"; readonly detail: CountedVote }
  | { readonly type: "points"; readonly detail: PointsDetail }
  /** The token signed nobody in. */
  | { readonly type: "refused"; readonly detail: { readonly code: string } };

type Points = Readonly<Record<string, number>>;

interface PointsDetail {
  /** Balances by the ids of the metrics. */
  readonly points: Points;
  /** What has changed since the event before; empty at first. */
  readonly change: Points;
}

/** Provider of the users of an issuer that the project trusts. */
const provider = "hostedIdp";
/** Time between two measures of the visible part, in ms: as much of a long page is visible wherever its host scrolls. */
const measureMs = 500;

/**
 * Resolves with the channel that the host opens; never in a window of its own. The parent must be of an origin that the project allows.
 * Listens at once: the host speaks when the page has loaded.
 */
export function hostPort(origins: readonly string[]): Promise<MessagePort> {
  return new Promise(resolve => {
    if (parent === window) return;
    addEventListener("message", ({ source, origin, data, ports: [port] }) => {
      const isAllowed = origin === location.origin || origins.includes(origin);
      if (source === parent && isAllowed && data === hello && port !== undefined) resolve(port);
    });
  });
}

/** Serves the host for as long as the page is open. */
export function serveHost(show: Show, port: MessagePort): void {
  const send = (message: ToHost): void => port.postMessage(message);
  followHeight(height => send({ height }));
  show.ups.subscribe(ups => ups > 0 && send({ top: true }));
  effect(() => {
    const { value: detail } = show.counted;
    if (detail !== null) send({ type: "vote", detail });
  });
  let before: Points | null = null;
  effect(() => {
    const { value: points } = show.points;
    const known = before;
    before = points;
    if (points === null || JSON.stringify(points) === JSON.stringify(known)) return;
    const change = known === null ? {} : changesOf(known, points);
    send({ type: "points", detail: { points, change } });
  });
  let last = Promise.resolve();
  port.onmessage = ({ data }: MessageEvent<ToShow>) => {
    const refuse = (error: unknown): void => {
      const code = error instanceof GrandstandError ? error.code : "bad_answer";
      send({ type: "refused", detail: { code } });
    };
    last = last.then(() => signInBy(show, data.token)).catch(refuse);
    show.admit(last);
  };
}

function changesOf(before: Points, after: Points): Points {
  const changes = Object.entries(after).map(([id, value]) => [id, value - (before[id] ?? 0)] as const);
  return Object.fromEntries(changes.filter(([, change]) => change !== 0));
}

/** Tells the height of the page, and keeps notices and dialogs in its visible part. */
function followHeight(tell: (height: number) => void): void {
  const page = document.getElementById("page");
  if (page === null) return;
  const { dataset, style } = document.documentElement;
  dataset.embedded = "";
  new ResizeObserver(() => tell(Math.ceil(page.getBoundingClientRect().height))).observe(page);
  const watcher = new IntersectionObserver(entries => {
    const { boundingClientRect: whole, intersectionRect: visible } = entries.at(-1) ?? {};
    watcher.disconnect();
    if (whole === undefined || visible === undefined || visible.height === 0) return;
    style.setProperty("--above", `${visible.top - whole.top}px`);
    style.setProperty("--below", `${whole.bottom - visible.bottom}px`);
  });
  watcher.observe(page);
  // An observer tells of an element as soon as it has it.
  setInterval(() => watcher.observe(page), measureMs);
}

/** Makes the fan the user of the host's token. Nobody stays signed in by a token that the host no longer gives, or that is refused. */
async function signInBy({ client: { session } }: Show, token: string | null): Promise<void> {
  try {
    if (token === null) return await leave();
    // What a guest of this device has goes over to the user.
    await session.logIn({ provider, token });
  } catch (error) {
    await leave();
    throw error;
  }

  async function leave(): Promise<void> {
    // The session ends on this device also where the server cannot be asked.
    if ((await session.user())?.provider === provider) await session.logOut().catch(() => {});
  }
}
