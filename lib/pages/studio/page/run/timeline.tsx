/** The timeline of a show: what is on air, what comes next and what is done, led by the keyboard. */

import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type Command, useCommands } from "../palette.tsx";
import { titleOf } from "../results.ts";
import { useGrowingList } from "../ui.tsx";
import { type Desk, deviceSwitch } from "./desk.ts";
import { clockText, Row } from "./row.tsx";
import { type Item, timecodeOf, type Zone, zoneOf, zones } from "./rundown.ts";

const titles: Readonly<Record<Zone, string>> = { air: "On air", next: "Next", done: "Done" };
interface TimelineProps {
  readonly desk: Desk;
  /** Id of the row that has the focus or had it last. */
  readonly current: { value: string | null };
}

export type List = { readonly current: HTMLElement | null };

/** A command, and the name of its key as the browser says it. */
export interface KeyCommand extends Command {
  readonly key: string;
}

export function Timeline({ desk, current }: TimelineProps) {
  const list = useRef<HTMLDivElement>(null);
  const keys = useMemo(() => deviceSwitch("keys of the timeline"), []);
  const { rundown } = desk;
  const ids = zones.map(zone => rundown.ids[zone].value);
  useFixedRow(list, current);
  useWayIn(list);
  const first = ids.flat()[0] ?? null;
  if (current.value === null || rundown.items.get(current.value) === undefined) current.value = first;
  const commands = [...actionCommands({ desk, current }, list), ...rowCommands({ desk, current }, list)];
  const switchKeys: Command = {
    label: keys.value ? "Switch the keys of the timeline off" : "Switch the keys of the timeline on",
    run() {
      keys.value = !keys.value;
    },
  };
  const { holds } = desk;
  const switchHold: Command = {
    label: holds.value ? "Take at once" : "Wait 3 s before a take",
    refusal: desk.refusal,
    run: () => void desk.holdPublishes(!holds.value),
  };
  useCommands(() => [...commands, switchKeys, switchHold]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys act on the rows inside, which have the focus
    <div
      class="timeline"
      ref={list}
      onKeyDown={event => pressKey(event, commands, keys.value)}
      onFocusIn={({ target }) => {
        const id = (target as Element).closest<HTMLElement>("[data-id]")?.dataset.id;
        if (id !== undefined) current.value = id;
      }}
      onPointerDown={() => holdWhilePressed(desk)}
    >
      <Held desk={desk} />
      {zones.map((zone, index) => (
        <ZoneList key={zone} zone={zone} ids={ids[index] ?? []} desk={desk} current={current} />
      ))}
      <div class="hints">
        {keys.value && (
          <p>
            <kbd>↑</kbd> <kbd>↓</kbd> choose a row <kbd>C</kbd> cue <kbd>T</kbd> take <kbd>Enter</kbd> edit{" "}
            <kbd>?</kbd> all keys
          </p>
        )}
        <button type="button" role="switch" class="plain" aria-checked={keys.value} onClick={switchKeys.run}>
          Keys: {keys.value ? "on" : "off"}
        </button>
        <button
          type="button"
          role="switch"
          class="plain"
          title={desk.refusal ?? undefined}
          disabled={desk.refusal !== null}
          aria-checked={holds.value}
          onClick={switchHold.run}
        >
          Wait 3 s before a take: {holds.value ? "on" : "off"}
        </button>
      </div>
    </div>
  );
}

/** What the clock publishes next, beside what is cued. It is always there, so that no row moves with it. */
function Coming({ desk }: Pick<TimelineProps, "desk">) {
  const { rundown, cued } = desk;
  const [due, taken] = [rundown.due.value, cued.value].map(id => rundown.item(id ?? ""));
  return (
    <p class="quiet">
      {due !== undefined && (
        <>
          Next by the clock: <strong dir="auto">{titleOf(due.attributes)}</strong>{" "}
          <TimeLeft desk={desk} item={due} /> ·{" "}
        </>
      )}
      {taken === undefined ? (
        "Nothing is cued."
      ) : (
        <>
          Cued: <strong dir="auto">{titleOf(taken.attributes)}</strong>
        </>
      )}
    </p>
  );
}

