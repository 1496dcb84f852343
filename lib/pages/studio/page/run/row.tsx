/** One element in the timeline of a show. */

import { type ReadonlySignal, signal, useComputed, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { choicesOf, meanOf, optionsOf, titleOf } from "../results.ts";
import { Act, Menu, type MenuItem } from "../ui.tsx";
import type { Desk } from "./desk.ts";
import { closingOf, type Item, zoneOf } from "./rundown.ts";

export const numbers = new Intl.NumberFormat();
const percents = new Intl.NumberFormat(undefined, { style: "percent" });
const always = signal(true);
/** Most options whose bars a row has; the monitor has all. */
const optionsMax = 6;

interface RowProps {
  readonly desk: Desk;
  readonly id: string;
  /** Id of the row that Tab leads to. */
  readonly current: { readonly value: string | null };
}

export function Row({ desk, id, current }: RowProps) {
  const tabIndex = useComputed(() => (current.value === id ? 0 : -1));
  const isCued = useComputed(() => desk.cued.value === id);
  const isBusy = useComputed(() => desk.busy.value.includes(id));
  const { row, isSeen } = useSeen();
  const item = desk.rundown.items.get(id)?.value;
  if (item === undefined) return null;
  const zone = zoneOf(item);
  const { attributes, parent } = item;
  const type = String(attributes.content_type);
  return (
    <li
      ref={row}
      class="item"
      data-id={id}
      data-zone={zone}
      data-cued={isCued}
      data-child={parent !== null}
      aria-busy={isBusy}
      tabIndex={tabIndex}
      aria-label={`${titleOf(attributes)}, ${type}`}
    >
      <span class="type">{type}</span>
      <strong class="name" dir="auto">
        {titleOf(attributes)}
      </strong>
      <When desk={desk} item={item} isSeen={isSeen} />
      <Count desk={desk} id={id} isSeen={isSeen} />
      <Buttons desk={desk} item={item} isCued={isCued.value} />
      {zone === "air" && (
        <Bars desk={desk} id={id} max={type === "rating" ? 0 : optionsMax} isSeen={isSeen} />
      )}
      <Fault desk={desk} id={id} />
    </li>
  );
}

/** Returns whether the browser draws a row. Where it cannot say so, it draws all of them. */
function useSeen(): {
  readonly row: RefObject<HTMLLIElement | null>;
  readonly isSeen: ReadonlySignal<boolean>;
} {
  const row = useRef<HTMLLIElement>(null);
  const isSeen = useSignal(true);
  useLayoutEffect(() => {
    row.current?.addEventListener("contentvisibilityautostatechange", event => {
      isSeen.value = !(event as ContentVisibilityAutoStateChangeEvent).skipped;
    });
  }, []);
  return { row, isSeen };
}

/** Returns the value of a signal, which a row that nobody sees does not follow. */
function followed<T>(isSeen: ReadonlySignal<boolean>, source: ReadonlySignal<T>): T {
  return isSeen.value ? source.value : source.peek();
}

/** Returns a time in seconds as a clock shows it. */
export function clockText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60, whole % 60];
  const [hours = 0, ...rest] = parts;
  const shown = hours === 0 ? rest : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

interface Seen {
  /** False: the browser does not draw the row. */
  readonly isSeen: ReadonlySignal<boolean>;
}

interface ItemProps {
  readonly desk: Desk;
  readonly item: Item;
}

/** What time means for an element: how long it is on air, when it comes, or what became of it. */
function When({ desk, item: drawn, isSeen }: ItemProps & Seen) {
  const { rundown } = desk;
  const children = zoneOf(drawn) === "next" ? rundown.childrenOf(drawn.id).length : 0;
  const others = useComputed(() => rundown.colleagues.value.filter(({ cued }) => cued === drawn.id));
  const here = useComputed(() => rundown.othersIn(drawn.id).map(name => `${name} is here`));
  const text = useComputed(() => {
    // What is computed hears of signals alone, and not of properties.
    const item = rundown.item(drawn.id) ?? drawn;
    const { attributes } = item;
    const zone = zoneOf(item);
    if (zone === "air") {
      // Nobody can vote any more, whatever time is left.
      if (attributes.answer_revealed_at_iso != null) return "answer revealed";
      const closesAt = closingOf(item);
      const now = followed(isSeen, rundown.now);
      const since = clockText(now - Number(attributes.published_at ?? now));
      return closesAt === null ? `on air ${since}` : `${clockText(closesAt - now)} left`;
    }
    if (zone === "done") return attributes.state === "past" ? "" : String(attributes.state).replace("_", " ");
    const kept = desk.textsOfTemplate(item);
    const parts = [
      ...(kept.length > 0 ? ["still the example text"] : []),
      ...(attributes.start_mode === "timecode" ? [`at +${clockText(Number(attributes.start_offset))}`] : []),
      ...(Number(attributes.duration) > 0 ? [`open ${clockText(Number(attributes.duration))}`] : []),
      ...(children > 0 ? [`${children} inside`] : []),
      ...others.value.map(({ name }) => `${name} has cued it`),
    ];
    return parts.join(" · ");
  });
  const all = useComputed(() => [text.value, ...here.value].filter(Boolean).join(" · "));
  return <span class="when">{all}</span>;
}

function Count({ desk, id, isSeen }: Omit<RowProps, "current"> & Seen) {
  const { actions } = followed(isSeen, desk.rundown.count(id));
  return <span class="count">{actions === 0 ? "" : numbers.format(actions)}</span>;
}

