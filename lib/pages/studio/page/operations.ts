/** The view of operators: the figures of the process that answers, as they move, and dead letters. */

import type { DeadLetter, DeadLetterCounts, Process } from "../../../client/mod.ts";
import { drawLine } from "./charts.ts";
import { el, keyedList, setText } from "./elements.ts";
import { messageOf, repeat } from "./problem.ts";
import type { RootContext } from "./view.ts";

const windowMs = 300_000;
const everyMs = 2_000;
const routesSeconds = 60;
const routesMax = 10;
/** Least time between two readings that are compared, in seconds. */
const comparedSeconds = 1;
/** Time without an answer after which another process is followed, in seconds. */
const silentSeconds = 20;

const requests = "http_server_request_duration_seconds";
const store = "grandstand_store_operation_duration_seconds";
const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const asNumber = (value: number): string => numbers.format(value);
const asMs = (seconds: number): string => `${numbers.format(seconds * 1_000)} ms`;
const asSeconds = (seconds: number): string => `${numbers.format(seconds)} s`;
const asMiB = (bytes: number): string => `${numbers.format(bytes / 2 ** 20)} MiB`;
const exportsNamed = (event: string) => (made: Comparison) =>
  made.total("grandstand_log_events_total", labels => labels.event === event);

/** A figure of the view. Null: there is nothing to show now. */
interface Tile {
  readonly label: string;
  readonly of: (made: Comparison) => number | null;
  readonly text: (value: number) => string;
}

const tiles: readonly Tile[] = [
  { label: "Requests per second", of: made => made.rate(requests), text: asNumber },
  { label: "Answer time, p50", of: made => made.quantile(requests, 0.5), text: asMs },
  { label: "Answer time, p99", of: made => made.quantile(requests, 0.99), text: asMs },
  {
    label: "Errors (5xx) per second",
    of: made => made.rate(requests, labels => /^5/.test(labels.http_response_status_code ?? "")),
    text: asNumber,
  },
  {
    label: "Refused by limits per second",
    of: made => made.rate("grandstand_rate_limit_decisions_total", ({ outcome }) => outcome === "refused"),
    text: asNumber,
  },
  { label: "Store round trips per second", of: made => made.rate(store), text: asNumber },
  { label: "Store latency, p99", of: made => made.quantile(store, 0.99), text: asMs },
  { label: "Queue depth", of: made => made.value("grandstand_queue_depth"), text: asNumber },
  {
    label: "Oldest message",
    of: made => made.value("grandstand_queue_oldest_age_seconds"),
    text: asSeconds,
  },
  {
    label: "Delay of boards, p99",
    of: made => made.quantile("grandstand_board_feed_delay_seconds", 0.99),
    text: asMs,
  },
  { label: "Listeners of boards", of: made => made.value("grandstand_board_listeners"), text: asNumber },
  { label: "Exports completed", of: exportsNamed("export_completed"), text: asNumber },
  { label: "Exports failed", of: exportsNamed("export_failed"), text: asNumber },
  { label: "Heap", of: made => made.value("v8js_memory_heap_used_bytes"), text: asMiB },
  {
    label: "Event loop delay, p99",
    of: made => made.value("nodejs_eventloop_delay_p99_seconds"),
    text: asMs,
  },
];

