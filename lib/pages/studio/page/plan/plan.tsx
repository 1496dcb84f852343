/** Plans an event: its elements as a table, in order, with what they lack before they can go on air. */

import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import { useAnswer } from "../answers.tsx";
import type { Resource } from "../api.ts";
import { readBoards } from "../boards.ts";
import { missingTexts, untranslated } from "../editor/contents.ts";
import { Editor } from "../editor/editor.tsx";
import { readerOf } from "../editor/merge.ts";
import { NewElement, useContentTypes } from "../new_element.tsx";
import { useCommands } from "../palette.tsx";
import { titleOf } from "../results.ts";
import { Desk } from "../run/desk.ts";
import { clockText, Fault } from "../run/row.tsx";
import { type Item, Rundown, zoneOf, zones } from "../run/rundown.ts";
import { type KeyCommand, pressKey, rowCommands, useFixedRow, useWayIn } from "../run/timeline.tsx";
import { Act, Menu, State, useGrowingList } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { Many } from "./many.tsx";
import { type Lack, lacksOf, type PlannedShow } from "./ready.ts";

/** What the parts of the view share. */
interface Planning {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly types: readonly ContentType[] | null;
  readonly locales: readonly string[];
  readonly lacks: ReadonlyMap<string, readonly Lack[]>;
  /** Id of the row that has the focus or had it last. */
  readonly current: { value: string | null };
  /** Ids of the elements that are chosen for what is done to many. */
  readonly chosen: Signal<ReadonlySet<string>>;
}

export function Plan({ context }: { readonly context: ViewContext }) {
  const desk = useMemo(() => new Desk(context, new Rundown(context)), []);
  const current = useSignal<string | null>(null);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const { rundown } = desk;
  useEffect(() => rundown.start(), []);
  const types = useContentTypes(context, desk);
  const project = context.chain.find(({ type }) => type === "projects");
  const locales = (project?.attributes.locales ?? []) as readonly string[];
  const { value: boards } = useAnswer(async () => (await readBoards(context)).ofPage, context);
  const show: PlannedShow = { types, locales, boards, duration: durationOf(rundown.event.value) };
  // The order says nothing of elements that come and go.
  for (const zone of zones) void rundown.ids[zone].value;
  const items = rundown.order().flatMap(id => rundown.item(id) ?? []);
  const lacks = useMemo(() => lacksOf(items, show), [...items, items.length, types, boards, show.duration]);
  // What others have deleted is not chosen any more.
  if ([...chosen.value].some(id => rundown.item(id) === undefined))
    chosen.value = new Set([...chosen.value].filter(id => rundown.item(id) !== undefined));
  const planning: Planning = { context, desk, types, locales, lacks, current, chosen };
  const { item } = context.place;
  return (
    <div class="run">
      {desk.refusal !== null && <p class="note">You can watch. {desk.refusal}</p>}
      <Fault desk={desk} id="" />
      <div class="row">
        <NewElement context={context} desk={desk} />
        <Paste planning={planning} />
        <Many context={context} desk={desk} chosen={chosen} />
      </div>
      {!rundown.isLoaded.value ? (
        <p class="quiet" role="status">
          Loading…
        </p>
      ) : items.length === 0 ? (
        <p class="empty">There are no elements yet.</p>
      ) : (
        <div class="desk planning" data-edits={item !== null}>
          <div class="stack">
            <Readiness planning={planning} items={items} />
            <Table planning={planning} items={items} />
          </div>
          {item !== null && (
            <Editor
              key={item}
              context={context}
              desk={desk}
              id={item}
              onClose={() => {
                location.hash = desk.hrefTo();
              }}
            />
          )}
        </div>
      )}
    </div>
  );
}

type PasteDialog = typeof import("./paste_dialog.tsx")["PasteDialog"];

/** The dialog loads when somebody pastes. */
function Paste({ planning: { context, desk, types, locales } }: { readonly planning: Planning }) {
  const [opened, setOpened] = useState<{ readonly View: PasteDialog } | null>(null);
  const open = async (): Promise<void> =>
    setOpened({ View: (await import("./paste_dialog.tsx")).PasteDialog });
  const { refusal } = desk;
  useCommands(() => [{ label: "Paste elements…", refusal, run: () => void open() }]);
  return (
    <>
      <Act refusal={refusal} onPress={() => void open()}>
        Paste…
      </Act>
      {opened !== null && (
        <opened.View
          context={context}
          desk={desk}
          types={types}
          locales={locales}
          close={() => setOpened(null)}
        />
      )}
    </>
  );
}

