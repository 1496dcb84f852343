/** Leaderboards that move: each is an event stream, whose rows slide to their new places. */

import { type Resource, type ScopeType, textOf } from "./api.ts";
import { drawBar, drawLine } from "./charts.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";
import type { ViewContext } from "./places.ts";

interface Entry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
  readonly publicProfile: { readonly username: string };
}

/** Rows of a board; more are not read. */
const rowsMax = 100;
/** Height of a row, in pixels, as in the style. */
const rowHeight = 40;
/** Time over which climbs and falls are shown, in ms. */
const windowMs = 60_000;
/** Longest time between two places from which a row slides, in ms. */
const slideMsMax = 5_000;
/** Time after which a refused stream is opened again, in ms. */
const reopenMs = 10_000;

const numbers = new Intl.NumberFormat();

/** Shows the boards of the event or project of a place, one at a time. Hidden boards are left out. */
export async function showBoards(context: ViewContext): Promise<void> {
  const { api, root, signal } = context;
  const boards = await boardsOf(context);
  const note = el("p", { class: "quiet", role: "status" });
  const list = el("ol", { class: "board" });
  let leave = new AbortController();
  function open(): void {
    leave.abort();
    leave = new AbortController();
    const ended = AbortSignal.any([signal, leave.signal]);
    list.replaceChildren();
    listen(`${api.base}${select.value}?limit=${rowsMax}`, note, list, ended);
  }
  const options = [...boards].map(([path, name]) => el("option", { value: path }, name));
  const select = el("select", { "aria-label": "Leaderboard", on: { change: open } }, ...options);
  root.replaceChildren(el("div", { class: "row spread" }, el("h2", {}, "Leaderboard"), select), note, list);
  open();
}

/** Returns the names of boards by path. */
async function boardsOf({ api, chain, signal }: ViewContext): Promise<ReadonlyMap<string, string>> {
  const [project, event] = chain.slice(chain.findIndex(({ type }) => type === "projects"));
  const servicesOf = async ({ type, id }: Resource): Promise<Readonly<Record<string, unknown>>> => {
    const { data } = await api.scope(type as ScopeType, id, { [`fields[${type}]`]: "services" }, signal);
    return (data.attributes.services ?? {}) as Record<string, unknown>;
  };
  if (project === undefined) return new Map();
  const own = await servicesOf(project);
  const of = (path: string, names: readonly string[], suffix = ""): (readonly [string, string])[] =>
    names.map(name => [`${path}/leaderboards/${name}`, name + suffix]);
  const path = `/projects/${project.id}`;
  const ofProject = namesIn(own.leaderboards, "overall");
  if (event === undefined) return new Map(of(path, ofProject));
  const { leaderboards } = await servicesOf(event);
  const ofEvent = [...namesIn(leaderboards), ...namesIn(own.eventLeaderboards), "overall"];
  const eventPath = `${path}/events/${event.id}`;
  return new Map([...of(eventPath, ofEvent), ...of(path, ofProject, ` (${textOf(project, "name")})`)]);
}

function namesIn(section: unknown, ...fallback: readonly string[]): readonly string[] {
  if (!Array.isArray(section)) return fallback;
  const boards = section as readonly { readonly id: string; readonly visibility?: string }[];
  return boards.filter(({ visibility }) => visibility !== "hidden").map(({ id }) => id);
}

/** Listens to a board while the page is seen. */
function listen(address: string, note: HTMLElement, list: HTMLElement, signal: AbortSignal): void {
  const show = rowsIn(list);
  let source: EventSource | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  function close(): void {
    clearTimeout(timer);
    source?.close();
  }
  function open(): void {
    close();
    if (document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("leaderboard", ({ data }: MessageEvent<string>) => {
      const board = JSON.parse(data) as { readonly data: readonly Entry[]; readonly totalCount: number };
      const [shown, all] = [board.data.length, board.totalCount].map(count => numbers.format(count));
      setText(note, board.totalCount === 0 ? "Nobody is on the board yet." : `The first ${shown} of ${all}`);
      show(board.data);
    });
    source.addEventListener("error", () => {
      const isRefused = source?.readyState === EventSource.CLOSED;
      setText(note, isRefused ? "The board cannot be shown now." : "Not up to date: the connection is lost.");
      if (isRefused) timer = setTimeout(open, reopenMs);
    });
  }
  setText(note, "Loading…");
  document.addEventListener("visibilitychange", open, { signal });
  signal.addEventListener("abort", close);
  open();
}

function rowsIn(list: HTMLElement): (entries: readonly Entry[]) => void {
  let best = 0;
  const show = keyedList<Entry>(list, { key: ({ userId }) => userId, create: () => createRow(() => best) });
  return entries => {
    best = entries[0]?.score ?? 0;
    show(entries);
  };
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");
/** Rank 1 is at the top of the drawing. */
const bounds = (ranks: readonly number[]) => [Math.max(...ranks), Math.min(...ranks)] as const;

function createRow(best: () => number): Row<Entry> {
  const rank = el("span", { class: "rank" });
  const name = el("span", { class: "name" });
  const score = el("span", { class: "score" });
  const change = el("span", { class: "change" });
  const bar = drawBar();
  const ranks = drawLine(windowMs, 16, bounds);
  const element = el("li", {}, rank, name, bar.element, ranks.element, change, score);
  let place = 0;
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    element,
    show(entry, index) {
      setText(rank, numbers.format(entry.rank));
      setText(name, entry.publicProfile.username || entry.userId);
      setText(score, numbers.format(entry.score));
      bar.show(best() > 0 ? entry.score / best() : 0);
      const at = performance.now();
      ranks.add(at, entry.rank);
      const climbed = (ranks.values[0] ?? entry.rank) - entry.rank;
      setText(change, climbed === 0 ? "" : `${climbed > 0 ? "▲" : "▼"} ${Math.abs(climbed)}`);
      setAttribute(change, "data-climbed", climbed === 0 ? null : climbed > 0 ? "up" : "down");
      // A row that comes into sight does not slide.
      if (place !== index && at - shownAt < slideMsMax && !calm.matches) {
        const transform = `translateY(${(place - index) * rowHeight}px)`;
        element.animate([{ transform }, { transform: "none" }], { duration: 400, easing: "ease" });
      }
      place = index;
      shownAt = at;
    },
  };
}