/** Shows the view until the user leaves. */
export async function showOperations({ api, root, signal }: RootContext): Promise<void> {
  const about = el("p", { class: "quiet" });
  const fault = el("p", { class: "fault", role: "status" });
  const shown = tiles.map(showTile);
  const grid = el("section", { class: "tiles", "aria-label": "Figures" }, ...shown.map(one => one.element));
  const routes = createRoutes();
  const letters = el("section");
  const process = new FollowedProcess();
  const read = async (): Promise<void> => {
    const { document } = await api.control.readProcess({}, { signal }).whole();
    const { id, attributes } = document.data;
    grid.hidden = attributes.figures === null;
    routes.element.hidden = grid.hidden;
    setText(about, grid.hidden ? nothingMeasured : process.follow(id, attributes));
    if (id !== process.id || process.last === null) return;
    for (const tile of shown) tile.show(process.last);
    routes.show(process.sinceAMinute()?.routes() ?? []);
  };
  await read();
  root.replaceChildren(about, fault, grid, routes.element, letters);
  const report = (error: unknown): void => setText(fault, error ? `Not up to date. ${messageOf(error)}` : "");
  repeat(read, { everyMs, signal, report });
  showDeadLetters({ api, root: letters, signal });
}

const nothingMeasured =
  "This process measures nothing. Start it with --metrics on or GRANDSTAND_METRICS=on, or pass metrics to createPlatform.";

/** The process whose readings are compared: where several serve one address, the first that answers. */
class FollowedProcess {
  id = "";
  /** The two newest readings; null: there is one. */
  last: Comparison | null = null;
  #readings: Reading[] = [];
  readonly #seen = new Set<string>();

