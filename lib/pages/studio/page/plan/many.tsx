/** What a producer does to many elements at once. Each is one batch, which one undo takes back. */

import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type PageQuery, type Resource, textOf } from "../api.ts";
import { type Command, useCommands } from "../palette.tsx";
import { messageOf } from "../problem.ts";
import type { Desk } from "../run/desk.ts";
import { clockText } from "../run/row.tsx";
import { type Item, zoneOf } from "../run/rundown.ts";
import { Act, Dialog, DialogButtons } from "../ui.tsx";
import { type Inverse, makeOperations, type Operation } from "../undo.ts";
import type { ViewContext } from "../view.ts";
import { copying, operationsMax, withoutPassedTimes } from "./copies.ts";
import { secondsOf } from "./times.ts";

interface ManyProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  /** Ids of the chosen elements. */
  readonly chosen: Signal<ReadonlySet<string>>;
}

type Asked = "shift" | "copy" | null;

/** The number of chosen elements, and what can be done to them. */
export function Many({ context, desk, chosen }: ManyProps) {
  const [asked, setAsked] = useState<Asked>(null);
  const { refusal } = desk;
  const { size } = chosen.value;
  const clear = (): void => {
    chosen.value = new Set();
  };
  const removeChosen = async (): Promise<void> => {
    if (await desk.remove([...chosen.value])) clear();
  };
  const nothing = size === 0 ? "Choose elements first." : null;
  const commands: readonly Command[] = [
    {
      label: "Shift the times of the chosen elements…",
      refusal: refusal ?? nothing,
      run: () => setAsked("shift"),
    },
    {
      label: "Copy the chosen elements to another show…",
      refusal: refusal ?? nothing,
      run: () => setAsked("copy"),
    },
    { label: "Delete the chosen elements…", refusal: refusal ?? nothing, run: () => void removeChosen() },
  ];
  useCommands(() => commands);
  const items = [...chosen.value].flatMap(id => desk.rundown.item(id) ?? []);
  return (
    <div class="row">
      {size > 0 && (
        <>
          <span class="quiet">{size} chosen</span>
          <Act refusal={refusal} onPress={() => setAsked("shift")}>
            Shift times…
          </Act>
          <Act refusal={refusal} onPress={() => setAsked("copy")}>
            Copy to…
          </Act>
          <Act refusal={refusal} onPress={() => void removeChosen()}>
            Delete…
          </Act>
          <button type="button" class="plain" onClick={clear}>
            Choose none
          </button>
        </>
      )}
      {asked === "shift" && <Shift desk={desk} items={items} close={() => setAsked(null)} />}
      {asked === "copy" && <Copy context={context} desk={desk} items={items} close={() => setAsked(null)} />}
    </div>
  );
}

interface DialogProps {
  readonly desk: Desk;
  readonly items: readonly Item[];
  readonly close: () => void;
}

const offsetOf = ({ attributes }: Item): number => Number(attributes.start_offset ?? 0);

/** Returns the attributes of a time of the show. At one that has passed, an element would go on air at once. */
function timeOf({ rundown }: Desk, start_offset: number): Item["attributes"] {
  return rundown.byHandIfPassed({ start_mode: "timecode", start_offset });
}

function to({ id }: Item, attributes: Item["attributes"]): Operation {
  return { op: "update", data: { type: "elements", id, attributes } };
}

