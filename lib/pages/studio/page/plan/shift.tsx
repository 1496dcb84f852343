/** Shifts times of the show, in one batch that one undo takes back. */

import { useState } from "preact/hooks";
import type { Desk } from "../run/desk.ts";
import { clockText } from "../run/row.tsx";
import { type Item, timecodeOf, zoneOf } from "../run/rundown.ts";
import { Dialog, DialogButtons } from "../ui.tsx";
import type { Inverse, Operation } from "../undo.ts";
import { inTime, operationsMax } from "./copies.ts";
import { secondsOf } from "./times.ts";

interface ShiftProps {
  readonly desk: Desk;
  readonly ids: readonly string[];
  readonly close: () => void;
}

const offsetOf = (item: Item): number => timecodeOf(item) ?? 0;

/** Returns the attributes of a time of the show. At one that has passed, an element would go on air at once. */
function timeOf({ rundown }: Desk, start_offset: number): Item["attributes"] {
  return rundown.byHandIfPassed({ start_mode: "timecode", start_offset });
}

function to({ id }: Item, attributes: Item["attributes"]): Operation {
  return { op: "update", data: { type: "elements", id, attributes } };
}

/** Asks by how much to shift the times of elements that are still to come. */
export function Shift({ desk, ids, close }: ShiftProps) {
  const [text, setText] = useState("+1:00");
  const [fault, setFault] = useState("");
  const items = ids.flatMap(id => desk.rundown.item(id) ?? []);
  const timed = items.filter(item => zoneOf(item) === "next" && timecodeOf(item) !== null);
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
      const shiftedBy = (seconds: number): (() => Promise<Inverse>) => {
        const shifted = (item: Item): Operation =>
          to(item, { start_mode: "timecode", start_offset: offsetOf(item) + seconds });
        return inTime(desk.rundown, timed.map(shifted));
      };
      const change = { label, operations, inverse: shiftedBy(0), again: shiftedBy(by) };
      const results = await desk.history.make(change);
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
          {timed.length === 0 ? "None has a time that is still to come." : `${timed.length} with a time.`}
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
