/** Leaderboards that move: each is an event stream, whose rows slide to their new places. */

import type { CallOptions, Leaderboard, LeaderboardEntry } from "../../../client/mod.ts";
import { type Resource, type ScopeType, textOf } from "./api.ts";
import { drawBar, drawLine } from "./charts.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";
import { repeat } from "./problem.ts";
import type { RootContext } from "./view.ts";

interface Board {
  readonly name: string;
  readonly watch: (options: CallOptions) => AsyncIterable<Leaderboard>;
}

/** Rows of a board; more are not read. */
const rowsMax = 100;
/** Height of a row, in pixels, as in the style. */
const rowHeight = 40;
const windowMs = 60_000;
/** Longest time between two places from which a row slides, in ms. */
const slideMsMax = 5_000;
/** Least pause before a board is followed again, in ms. */
const againMs = 1_000;

const numbers = new Intl.NumberFormat();

/** Shows the boards of the event or project of a place, one at a time. Hidden boards are left out. */
export async function showBoards(context: RootContext): Promise<void> {
  const { root, signal } = context;
  const boards = await boardsOf(context);
  const note = el("p", { class: "quiet", role: "status" });
  const list = el("ol", { class: "board" });
  let leave = new AbortController();
  function open(): void {
    leave.abort();
    leave = new AbortController();
    const board = boards[select.selectedIndex];
    list.replaceChildren();
    if (board !== undefined) follow(board, note, list, AbortSignal.any([signal, leave.signal]));
  }
  const options = boards.map(({ name }) => el("option", {}, name));
  const select = el("select", { "aria-label": "Leaderboard", on: { change: open } }, ...options);
  root.replaceChildren(el("div", { class: "row spread" }, el("h2", {}, "Leaderboard"), select), note, list);
  open();
}

/** Returns the boards that are not hidden, those of the event first. */
async function boardsOf({ api, chain, signal }: RootContext): Promise<readonly Board[]> {
  const [project, event] = chain.slice(chain.findIndex(({ type }) => type === "projects"));
  const servicesOf = async ({ type, id }: Resource): Promise<Readonly<Record<string, unknown>>> => {
    const { data } = await api.scope(type as ScopeType, id, { [`fields[${type}]`]: "services" }, signal);
    return (data.attributes.services ?? {}) as Record<string, unknown>;
  };
  if (project === undefined) return [];
  const own = await servicesOf(project);
  const input = { projectId: project.id, limit: rowsMax };
  const suffix = event === undefined ? "" : ` (${textOf(project, "name")})`;
  const ofProject = namesIn(own.leaderboards, "overall").map(leaderboardId => ({
    name: leaderboardId + suffix,
    watch: (options: CallOptions) =>
      api.leaderboards.watchProjectLeaderboard({ ...input, leaderboardId }, options),
  }));
  if (event === undefined) return ofProject;
  const { leaderboards } = await servicesOf(event);
  const names = new Set([...namesIn(leaderboards), ...namesIn(own.eventLeaderboards), "overall"]);
  const ofEvent = [...names].map(leaderboardId => ({
    name: leaderboardId,
    watch: (options: CallOptions) =>
      api.leaderboards.watchEventLeaderboard({ ...input, eventId: event.id, leaderboardId }, options),
  }));
  return [...ofEvent, ...ofProject];
}

function namesIn(section: unknown, ...fallback: readonly string[]): readonly string[] {
  if (!Array.isArray(section)) return fallback;
  const boards = section as readonly { readonly id: string; readonly visibility?: string }[];
  return boards.filter(({ visibility }) => visibility !== "hidden").map(({ id }) => id);
}

/** Follows a board while the page is seen. */
function follow({ watch }: Board, note: HTMLElement, list: HTMLElement, signal: AbortSignal): void {
  const show = rowsIn(list);
  let seen = new AbortController();
  async function read(): Promise<void> {
    if (document.hidden) return;
    seen = new AbortController();
    const options = {
      signal: AbortSignal.any([signal, seen.signal]),
      onLost: () => setText(note, "Not up to date: the connection is lost."),
    };
    for await (const { data, totalCount } of watch(options)) {
      const [shown, all] = [data.length, totalCount].map(count => numbers.format(count));
      setText(note, totalCount === 0 ? "Nobody is on the board yet." : `The first ${shown} of ${all}`);
      show(data);
    }
  }
  function hide(): void {
    if (document.hidden) seen.abort();
  }
  setText(note, "Loading…");
  document.addEventListener("visibilitychange", hide, { signal });
  const report = (error: unknown): void => {
    if (error !== null) setText(note, "The board cannot be shown now.");
  };
  repeat(read, { everyMs: againMs, signal, report });
}

function rowsIn(list: HTMLElement): (entries: readonly LeaderboardEntry[]) => void {
  let best = 0;
  const show = keyedList<LeaderboardEntry>(list, {
    key: ({ userId }) => userId,
    create: () => createRow(() => best),
  });
  return entries => {
    best = entries[0]?.score ?? 0;
    show(entries);
  };
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");
/** Rank 1 is at the top of the drawing. */
const bounds = (ranks: readonly number[]) => [Math.max(...ranks), Math.min(...ranks)] as const;

function createRow(best: () => number): Row<LeaderboardEntry> {
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
