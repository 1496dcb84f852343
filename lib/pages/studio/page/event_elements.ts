/** The elements of an event with their states, and votes per option as bars. */

import { type Document, type Resource, textOf } from "./api.ts";
import { drawBar } from "./charts.ts";
import { el, keyedList, type Row, setText } from "./elements.ts";
import { createState } from "./states.ts";

/** Counts of an element. */
export interface Counted {
  readonly id: string;
  readonly actions: number;
  readonly votes?: readonly number[];
}

/** The list of elements. */
export interface EventElements {
  readonly element: HTMLElement;
  /** Shows counts of the feed. */
  count(counts: readonly Counted[]): void;
  /** Shows a page of the elements. The first page begins a round; what was on no page of a round is gone. */
  merge(page: Document<readonly Resource[]>, isFirst: boolean): void;
}

interface Shown extends Counted {
  readonly resource: Resource;
  readonly round: number;
}

/** Most options of an element that are drawn. */
const optionsMax = 12;
const numbers = new Intl.NumberFormat();
const percents = new Intl.NumberFormat(undefined, { style: "percent" });

/** Creates the list. */
export function createElements(): EventElements {
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

/** Returns the first text among fields, in the general language if it has one. */
function textIn({ fields = [] }: Fields): string {
  const values = fields.flatMap(({ values }) => [values.all, ...Object.values(values)]);
  return String(values.find(value => typeof value === "string" && value !== "") ?? "");
}
