/** What a producer does to many elements at once. Each is one batch, which one undo takes back. */

import type { Signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type PageQuery, type Resource, textOf } from "../api.ts";
import { type Command, useCommands } from "../palette.tsx";
import { messageOf } from "../problem.ts";
import type { Desk } from "../run/desk.ts";
import type { Item } from "../run/rundown.ts";
import { Act, Dialog, DialogButtons } from "../ui.tsx";
import type { Inverse, Operation, OperationResult } from "../undo.ts";
import type { ViewContext } from "../view.ts";
import { copying } from "./copies.ts";
import { Shift } from "./shift.tsx";

interface ManyProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  /** Ids of the chosen elements. */
  readonly chosen: Signal<ReadonlySet<string>>;
}

/** The number of chosen elements, and what can be done to them. */
export function Many({ context, desk, chosen }: ManyProps) {
  const [copies, setCopies] = useState(false);
  const { refusal } = desk;
  const { size } = chosen.value;
  const clear = (): void => {
    chosen.value = new Set();
  };
  const removeChosen = async (): Promise<void> => {
    if (await desk.remove([...chosen.value])) clear();
  };
  const shift = (ids: readonly string[] | null): void => {
    desk.shifted.value = ids;
  };
  const shiftChosen = (): void => shift([...chosen.value]);
  const nothing = size === 0 ? "Choose elements first." : null;
  const commands: readonly Command[] = [
    size === 0
      ? { label: "Shift all times to come…", refusal, run: () => desk.shiftTimes() }
      : { label: "Shift the times of the chosen elements…", refusal, run: shiftChosen },
    {
      label: "Copy the chosen elements to another show…",
      refusal: refusal ?? nothing,
      run: () => setCopies(true),
    },
    { label: "Delete the chosen elements…", refusal: refusal ?? nothing, run: () => void removeChosen() },
  ];
  useCommands(() => commands);
  const items = [...chosen.value].flatMap(id => desk.rundown.item(id) ?? []);
  const { value: shifted } = desk.shifted;
  return (
    <div class="row">
      {size > 0 && (
        <>
          <span class="quiet">{size} chosen</span>
          <Act refusal={refusal} onPress={shiftChosen}>
            Shift times…
          </Act>
          <Act refusal={refusal} onPress={() => setCopies(true)}>
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
      {shifted !== null && <Shift desk={desk} ids={shifted} close={() => shift(null)} />}
      {copies && <Copy context={context} desk={desk} items={items} close={() => setCopies(false)} />}
    </div>
  );
}

interface CopyProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly items: readonly Item[];
  readonly close: () => void;
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

function Copy({ context, desk, items, close }: CopyProps) {
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
      const name = textOf(event, "name");
      let count = 0;
      await desk.history.make(async () => {
        const { operations, lids } = await copying(context, rundown, { ids, event });
        count = lids.length;
        const again = async (): Promise<Inverse> => {
          const found = await context.api.control.readEvent({ eventId: id });
          const copies = await copying(context, rundown, { ids, event: found as unknown as Resource });
          return { operations: copies.operations, note: "" };
        };
        return { label: `Copy ${count} elements to ${name}`, operations, inverse: removalOf, again };
      });
      context.announce(`Copied to ${name}: ${count}`);
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

/** Returns what deletes new elements again. */
export function removalOf(results: readonly OperationResult[]): readonly Operation[] {
  const ids = new Set(results.flatMap(({ data }) => data?.id ?? []));
  return [...ids].map(id => ({ op: "remove", ref: { type: "elements", id } }));
}