  follow(id: string, reading: Reading): string {
    this.#seen.add(id);
    const silent = reading.measured_at - (this.#readings.at(-1)?.measured_at ?? 0);
    if (id !== this.id && silent > silentSeconds) {
      this.id = id;
      this.#readings = [];
    }
    if (id === this.id) this.#add(reading);
    const others = this.#seen.size - 1;
    const more = others === 0 ? "" : ` Processes that answered too, and are not shown: ${others}.`;
    return `Figures of one process: ${this.id.slice(0, 8)}, ${startOf(reading)}.${more}`;
  }

  /** Compares the newest reading with that of a minute ago, or the oldest. */
  sinceAMinute(): Comparison | null {
    const [[oldest], newest] = [this.#readings, this.#readings.at(-1)];
    return oldest === undefined || newest === undefined ? null : new Comparison(oldest, newest);
  }

  #add(reading: Reading): void {
    const before = this.#readings.at(-1);
    if (before !== undefined && reading.measured_at - before.measured_at < comparedSeconds) return;
    this.last = before === undefined ? null : new Comparison(before, reading);
    this.#readings.push(reading);
    const since = reading.measured_at - routesSeconds;
    this.#readings = this.#readings.filter(({ measured_at }) => measured_at >= since);
  }
}

function startOf({ figures }: Reading): string {
  const started = figures?.find(({ name }) => name === "process_start_time_seconds")?.value;
  const version = figures?.find(({ name }) => name === "grandstand_build_info")?.labels.version ?? "";
  const time = started === undefined ? "" : `, started ${new Date(started * 1_000).toLocaleString()}`;
  return `Grandstand ${version}${time}`;
}

function showTile({ label, of, text }: Tile) {
  const value = el("strong", {}, "–");
  const line = drawLine(windowMs, 40, values => [0, Math.max(1e-9, ...values)]);
  const head = el("span", { class: "quiet" }, label);
  return {
    element: el("div", { class: "card figure" }, head, value, line.element),
    show(made: Comparison): void {
      const now = of(made);
      setText(value, now === null ? "–" : text(now));
      if (now !== null) line.add(performance.now(), now);
    },
  };
}

function createRoutes() {
  const list = el("ul", { class: "routes" });
  const none = el("p", { class: "empty" }, "No request in the last minute.");
  const show = keyedList<RouteFigures>(list, {
    key: ({ name }) => name,
    create({ name }) {
      const rate = el("span", { class: "count" });
      const time = el("span", { class: "count" });
      return {
        element: el("li", {}, el("code", {}, name), rate, time),
        show({ perSecond, p99 }) {
          setText(rate, `${numbers.format(perSecond)} / s`);
          setText(time, `p99 ${asMs(p99)}`);
        },
      };
    },
  });
  return {
    element: el("section", {}, el("h2", {}, "Busiest routes of the last minute"), none, list),
    show(routes: readonly RouteFigures[]): void {
      none.hidden = routes.length > 0;
      show(routes.slice(0, routesMax));
    },
  };
}

type Counts = DeadLetterCounts["data"][number];

const lettersEveryMs = 10_000;
const shownMax = 50;
const time = { dateStyle: "short", timeStyle: "medium" } as const;

/** Shows the organisations that have dead letters until the user leaves. */
function showDeadLetters(context: Pick<RootContext, "api" | "root" | "signal">): void {
  const { api, root, signal } = context;
  const note = el("p", { class: "quiet", role: "status" }, "Loading…");
  const list = el("ul", { class: "stack" });
  const show = keyedList<Counts>(list, {
    key: ({ id }) => id,
    create: counts => createOrganisation(counts, context),
  });
  root.append(el("h2", {}, "Dead letters"), note, list);
  async function read(): Promise<void> {
    const { document } = await api.control.listDeadLetterCounts({}, { signal }).whole();
    show(document.data);
    setText(note, document.data.length === 0 ? "Every action was applied." : "");
  }
  const report = (error: unknown): void => {
    if (error) setText(note, `Not up to date. ${messageOf(error)}`);
  };
  repeat(read, { everyMs: lettersEveryMs, signal, report });
}

function createOrganisation(
  { id, attributes: { name, space_id } }: Counts,
  { api, signal }: Pick<RootContext, "api" | "signal">,
) {
  const options = { signal, headers: { "x-platform-org-id": id } };
  const total = el("span", { class: "count" });
  const outcome = el("p", { role: "status" });
  const letters = el("ul", { class: "letters" });
  const confirm = el("div", { class: "row", hidden: true });
  const button = el("button", { type: "button", on: { click: () => attempt(open) } }, "Show");
  async function open(): Promise<void> {
    const found = await api.audience.listDeadActions({ space_id, limit: shownMax }, options);
    letters.replaceChildren(...found.map(rowOf));
    const act = `Replay ${found.length === 1 ? "this action" : `these ${found.length} actions`}`;
    const replay = (): Promise<void> => attempt(() => queue(found.map(({ deadLetterId }) => deadLetterId)));
    const sure = el("button", { type: "button", class: "main", on: { click: replay } }, `${act} now`);
    const keep = el("button", { type: "button", on: { click: () => (confirm.hidden = true) } }, "Cancel");
    const question = "Is what failed put right? They are applied after all other actions of their users.";
    confirm.replaceChildren(el("p", {}, question), sure, keep);
    confirm.hidden = true;
    const ask = el("button", { type: "button", on: { click: () => (confirm.hidden = false) } }, act);
    letters.append(el("li", { class: "row" }, ask));
    button.hidden = true;
    letters.hidden = found.length === 0;
  }
  async function queue(ids: readonly string[]): Promise<void> {
    const { replayed, notFound } = await api.audience.replayDeadActions({ space_id, body: { ids } }, options);
    const gone = notFound.length === 0 ? "" : ` ${notFound.length} were no longer there.`;
    await open();
    setText(outcome, `${replayed.length} queued again.${gone} What fails anew comes back here.`);
  }
  async function attempt(act: () => Promise<void>): Promise<void> {
    setText(outcome, "");
    await act().catch((error: unknown) => setText(outcome, messageOf(error)));
  }
  const head = el("div", { class: "row spread" }, el("strong", {}, name), total, button);
  return {
    element: el("li", { class: "card stack" }, head, letters, confirm, outcome),
    show: ({ attributes: { count } }: Counts) =>
      setText(total, `${count} ${count === 1 ? "action" : "actions"}`),
  };
}

function rowOf({ action, userId, reason, failedAt, attempts }: DeadLetter): HTMLElement {
  const times = `${attempts} ${attempts === 1 ? "attempt" : "attempts"}, ${new Date(failedAt).toLocaleString(undefined, time)}`;
  return el(
    "li",
    {},
    el("strong", {}, action),
    el("span", {}, `${reason.code}: ${reason.message}`),
    el("span", { class: "quiet" }, `User ${userId} · ${times}`),
  );
}

export type Reading = Process["data"]["attributes"];
type Figure = NonNullable<Reading["figures"]>[number];

type Select = (labels: Readonly<Record<string, string>>) => boolean;

/** A route as the last readings show it. */
interface RouteFigures {
  readonly name: string;
  readonly perSecond: number;
  /** Seconds. */
  readonly p99: number;
}

const all: Select = () => true;
const keyOf = ({ name, labels }: Figure): string => JSON.stringify([name, labels]);

export class Comparison {
  readonly #bounds: readonly number[];
  readonly #seconds: number;
  readonly #now: readonly Figure[];
  readonly #before: ReadonlyMap<string, Figure>;

