/** Where other authors of a project are, and what they change: one stream for all views of the page. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { systemRandom, uuid } from "../../../auth/crypto/mod.ts";
import { GrandstandError, type LiveAuthoring } from "../../../client/mod.ts";
import type { Api } from "./api.ts";
import { repeat } from "./problem.ts";

/** Time between two words about where the user is, in ms. The platform forgets after 30 s. */
const presenceMs = 10_000;
/** Least pause before a stream that ended is opened again, in ms. */
const againMs = 2_000;

interface Followed {
  readonly live: ReadonlySignal<LiveAuthoring | null>;
  readonly leave: AbortController;
  users: number;
}

const followed = new Map<string, Followed>();

/** Follows a project until the signal aborts. Null: nothing was heard yet. */
export function followAuthoring(
  api: Api,
  projectId: string,
  until: AbortSignal,
): ReadonlySignal<LiveAuthoring | null> {
  const stream = followed.get(projectId) ?? openStream(api, projectId);
  followed.set(projectId, stream);
  stream.users += 1;
  until.addEventListener("abort", () => {
    stream.users -= 1;
    if (stream.users > 0) return;
    stream.leave.abort();
    if (followed.get(projectId) === stream) followed.delete(projectId);
  });
  return stream.live;
}

function openStream(api: Api, projectId: string): Followed {
  const live = signal<LiveAuthoring | null>(null);
  const leave = new AbortController();
  async function read(): Promise<void> {
    for await (const document of api.control.watchAuthoring({ projectId }, { signal: leave.signal })) {
      live.value = document;
    }
  }
  repeat(read, { everyMs: againMs, signal: leave.signal, report: () => {} });
  return { live, leave, users: 0 };
}

/** Where a window of the user is, in words that the studio's views agree on, such as `events/<id>/run`. */
export interface Whereabouts {
  readonly place: string;
  readonly field: string | null;
}

/** Shows the user to other authors until the signal aborts. Returns a function that says where the user is now; `id` is that of the window. */
export function keepPresence(
  api: Api,
  projectId: string,
  until: AbortSignal,
): { readonly id: string; readonly say: (where: Whereabouts) => void } {
  const id = uuid(systemRandom);
  let where: Whereabouts | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function put(attributes: { readonly place: string | null; readonly field?: string | null }) {
    const data = { type: "presences", id, attributes } as const;
    await api.control.setPresence({ projectId, body: { data } });
  }
  function repeatPut(): void {
    clearTimeout(timer);
    if (where === null || until.aborted) return;
    put(where).catch((error: unknown) => {
      // A token of a tool has no person to show.
      if (error instanceof GrandstandError && error.status === 403) where = null;
    });
    timer = setTimeout(repeatPut, presenceMs);
  }
  until.addEventListener("abort", () => {
    clearTimeout(timer);
    if (where !== null) put({ place: null }).catch(() => {});
  });
  return {
    id,
    say(next) {
      if (where?.place === next.place && where.field === next.field) return;
      where = next;
      repeatPut();
    },
  };
}