function TimeLeft({ desk: { rundown }, item }: Pick<TimelineProps, "desk"> & { readonly item: Item }) {
  const at = rundown.dueAt();
  return at === null ? (
    <>at +{clockText(timecodeOf(item) ?? 0)}</>
  ) : (
    <>in {clockText(at - rundown.now.value)}</>
  );
}

/** A take that waits, and the way out. */
function Held({ desk }: Pick<TimelineProps, "desk">) {
  const { value: held } = desk.held;
  if (held === null) return null;
  return (
    <p class="note row spread">
      <span>
        On air in 3 s: <strong dir="auto">{held.title}</strong>
      </span>
      <button type="button" onClick={held.cancel}>
        Cancel <kbd>Esc</kbd>
      </button>
    </p>
  );
}

/** Does what a key stands for, unless single keys are switched off. */
export function pressKey(event: KeyboardEvent, commands: readonly KeyCommand[], hasLetters: boolean): void {
  const { key, altKey, ctrlKey, metaKey, repeat, target } = event;
  if (ctrlKey || metaKey || (target as Element).closest(".menu") !== null) return;
  const isOnButton = (target as Element).closest("button, a, summary, input") !== null;
  const name = `${altKey ? "Alt " : ""}${key.length === 1 ? key.toLowerCase() : key}`;
  const command = commands.find(each => each.key === name);
  if (
    command === undefined ||
    (isOnButton && (key === "Enter" || key === " ")) ||
    (key.length === 1 && !hasLetters)
  )
    return;
  event.preventDefault();
  // A key that is held down is one press.
  if (!repeat || key.startsWith("Arrow")) command.run();
}

/** Leads an arrow key to the timeline where nothing else has the focus. */
export function useWayIn(list: List): void {
  useEffect(() => {
    function enter(event: KeyboardEvent): void {
      const isTaken = document.activeElement?.matches("body, main") === false;
      if (isTaken || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
      event.preventDefault();
      list.current?.querySelector<HTMLElement>('[data-id][tabindex="0"]')?.focus();
    }
    document.addEventListener("keydown", enter);
    return () => document.removeEventListener("keydown", enter);
  }, []);
}

/** Moves no row while a pointer is down, so that a press meets what it was meant for. */
function holdWhilePressed({ rundown }: Desk): void {
  rundown.hold(true);
  // The click comes after the pointer is up.
  const release = (): void => void setTimeout(() => rundown.hold(false));
  addEventListener("pointerup", release, { once: true });
  addEventListener("pointercancel", release, { once: true });
}

function actionCommands({ desk, current }: TimelineProps, list: List): readonly KeyCommand[] {
  const { rundown, refusal } = desk;
  const { value: held } = desk.held;
  /** Runs for the row with the focus if it is published, else for the newest on air. */
  const about = (action: "stop" | "reveal_results" | "reveal_answer") => (): void => {
    const item = current.value === null ? undefined : rundown.item(current.value);
    const isPublished = item !== undefined && zoneOf(item) !== "next";
    const id = isPublished ? item.id : rundown.ids.air.value.at(-1);
    if (id !== undefined) void desk.act(id, action);
  };
  async function take(): Promise<void> {
    const { value } = rundown.ids.next;
    const next = value[value.indexOf(desk.cued.value ?? "") + 1];
    if ((await desk.take()) && next !== undefined)
      list.current?.querySelector<HTMLElement>(`[data-id="${next}"]`)?.focus();
  }
  const cue = (): void => void (current.value !== null && desk.cue(current.value));
  const remove = (): void => void (current.value !== null && desk.remove([current.value]));
  const takes = { label: "Take what is cued", refusal: desk.refusalToTake(), run: () => void take() };
  return [
    { key: "c", shortcut: "C", label: "Cue the element", refusal, run: cue },
    { key: "t", shortcut: "T", ...takes },
    ...(held === null
      ? []
      : [{ key: "Escape", shortcut: "Esc", label: "Cancel the take", run: held.cancel }]),
    { key: "s", shortcut: "S", label: "Stop the element on air", refusal, run: about("stop") },
    { key: "r", shortcut: "R", label: "Reveal the results", refusal, run: about("reveal_results") },
    { key: "a", shortcut: "A", label: "Reveal the answer", refusal, run: about("reveal_answer") },
    { key: "Delete", shortcut: "Del", label: "Delete the element", refusal, run: remove },
  ];
}

/** The keys that edit and move the current row, and that lead from row to row. */
export function rowCommands({ desk, current }: TimelineProps, list: List): readonly KeyCommand[] {
  const { refusal } = desk;
  const own = (run: (id: string) => unknown) => (): void =>
    void (current.value !== null && run(current.value));
  const [up, down] = [own(id => desk.move(id, -1)), own(id => desk.move(id, 1))];
  return [
    { key: "Enter", shortcut: "Enter", label: "Edit the element", run: own(id => desk.edit(id)) },
    { key: "Alt ArrowUp", shortcut: "Alt ↑", label: "Move the element up", refusal, run: up },
    { key: "Alt ArrowDown", shortcut: "Alt ↓", label: "Move the element down", refusal, run: down },
    ...goCommands(current, list),
  ];
}

function goCommands(current: { readonly value: string | null }, list: List): readonly KeyCommand[] {
  const go = (by: number) => (): void => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("[data-id]") ?? [])];
    const at = rows.findIndex(row => row.dataset.id === current.value);
    rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
  };
  return [
    { key: "ArrowUp", shortcut: "↑", label: "Go to the row above", run: go(-1) },
    { key: "ArrowDown", shortcut: "↓", label: "Go to the row below", run: go(1) },
    { key: "Home", shortcut: "Home", label: "Go to the first row", run: go(Number.NEGATIVE_INFINITY) },
    { key: "End", shortcut: "End", label: "Go to the last row", run: go(Number.POSITIVE_INFINITY) },
  ];
}