interface BarsProps extends Omit<RowProps, "current">, Partial<Seen> {
  readonly max: number;
}

/** The votes of each option; of a rating also their mean. */
export function Bars({ desk, id, max, isSeen = always }: BarsProps) {
  const item = desk.rundown.items.get(id)?.value;
  const { votes } = followed(isSeen, desk.rundown.count(id));
  const choices = item === undefined ? [] : choicesOf(item.attributes);
  const options = choices.slice(0, max);
  const mean = item === undefined ? null : meanOf(item.attributes, votes);
  const sum = votes.reduce((all, each) => all + each, 0);
  const right = Number(item?.attributes.correct_option ?? 0);
  if (options.length === 0 && mean === null) return null;
  return (
    <>
      {mean !== null && (
        <p class="mean">
          <strong>{numbers.format(mean)}</strong> of {choices.length} on average
        </p>
      )}
      <ul class="bars">
        {options.map((option, index) => {
          const own = votes[index] ?? 0;
          const share = own / Math.max(1, sum);
          return (
            <li key={index}>
              <span dir="auto">
                {option}
                {right === index + 1 && <span class="right"> ✓ right</span>}
              </span>
              <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" width="100" height="8" />
                <rect
                  class="fill"
                  width="100"
                  height="8"
                  style={{ transform: `scaleX(${share.toFixed(3)})` }}
                />
              </svg>
              <span class="count">
                {own === 0 ? "0" : `${numbers.format(own)} · ${percents.format(share)}`}
              </span>
            </li>
          );
        })}
      </ul>
    </>
  );
}

export function Fault({ desk, id }: { readonly desk: Desk; readonly id: string }) {
  const { value } = desk.rundown.fault(id);
  return (
    <p class="fault" role="alert">
      {value}
    </p>
  );
}

interface ButtonsProps extends ItemProps {
  readonly isCued: boolean;
}

function Buttons({ desk, item, isCued }: ButtonsProps) {
  const { id, attributes } = item;
  const { refusal } = desk;
  const zone = zoneOf(item);
  const actions = (attributes.actions ?? []) as readonly string[];
  const isChoice = optionsOf(attributes).length > 0;
  const hasResults = isChoice && attributes.reveal_results_mode === "manual";
  const hasAnswer = isChoice && /quiz|trivia|prediction/.test(String(attributes.content_type));
  const shown = attributes.results_revealed_at_iso == null ? null : "The results are shown.";
  const answered = attributes.answer_revealed_at_iso == null ? null : "The answer is shown.";
  // On air a button that was pressed keeps its place, so that no other one comes under the pointer.
  const has = (action: string, done: string | null): boolean =>
    actions.includes(action) && (done === null || zone === "air");
  return (
    <span class="buttons">
      {zone === "next" && (
        <Act refusal={refusal} onPress={() => desk.cue(id)} label={isCued ? "Cued, press to clear" : "Cue"}>
          {isCued ? "Cued" : "Cue"}
        </Act>
      )}
      {zone === "next" && isCued && (
        <Act class="take" refusal={desk.refusalToTake()} onPress={() => void desk.take()}>
          Take
        </Act>
      )}
      {actions.includes("stop") && (
        <Act refusal={refusal} onPress={() => void desk.act(id, "stop")}>
          Stop
        </Act>
      )}
      {hasResults && has("reveal_results", shown) && (
        <Act refusal={refusal ?? shown} onPress={() => void desk.act(id, "reveal_results")}>
          Results
        </Act>
      )}
      {hasAnswer && has("reveal_answer", answered) && (
        <Act refusal={refusal ?? answered} onPress={() => void desk.act(id, "reveal_answer")}>
          Answer
        </Act>
      )}
      <Menu label={`More for ${titleOf(attributes)}`} items={menuOf(desk, item, actions)} />
    </span>
  );
}

function menuOf(desk: Desk, item: Item, actions: readonly string[]): readonly MenuItem[] {
  const { refusal } = desk;
  const { id, attributes } = item;
  const isNext = attributes.state === "non_scheduled" || attributes.state === "future";
  const hasOptions = optionsOf(attributes).length > 0;
  const can = (action: string): boolean => hasOptions && actions.includes(action);
  const moves: readonly MenuItem[] = [
    { label: "Move up", shortcut: "Alt ↑", refusal, to: () => void desk.move(id, -1) },
    { label: "Move down", shortcut: "Alt ↓", refusal, to: () => void desk.move(id, 1) },
  ];
  return [
    { label: isNext ? "Edit" : "Open", shortcut: "Enter", to: () => desk.edit(id) },
    ...(isNext ? moves : []),
    ...desk.shiftItems(item),
    ...(can("reveal_results")
      ? [{ label: "Reveal results", shortcut: "R", refusal, to: () => void desk.act(id, "reveal_results") }]
      : []),
    ...(can("reveal_answer")
      ? [{ label: "Reveal the answer", shortcut: "A", refusal, to: () => void desk.act(id, "reveal_answer") }]
      : []),
    { label: "Clone as draft", refusal, to: () => void desk.cloneAsDraft(id) },
    ...(actions.includes("revoke")
      ? [{ label: "Revoke…", refusal, to: () => void desk.act(id, "revoke") }]
      : []),
    { label: "Delete…", shortcut: "Del", refusal, to: () => void desk.remove([id]) },
  ];
}
