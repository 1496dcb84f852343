/** Watches an event: its elements, its actions per second, and its leaderboards. */

import { cursorOf, type Document, type Resource, textOf } from "./api.ts";
import { drawBar, drawLine } from "./charts.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";
import { messageOf, repeat } from "./problem.ts";
import type { RootContext } from "./view.ts";

const windowMs = 120_000;
const statsMs = 1_000;
const elementsMs = 5_000;
/** Time without a change after which nothing happens, in ms. */
const quietMs = 3_500;
/** Samples whose mean is the rate of now. */
const meanOf = 3;

const firstPage = {
  include: "stats",
  sort: "position",
  "page[count]": 100,
  "fields[elements]": "name,content_type,state,question,position,stats",
} as const;
const decimals = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Shows an event until the user leaves. */
export function watchEvent(context: RootContext): void {
  const { api, chain, root, signal } = context;
  const { id = "" } = chain.at(-1) ?? {};
  const figures = createFigures();
  const elements = createElements();
  const fault = el("p", { class: "fault", role: "status" });
  root.append(fault, figures.element, elements.element);
  const errors: unknown[] = [];
  const reportOf = (index: number) => (error: unknown) => {
    errors[index] = error;
    const one = errors.find(each => each);
    setText(fault, one ? `Not up to date. ${messageOf(one)}` : "");
  };
  let etag = "";
  let actions = 0;
  async function readStats(): Promise<void> {
    const input = { prefix: id.slice(0, 2), eventId: id };
    const answer = await api.feeds
      .getLiveStats(input, { headers: { "if-none-match": etag }, signal })
      .whole();
    if (answer.status !== 304) {
      const stats = answer.document;
      etag = answer.headers.get("etag") ?? "";
      actions = stats.actions;
      elements.count(stats.elements);
    }
    figures.add(actions);
  }
  let cursor: string | null = null;
  let isComplete = false;
  async function readElements(): Promise<void> {
    do {
      const query = cursor === null ? firstPage : { ...firstPage, "page[cursor]": cursor };
      const { document } = await api.control.listEventElements({ eventId: id, ...query }, { signal }).whole();
      elements.merge(document as unknown as Document<readonly Resource[]>, cursor === null);
      cursor = cursorOf(document.links);
      isComplete ||= cursor === null;
    } while (!isComplete);
  }
  repeat(readStats, { everyMs: statsMs, signal, report: reportOf(0) });
  // The first round reads all pages; later ones read one at a time.
  repeat(readElements, { everyMs: elementsMs, signal, report: reportOf(1) });
}

function createFigures(): { readonly element: HTMLElement; add(actions: number): void } {
  const total = el("strong", {}, "–");
  const now = el("strong", {}, "–");
  const most = el("strong", {}, "–");
  const rates = drawLine(windowMs, 40, values => [0, Math.max(1, ...values)]);
  let last: { readonly at: number; readonly actions: number } | null = null;
  const figure = (label: string, value: HTMLElement): HTMLElement =>
    el("div", { class: "figure" }, el("span", { class: "quiet" }, label), value);
  return {
    element: el(
      "section",
      { class: "figures card", "aria-label": "Live statistics" },
      figure("Actions", total),
      figure("Per second", now),
      figure("Most in 2 minutes", most),
      rates.element,
    ),
    add(actions) {
      const at = performance.now();
      const since = last ?? { at, actions };
      // Counts arrive in batches: the rate is that since the last change, and 0 after a while without one.
      if (last !== null && actions === last.actions && at - last.at < quietMs) return;
      last = { at, actions };
      setText(total, decimals.format(actions));
      if (at === since.at) return;
      const rate = (Math.max(0, actions - since.actions) * 1_000) / (at - since.at);
      rates.add(at, rate);
      const recent = rates.values.slice(-meanOf);
      setText(now, decimals.format(recent.reduce((sum, value) => sum + value, 0) / recent.length));
      setText(most, decimals.format(Math.max(...rates.values)));
    },
  };
}

interface Counted {
  readonly id: string;
  readonly actions: number;
  readonly votes?: readonly number[];
}

interface EventElements {
  readonly element: HTMLElement;
  count(counts: readonly Counted[]): void;
  /** Shows a page of the elements. The first page begins a round; what was on no page of a round is gone. */
  merge(page: Document<readonly Resource[]>, isFirst: boolean): void;
}

interface Shown extends Counted {
  readonly resource: Resource;
  readonly round: number;
}

const optionsMax = 12;
const numbers = new Intl.NumberFormat();
const percents = new Intl.NumberFormat(undefined, { style: "percent" });