/** Keeps the row with the focus where it is on the screen, and keeps its focus, when rows above it come or go. */
export function useFixedRow(
  list: { readonly current: HTMLElement | null },
  current: { readonly value: string | null },
): void {
  const { activeElement } = document;
  const focused = list.current?.contains(activeElement)
    ? (activeElement?.closest<HTMLElement>("[data-id]") ?? null)
    : null;
  const top = focused?.getBoundingClientRect().top;
  const id = focused?.dataset.id;
  useLayoutEffect(() => {
    if (id === undefined || top === undefined) return;
    const row = list.current?.querySelector<HTMLElement>(`[data-id="${id}"]`);
    if (row === null || row === undefined) return;
    if (current.value === id && document.activeElement === document.body) row.focus({ preventScroll: true });
    const moved = row.getBoundingClientRect().top - top;
    if (moved !== 0) scrollBy(0, moved);
  });
}

interface ZoneProps extends TimelineProps {
  readonly zone: Zone;
  readonly ids: readonly string[];
}

function ZoneList({ zone, ids, desk, current }: ZoneProps) {
  const { count, end } = useGrowingList<HTMLLIElement>(ids.length);
  const title = (
    <>
      {titles[zone]} {zone !== "air" && ids.length > 0 && <span class="count">{ids.length}</span>}
    </>
  );
  const rows = (
    <ul class="items" aria-label={titles[zone]}>
      {ids.slice(0, count).map(id => (
        <Row key={id} desk={desk} id={id} current={current} />
      ))}
      {ids.length > count && (
        <li ref={end} class="quiet">
          {ids.length - count} more
        </li>
      )}
    </ul>
  );
  if (zone === "done") {
    return ids.length === 0 ? null : (
      <details class="zone" data-zone={zone} open>
        <summary>
          <h2>{title}</h2>
        </summary>
        {rows}
      </details>
    );
  }
  return (
    <section class="zone" data-zone={zone}>
      <h2>{title}</h2>
      {zone === "next" && ids.length > 0 && <Coming desk={desk} />}
      {ids.length === 0 ? (
        <p class="nothing">{zone === "air" ? "Nothing is on air." : "Nothing is planned."}</p>
      ) : (
        rows
      )}
    </section>
  );
}
