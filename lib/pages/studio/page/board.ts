/** Leaderboards that move: each is an event stream, whose rows slide to their new places. */

import type { CallOptions, Leaderboard, LeaderboardEntry } from "../../../client/mod.ts";
import { wordsOfBoard } from "../../shared/page/board_name.ts";
import { saveTable } from "../../shared/page/files.ts";
import { type Resource, textOf } from "./api.ts";
import { type BoardSettings, readBoards } from "./boards.ts";
import { drawBar, drawLine } from "./charts.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";
import { fanName } from "./people/tenants.ts";
import { repeat } from "./problem.ts";
import type { RootContext } from "./view.ts";

interface Board {
  readonly name: string;
  readonly settings: BoardSettings;
  readonly watch: (query: { readonly season?: string }, options: CallOptions) => AsyncIterable<Leaderboard>;
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

/** Past seasons that a board keeps where its settings do not say. */
const keepSeasonsDefault = 12;
const eventsMax = 48;

/**
 * Shows the boards of the event or project of a place, one at a time, by season where it has some. A project offers those of its events as
 * well. Hidden boards are left out.
 */
export async function showBoards(context: RootContext): Promise<void> {
  const { root, signal, chain } = context;
  const note = el("p", { class: "quiet", role: "status" });
  const list = el("ol", { class: "board" });
  const of = el("select", {
    "aria-label": "Boards of",
    on: { change: () => void load().catch(reportUnread) },
  });
  const names = el("select", { "aria-label": "Leaderboard", on: { change: openNewest } });
  const seasons = el("select", { "aria-label": "Season", hidden: true, on: { change: open } });
  const save = el("button", { type: "button", class: "plain", on: { click: saveShown } }, "CSV");
  const [events, found] = await Promise.all([eventsOf(context), boardsOf(context)]);
  let boards = found;
  let leave = new AbortController();
  let shown: Leaderboard | null = null;

  async function load(): Promise<void> {
    leave.abort();
    const event = events[of.selectedIndex - 1];
    const read = await boardsOf({ ...context, chain: event === undefined ? chain : [...chain, event] });
    if (event !== events[of.selectedIndex - 1]) return;
    boards = read;
    listBoards();
  }
  function reportUnread(): void {
    if (!signal.aborted) setText(note, "The boards cannot be read now.");
  }
  function listBoards(): void {
    names.replaceChildren(...boards.map(({ name, settings: { id } }) => el("option", { value: id }, name)));
    openNewest();
  }
  function openNewest(): void {
    seasons.replaceChildren();
    open();
  }
  function open(): void {
    leave.abort();
    leave = new AbortController();
    const board = boards[names.selectedIndex];
    list.replaceChildren();
    shown = null;
    seasons.hidden = seasons.length === 0;
    if (board === undefined) return;
    const show = rowsIn(list);
    const query = seasons.value === "" ? {} : { season: seasons.value };
    follow(
      options => board.watch(query, options),
      note,
      next => {
        shown = next;
        if (seasons.length === 0) listSeasons(seasons, board, next.meta.season?.id ?? null);
        show(next.data);
      },
      AbortSignal.any([signal, leave.signal]),
    );
  }
  function saveShown(): void {
    if (shown !== null) saveStandings(boards[names.selectedIndex]?.name ?? "", shown);
  }

  of.replaceChildren(
    ...[chain.at(-1), ...events].map(each =>
      el("option", {}, each === undefined ? "" : textOf(each, "name")),
    ),
  );
  of.hidden = events.length === 0;
  const choices = el("div", { class: "row" }, of, names, seasons, save);
  root.replaceChildren(el("div", { class: "row spread" }, el("h2", {}, "Leaderboard"), choices), note, list);
  listBoards();
}

function saveStandings(board: string, { data, meta: { season } }: Leaderboard): void {
  const rows = data.map(({ rank, userId, publicProfile: { username }, score }) => {
    return [rank, username ?? "", userId, score];
  });
  saveTable(season === undefined ? board : `${board} ${season.id}`, [
    ["Rank", "Name", "User", "Score"],
    ...rows,
  ]);
}

/** Offers the seasons of a board, newest first. The running one stays where the next begins. */
function listSeasons(select: HTMLSelectElement, { settings }: Board, newest: string | null): void {
  const { seasons = "none", keepSeasons = keepSeasonsDefault } = settings;
  if (newest === null || seasons === "none") return;
  const ids = [newest];
  if (seasons.type === "explicit") {
    const begun = (seasons.list ?? []).filter(({ startsAt }) => new Date(startsAt).getTime() <= Date.now());
    ids.splice(0, 1, ...begun.map(({ id }) => id).reverse());
  } else {
    while (ids.length <= keepSeasons) ids.push(seasonBefore(ids.at(-1) ?? ""));
  }
  const options = ids.map(id => el("option", { value: id }, id));
  select.replaceChildren(el("option", { value: "" }, "Newest season"), ...options);
  select.hidden = false;
}

const dayMs = 86_400_000;

/** Returns the id of the day (`2026-11-21`), week (`2026-W47`) or month (`2026-11`) before. */
function seasonBefore(id: string): string {
  const [year = 0, part = 0, day] = id.split("-").map(each => Number(each.replace("W", "")));
  if (!id.includes("W")) {
    const before = day === undefined ? Date.UTC(year, part - 2) : Date.UTC(year, part - 1, day - 1);
    return new Date(before).toISOString().slice(0, id.length);
  }
  // The week of January 4 is the first; the year of a week is that of its Thursday.
  const first = Date.UTC(year, 0, 4);
  const thursday = first + (3 - ((new Date(first).getUTCDay() + 6) % 7) + 7 * (part - 2)) * dayMs;
  const itsYear = new Date(thursday).getUTCFullYear();
  const week = 1 + Math.floor((thursday - Date.UTC(itsYear, 0)) / (7 * dayMs));
  return `${itsYear}-W${String(week).padStart(2, "0")}`;
}

/** Returns the newest events of a project; none where the place is an event. */
async function eventsOf({ api, chain, signal }: RootContext): Promise<readonly Resource[]> {
  const scope = chain.at(-1);
  if (scope?.type !== "projects") return [];
  const query = { projectId: scope.id, "page[count]": eventsMax };
  return (await api.control.listProjectEvents(query, { signal })) as unknown as readonly Resource[];
}

/** Returns the boards that are not hidden, those of the event first. */
async function boardsOf(context: RootContext): Promise<readonly Board[]> {
  const { api, chain } = context;
  const [project, event] = chain.slice(chain.findIndex(({ type }) => type === "projects"));
  if (project === undefined) return [];
  const { ofProject, ofEvent } = await readBoards(context);
  const input = { projectId: project.id, limit: rowsMax };
  const suffix = event === undefined ? "" : ` (${textOf(project, "name")})`;
  return [
    ...ofEvent.map((settings): Board => {
      const board = { ...input, eventId: event?.id ?? "", leaderboardId: settings.id };
      return {
        name: wordsOfBoard(settings.id),
        settings,
        watch: (query, options) => api.leaderboards.watchEventLeaderboard({ ...board, ...query }, options),
      };
    }),
    ...ofProject.map((settings): Board => {
      const board = { ...input, leaderboardId: settings.id };
      return {
        name: wordsOfBoard(settings.id) + suffix,
        settings,
        watch: (query, options) => api.leaderboards.watchProjectLeaderboard({ ...board, ...query }, options),
      };
    }),
  ];
}

/** Follows a board while the page is seen. */
function follow(
  watch: (options: CallOptions) => AsyncIterable<Leaderboard>,
  note: HTMLElement,
  show: (board: Leaderboard) => void,
  signal: AbortSignal,
): void {
  let seen = new AbortController();
  async function read(): Promise<void> {
    if (document.hidden) return;
    seen = new AbortController();
    const options = {
      signal: AbortSignal.any([signal, seen.signal]),
      onLost: () => setText(note, "Not up to date: the connection is lost."),
    };
    for await (const board of watch(options)) {
      const { data, totalCount } = board;
      const [shown, all] = [data.length, totalCount].map(count => numbers.format(count));
      setText(note, totalCount === 0 ? "Nobody is on the board yet." : `The first ${shown} of ${all}`);
      show(board);
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
      setText(name, fanName(entry.publicProfile.username, entry.userId));
      setAttribute(name, "title", entry.userId);
      setText(score, numbers.format(entry.score));
      bar.show(best() > 0 ? entry.score / best() : 0);
      const at = performance.now();
      ranks.add(at, entry.rank);
      const climbed = (ranks.values[0] ?? entry.rank) - entry.rank;
      const places = Math.abs(climbed);
      setText(change, climbed === 0 ? "" : `${climbed > 0 ? "▲" : "▼"} ${places}`);
      const words = `${climbed > 0 ? "up" : "down"} ${places} ${places === 1 ? "place" : "places"}`;
      setAttribute(change, "role", climbed === 0 ? null : "img");
      setAttribute(change, "aria-label", climbed === 0 ? null : words);
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