function createElements(): EventElements {
  const all = new Map<string, Shown>();
  const list = el("ul", { class: "elements" });
  const note = el("p", { class: "empty" }, "Loading…");
  const total = el("span", { class: "quiet" });
  let round = 0;
  const showRows = keyedList<Shown>(list, { key: ({ id }) => id, create: createRow });
  function show(): void {
    const position = ({ resource }: Shown): number => Number(resource.attributes.position);
    showRows([...all.values()].sort((a, b) => position(a) - position(b)));
    setText(note, all.size > 0 ? "" : "The event has no elements yet.");
    setText(total, numbers.format(all.size));
  }
  return {
    element: el("section", {}, el("div", { class: "row" }, el("h2", {}, "Elements"), total), note, list),
    count(counts) {
      for (const counted of counts) {
        const known = all.get(counted.id);
        if (known !== undefined) all.set(counted.id, { ...known, ...counted });
      }
      if (round > 0) show();
    },
    merge({ data, included = [] }, isFirst) {
      if (isFirst) for (const [id, shown] of all) if (shown.round < round) all.delete(id);
      if (isFirst) round += 1;
      const stats = new Map(included.map(({ id, attributes }) => [id, attributes]));
      for (const resource of data) {
        const { actions = 0, options } = stats.get(resource.id) ?? {};
        const votes = optionsOf(resource).map((_, index) => Number(Object(options)[index + 1] ?? 0));
        const known = all.get(resource.id);
        // The feed is read more often, and counts only grow.
        const isOlder = known?.votes !== undefined && known.actions > Number(actions);
        const counts = isOlder ? known : { actions: Number(actions), votes };
        all.set(resource.id, { ...counts, id: resource.id, resource, round });
      }
      show();
    },
  };
}

function createRow({ resource: first }: Shown): Row<Shown> {
  const name = el("strong");
  const state = createState();
  const count = el("span", { class: "count" });
  const bars = el("ul", { class: "bars" });
  let votes: readonly number[] = [];
  let sum = 0;
  const showBars = keyedList<string>(bars, {
    key: option => option,
    create(option) {
      const bar = drawBar();
      const value = el("span", { class: "count" });
      return {
        element: el("li", {}, el("span", {}, option), bar.element, value),
        show(_, index) {
          const own = votes[index] ?? 0;
          bar.show(own / Math.max(1, sum));
          setText(value, own === 0 ? "0" : `${numbers.format(own)} · ${percents.format(own / sum)}`);
        },
      };
    },
  });
  const type = el("span", { class: "quiet" }, textOf(first, "content_type"));
  return {
    element: el("li", { class: "card" }, el("div", { class: "row" }, name, state.element, type, count), bars),
    show({ resource, actions, votes: next = [] }) {
      setText(
        name,
        textOf(resource, "name") || textIn(questionOf(resource)) || textOf(resource, "content_type"),
      );
      setText(
        count,
        actions === 0 ? "" : `${numbers.format(actions)} ${actions === 1 ? "action" : "actions"}`,
      );
      state.show(textOf(resource, "state"));
      votes = next;
      sum = next.reduce((all, vote) => all + vote, 0);
      const isDrawn = actions > 0 || textOf(resource, "state") === "current";
      if (isDrawn) showBars(optionsOf(resource).slice(0, optionsMax));
    },
  };
}

interface Fields {
  readonly fields?: readonly { readonly values: Readonly<Record<string, unknown>> }[];
  readonly options?: readonly Fields[];
}

function questionOf({ attributes }: Resource): Fields {
  return (attributes.question ?? {}) as Fields;
}

function optionsOf(resource: Resource): readonly string[] {
  return (questionOf(resource).options ?? []).map((option, index) => `${index + 1}. ${textIn(option)}`);
}

function textIn({ fields = [] }: Fields): string {
  const values = fields.flatMap(({ values }) => [values.all, ...Object.values(values)]);
  return String(values.find(value => typeof value === "string" && value !== "") ?? "");
}

const names: Readonly<Record<string, string>> = {
  current: "Live",
  future: "Planned",
  on_demand: "On demand",
  past: "Ended",
  non_scheduled: "Draft",
  cancelled: "Cancelled",
  revoked: "Revoked",
};

function createState(): { readonly element: HTMLElement; show(state: string): void } {
  const element = el("span", { class: "state" });
  return {
    element,
    show(state) {
      setText(element, names[state] ?? state);
      setAttribute(element, "data-state", state);
    },
  };
}