/** Returns the seconds that an event runs; 0: until somebody stops it. */
function durationOf({ attributes }: Resource): number {
  const { duration, extra_time_duration: extra, start_at: begin, end_at: end } = attributes;
  const fixed = Number(end ?? 0) > 0 && Number(begin ?? 0) > 0 ? Number(end) - Number(begin) : 0;
  const length = fixed || Number(duration ?? 0);
  return length === 0 ? 0 : length + Number(extra ?? 0);
}

interface TableProps {
  readonly planning: Planning;
  readonly items: readonly Item[];
}

/** What publishing would refuse and fans would miss, element by element. */
function Readiness({ planning: { desk, lacks }, items }: TableProps) {
  const unready = items.filter(({ id }) => (lacks.get(id) ?? []).length > 0);
  const refused = unready.filter(({ id }) => lacks.get(id)?.some(({ isRefused }) => isRefused)).length;
  if (unready.length === 0)
    return <p class="quiet">{lacks.size === 0 ? "Nothing is planned." : "All that is planned is ready."}</p>;
  const summary =
    refused === 0 ? "All can be published" : `${refused} of ${lacks.size} cannot be published yet`;
  return (
    <details class="lacks">
      <summary>Ready? {summary}</summary>
      <ul class="list">
        {unready.map(({ id, attributes }) => (
          <li key={id}>
            <a href={desk.hrefTo(id)} dir="auto">
              {titleOf(attributes)}
            </a>
            <ul>
              {lacks.get(id)?.map(({ text, isRefused }) => (
                <li key={text} class={isRefused ? "fault" : "quiet"}>
                  {text}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Table({ planning, items }: TableProps) {
  const { desk, current, locales } = planning;
  const list = useRef<HTMLTableElement>(null);
  const { count, end } = useGrowingList<HTMLTableRowElement>(items.length);
  useFixedRow(list, current);
  useWayIn(list);
  if (current.value === null || desk.rundown.item(current.value) === undefined)
    current.value = items[0]?.id ?? null;
  const commands = [...rowCommands(planning, list), ...choosing(planning, items)];
  useCommands(() => commands);
  return (
    <div class="table">
      <table
        class="elements"
        ref={list}
        onKeyDown={event => pressKey(event, commands, true)}
        onFocusIn={({ target }) => {
          const id = (target as Element).closest<HTMLElement>("[data-id]")?.dataset.id;
          if (id !== undefined) current.value = id;
        }}
      >
        <thead>
          <tr>
            <td>
              <ChooseAll planning={planning} items={items} />
            </td>
            <th scope="col">Name</th>
            <th scope="col" class="less">
              Type
            </th>
            <th scope="col">At</th>
            <th scope="col" class="less">
              Open for
            </th>
            {locales.length > 0 && (
              <th scope="col" class="less">
                Languages
              </th>
            )}
            <th scope="col">Ready?</th>
            <td />
          </tr>
        </thead>
        <tbody>
          {items.slice(0, count).map(({ id }) => (
            <Row key={id} planning={planning} id={id} />
          ))}
          {items.length > count && (
            <tr ref={end}>
              <td class="quiet">{items.length - count} more</td>
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Keys that choose rows. */
function choosing({ desk, current, chosen }: Planning, items: readonly Item[]): readonly KeyCommand[] {
  const { refusal } = desk;
  const ids = items.map(({ id }) => id);
  const own = (): readonly string[] => (current.value === null ? [] : [current.value]);
  async function remove(): Promise<void> {
    const isMany = chosen.value.size > 0;
    if ((await desk.remove(isMany ? ids.filter(id => chosen.value.has(id)) : own())) && isMany)
      chosen.value = new Set();
  }
  return [
    { key: " ", shortcut: "Space", label: "Choose the element", run: () => toggle(chosen, own()) },
    { key: "a", shortcut: "A", label: "Choose all elements, or none", run: () => toggle(chosen, ids) },
    { key: "Delete", shortcut: "Del", label: "Delete what is chosen", refusal, run: () => void remove() },
  ];
}

/** Chooses elements, or none of them where all are chosen. */
function toggle(chosen: Planning["chosen"], ids: readonly string[]): void {
  const isAll = ids.every(id => chosen.value.has(id));
  const rest = [...chosen.value].filter(id => !ids.includes(id));
  chosen.value = new Set(isAll ? rest : [...rest, ...ids]);
}

function ChooseAll({ planning: { chosen }, items }: TableProps) {
  const ids = items.map(({ id }) => id);
  return (
    <input
      type="checkbox"
      aria-label="Choose all"
      checked={ids.every(id => chosen.value.has(id))}
      onChange={() => toggle(chosen, ids)}
    />
  );
}

interface RowProps {
  readonly planning: Planning;
  readonly id: string;
}

function Row({ planning, id }: RowProps) {
  const { desk, current, chosen, lacks, locales } = planning;
  const item = desk.rundown.items.get(id)?.value;
  if (item === undefined) return null;
  const { attributes, parent } = item;
  const title = titleOf(attributes);
  const isNext = zoneOf(item) === "next";
  const duration = Number(attributes.duration ?? 0);
  return (
    <tr
      data-id={id}
      data-child={parent !== null}
      tabIndex={current.value === id ? 0 : -1}
      aria-busy={desk.busy.value.includes(id)}
      {...dragging(desk, item)}
    >
      <td class="choice">
        <input
          type="checkbox"
          aria-label={`Choose ${title}`}
          tabIndex={current.value === id ? 0 : -1}
          checked={chosen.value.has(id)}
          onChange={() => toggle(chosen, [id])}
        />
      </td>
      <th scope="row" dir="auto">
        <a href={desk.hrefTo(id)} tabIndex={-1}>
          {title}
        </a>
        <Fault desk={desk} id={id} />
      </th>
      <td class="less">{String(attributes.content_type)}</td>
      <td data-label="At">
        {attributes.start_mode === "timecode" ? `+${clockText(Number(attributes.start_offset))}` : ""}
      </td>
      <td class="less" data-label="Open for">
        {duration > 0 ? clockText(duration) : ""}
      </td>
      {locales.length > 0 && (
        <td class="less">
          <Languages planning={planning} item={item} />
        </td>
      )}
      <td>{isNext ? <Ready lacks={lacks.get(id) ?? []} /> : <State state={String(attributes.state)} />}</td>
      <td>
        <Menu label={`More for ${title}`} items={menuOf(desk, item)} />
      </td>
    </tr>
  );
}

function menuOf(desk: Desk, item: Item) {
  const { refusal } = desk;
  const { id } = item;
  return [
    { label: "Edit", shortcut: "Enter", to: () => desk.edit(id) },
    { label: "Move up", shortcut: "Alt ↑", refusal, to: () => void desk.move(id, -1) },
    { label: "Move down", shortcut: "Alt ↓", refusal, to: () => void desk.move(id, 1) },
    ...desk.shiftItems(item),
    { label: "Clone as draft", refusal, to: () => void desk.cloneAsDraft(id) },
    { label: "Delete…", refusal, to: () => void desk.remove([id]) },
  ];
}

const dragType = "application/x-element";

/** Returns the handlers by which a row can be dragged to the place of another one. */
function dragging(desk: Desk, item: Item) {
  if (desk.refusal !== null || zoneOf(item) !== "next") return {};
  return {
    draggable: true,
    onDragStart: ({ dataTransfer }: DragEvent) => dataTransfer?.setData(dragType, item.id),
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer?.types.includes(dragType)) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      const id = event.dataTransfer?.getData(dragType) ?? "";
      if (id === "") return;
      event.preventDefault();
      void desk.moveTo(id, item.id);
    },
  };
}

function Ready({ lacks }: { readonly lacks: readonly Lack[] }) {
  const refused = lacks.filter(({ isRefused }) => isRefused).length;
  const hint = lacks.map(({ text }) => text).join(". ");
  if (refused > 0)
    return (
      <span class="fault" title={hint}>
        Not yet: {refused}
      </span>
    );
  return (
    <span class="good" title={hint}>
      Ready
      {lacks[0] !== undefined && (
        <span class="warned">
          {" "}
          · {lacks[0].text}
          {lacks.length > 1 && `, and ${lacks.length - 1} more`}
        </span>
      )}
    </span>
  );
}

/** Which languages an element has, and which lack texts. */
function Languages({
  planning: { types, locales },
  item: { attributes },
}: {
  readonly planning: Planning;
  readonly item: Item;
}) {
  const type = types?.find(({ content_type: name }) => name === attributes.content_type);
  if (type === undefined) return null;
  const read = readerOf(attributes);
  const same = untranslated(type, locales, read);
  return (
    <span class="languages">
      {locales.map(locale => {
        const missing = missingTexts(type, locale, read).length;
        return (
          <span key={locale} class={missing > 0 ? "warned" : undefined}>
            {locale}
            {missing > 0 ? `: ${missing} missing` : same.includes(locale) && ": as for all"}
          </span>
        );
      })}
    </span>
  );
}