  constructor(before: Reading, now: Reading) {
    this.#bounds = now.bucket_bounds;
    this.#seconds = now.measured_at - before.measured_at;
    this.#now = now.figures ?? [];
    this.#before = new Map((before.figures ?? []).map(figure => [keyOf(figure), figure]));
  }

  /** Returns the sum of gauges; null where there are none. */
  value(name: string): number | null {
    const found = this.#named(name, all);
    return found.length === 0 ? null : found.reduce((sum, { value = 0 }) => sum + value, 0);
  }

  total(name: string, select: Select): number {
    return this.#named(name, select).reduce((sum, { value = 0 }) => sum + value, 0);
  }

  rate(name: string, select: Select = all): number {
    const counted = this.#named(name, select).reduce((sum, figure) => sum + this.#countedIn(figure), 0);
    return this.#seconds <= 0 ? 0 : counted / this.#seconds;
  }

  /** Returns a quantile of histograms in seconds, as Prometheus interpolates it; null where nothing was counted. */
  quantile(name: string, share: number, select: Select = all): number | null {
    const sums = [...this.#bounds.map(() => 0), 0];
    for (const figure of this.#named(name, select)) {
      const before = this.#before.get(keyOf(figure))?.buckets;
      figure.buckets?.forEach((count, index) => {
        sums[index] = (sums[index] ?? 0) + count - (before?.[index] ?? 0);
      });
    }
    const wanted = share * (sums.at(-1) ?? 0);
    if (wanted === 0) return null;
    const index = sums.findIndex(count => count >= wanted);
    const [low = 0, high = this.#bounds.at(-1) ?? 0] = [this.#bounds[index - 1], this.#bounds[index]];
    const [below = 0, upTo = 0] = [sums[index - 1], sums[index]];
    return low + ((high - low) * (wanted - below)) / (upTo - below);
  }

  routes(): readonly RouteFigures[] {
    const name = "http_server_request_duration_seconds";
    const nameOf = (labels: Figure["labels"]): string => `${labels.http_request_method} ${labels.http_route}`;
    const names = new Set(this.#named(name, all).map(({ labels }) => nameOf(labels)));
    const routes = [...names].map(each => {
      const select: Select = labels => nameOf(labels) === each;
      const p99 = this.quantile(name, 0.99, select) ?? 0;
      return { name: each, perSecond: this.rate(name, select), p99 };
    });
    return routes
      .filter(({ perSecond }) => perSecond > 0)
      .sort((a, b) => b.perSecond - a.perSecond || (a.name < b.name ? -1 : 1));
  }

  #named(name: string, select: Select): readonly Figure[] {
    return this.#now.filter(figure => figure.name === name && select(figure.labels));
  }

  #countedIn(figure: Figure): number {
    const count = ({ value = 0, buckets }: Figure): number => buckets?.at(-1) ?? value;
    const before = this.#before.get(keyOf(figure));
    return count(figure) - (before === undefined ? 0 : count(before));
  }
}