function Shift({ desk, items, close }: DialogProps) {
  const [text, setText] = useState("+1:00");
  const [fault, setFault] = useState("");
  const timed = items.filter(item => zoneOf(item) === "next" && item.attributes.start_mode === "timecode");
  const others = items.length - timed.length;
  const change = secondsOf(text);
  const late = change === null ? [] : timed.filter(item => desk.rundown.hasPassed(offsetOf(item) + change));
  function shift(): void {
    const by = change;
    const earliest = Math.min(...timed.map(offsetOf));
    const wrong =
      timed.length > operationsMax
        ? `Choose at most ${operationsMax} at once.`
        : by === null
          ? "Write minutes and seconds, such as +1:30 or -0:45."
          : earliest + by < 0
            ? `The first one is at +${clockText(earliest)}: it cannot come before the begin.`
            : "";
    setFault(wrong);
    if (wrong !== "" || by === null) return;
    close();
    const label = `times of ${timed.length === 1 ? "1 element" : `${timed.length} elements`}`;
    void desk.attempt("", async () => {
      const operations = timed.map(item => ({
        ...to(item, timeOf(desk, offsetOf(item) + by)),
        ...(item.etag !== undefined && { meta: { if_match: item.etag } }),
      }));
      const inverse = async (): Promise<Inverse> => {
        await desk.rundown.readEvent();
        const back = (item: Item): Operation =>
          to(item, { start_mode: "timecode", start_offset: offsetOf(item) });
        return withoutPassedTimes(desk.rundown, timed.map(back));
      };
      const results = await desk.history.make({ label, operations, inverse });
      desk.rundown.take(results.map(({ data }) => data));
    });
  }
  return (
    <Dialog title="Shift times" onClose={close}>
      <form
        class="stack labelled"
        onSubmit={event => {
          event.preventDefault();
          shift();
        }}
      >
        <label>
          By minutes and seconds
          <input value={text} required onInput={event => setText(event.currentTarget.value)} />
        </label>
        <p class="quiet">
          {timed.length === 0
            ? "None of them has a time that is still to come."
            : `${timed.length} with a time.`}
          {timed.length > 0 && others > 0 && ` ${others} without one stay as they are.`}
        </p>
        {late.length > 0 && (
          <p class="warned" role="status">
            {late.length} would come to a time that has passed: taken by hand instead.
          </p>
        )}
        <p class="fault" role="alert">
          {fault}
        </p>
        <DialogButtons confirm="Shift" isDisabled={timed.length === 0} close={close} />
      </form>
    </Dialog>
  );
}

const pageCount = 100;

interface OtherEvents {
  readonly events: readonly Resource[];
  /** Cursor of those that follow; null: these are all. */
  readonly next: string | null;
}

/** Reads the other events of the project, the newest first, a page at a time. */
function useOtherEvents({ api, signal }: ViewContext, { projectId, eventId }: Desk["rundown"]) {
  const [listed, setListed] = useState<OtherEvents | null>(null);
  const [fault, setFault] = useState("");
  async function read(): Promise<void> {
    setFault("");
    const query: PageQuery = {
      "page[count]": pageCount,
      ...(listed?.next && { "page[cursor]": listed.next }),
    };
    const { data, next } = await api.scopesBelow("events", projectId, query, signal);
    setListed({ events: [...(listed?.events ?? []), ...data.filter(({ id }) => id !== eventId)], next });
  }
  const more = (): void => void read().catch(error => setFault(messageOf(error)));
  useEffect(more, []);
  return { listed, fault, more };
}

function Copy({ context, desk, items, close }: DialogProps & { readonly context: ViewContext }) {
  const { rundown } = desk;
  const { listed, fault, more } = useOtherEvents(context, rundown);
  const [chosen, setId] = useState("");
  const events = listed?.events ?? [];
  const id = chosen || (events[0]?.id ?? "");
  function copy(): void {
    const event = events.find(each => each.id === id);
    if (event === undefined) return;
    close();
    void desk.attempt("", async () => {
      const ids = items.map(each => each.id);
      const { operations, lids } = await copying(context, rundown, { ids, event });
      const results = await makeOperations(context.api, operations);
      const label = `Copy ${lids.length} elements to ${textOf(event, "name")}`;
      desk.history.note({ label, inverse: removalOf(results) });
      context.announce(`Copied to ${textOf(event, "name")}: ${lids.length}`);
    });
  }
  return (
    <Dialog title="Copy to another show" onClose={close}>
      <form
        class="stack labelled"
        onSubmit={event => {
          event.preventDefault();
          copy();
        }}
      >
        {listed?.next === null && events.length === 0 ? (
          <p>The project has no other event.</p>
        ) : (
          <label>
            Show
            <select value={id} onChange={event => setId(event.currentTarget.value)}>
              {events.map(each => (
                <option key={each.id} value={each.id}>
                  {textOf(each, "name")}
                </option>
              ))}
            </select>
          </label>
        )}
        {listed !== null && listed.next !== null && (
          <button type="button" onClick={more}>
            Show older shows
          </button>
        )}
        <p class="fault" role="alert">
          {fault}
        </p>
        <p class="quiet">
          The copies are drafts, with what is inside. They keep their times unless that show runs already.
        </p>
        <DialogButtons confirm="Copy" isDisabled={id === ""} close={close} />
      </form>
    </Dialog>
  );
}

/** Returns what deletes new elements again, unless somebody has changed one since. */
export function removalOf(results: Awaited<ReturnType<typeof makeOperations>>): readonly Operation[] {
  const tags = new Map(results.map(({ data, meta }) => [data?.id ?? "", meta?.etag ?? ""]));
  return [...tags].map(([id, tag]) => ({
    op: "remove",
    ref: { type: "elements", id },
    meta: { if_match: tag },
  }));
}
