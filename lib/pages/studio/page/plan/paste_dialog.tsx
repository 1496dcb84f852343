/** Pastes elements: what would be made, what is wrong with it by row, and one batch. */

import { useEffect, useState } from "preact/hooks";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import { GrandstandError } from "../../../../client/mod.ts";
import { textOf } from "../api.ts";
import { messageOf } from "../problem.ts";
import type { Desk } from "../run/desk.ts";
import { clockText } from "../run/row.tsx";
import { Dialog, DialogButtons } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { additionsOf, inTime } from "./copies.ts";
import { removalOf } from "./many.tsx";
import { type Pasted, type PastedRow, readPasted } from "./paste.ts";

interface PasteProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly types: readonly ContentType[] | null;
  readonly locales: readonly string[];
  readonly close: () => void;
}

/** Most rows that the preview shows: those with faults come first. */
const rowsMax = 100;

export function PasteDialog({ context, desk, types, locales, close }: PasteProps) {
  const [text, setText] = useState("");
  const [pasted, setPasted] = useState<Pasted | null>(null);
  const [fault, setFault] = useState("");
  const { rundown } = desk;
  const { eventId } = rundown;
  useEffect(() => {
    let isNewest = true;
    const items = rundown.order().flatMap(id => rundown.item(id) ?? []);
    const known = new Map(items.map(item => [textOf(item, "name"), item.id]));
    const read =
      text.trim() === "" ? Promise.resolve(null) : readPasted(text, { eventId, known, types, locales });
    read.then(
      found => isNewest && setPasted(found),
      () => isNewest && setPasted({ rows: [], elements: [], faults: ["This is neither CSV nor YAML."] }),
    );
    return () => {
      isNewest = false;
    };
  }, [text]);
  const count = pasted?.elements.length ?? 0;
  async function make(): Promise<void> {
    setFault("");
    const elements = (pasted?.elements ?? []).map(element => ({
      ...element,
      attributes: rundown.byHandIfPassed(element.attributes),
    }));
    const { operations, ids } = await additionsOf(eventId, elements);
    try {
      const again = inTime(rundown, operations);
      await desk.history.make({ label: `Paste ${count} elements`, operations, inverse: removalOf, again });
      context.announce(`Made: ${count}`);
      close();
      await rundown.refresh();
    } catch (error) {
      setFault(refusalOf(error, ids, pasted));
    }
  }
  return (
    <Dialog title="Paste elements" class="paste" onClose={close}>
      <form
        class="stack labelled"
        onSubmit={event => {
          event.preventDefault();
          make().catch(error => setFault(messageOf(error)));
        }}
      >
        <label>
          CSV with a header row, cells of a spreadsheet, or YAML
          <textarea
            rows={6}
            spellcheck={false}
            placeholder={"type,name,question,option 1,option 2,at\npoll,winner,Who wins?,Home,Away,1:30"}
            value={text}
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
        {pasted !== null && <Preview pasted={pasted} hasPassed={at => rundown.hasPassed(at)} />}
        <p class="fault" role="alert">
          {fault}
        </p>
        <DialogButtons
          confirm={count === 0 ? "Make elements" : count === 1 ? "Make 1 element" : `Make ${count} elements`}
          isDisabled={count === 0}
          close={close}
        />
      </form>
    </Dialog>
  );
}

/** Says what the platform refused, and of which element. */
function refusalOf(error: unknown, ids: readonly string[], pasted: Pasted | null): string {
  const pointer = error instanceof GrandstandError ? (error.fields[0]?.pointer ?? "") : "";
  const [, index] = /^\/atomic:operations\/(\d+)/.exec(pointer) ?? [];
  const nth = pasted?.elements.findIndex(({ id }) => id === ids[Number(index ?? -1)]) ?? -1;
  const row = pasted?.rows[nth];
  return row === undefined ? messageOf(error) : `${row.place}, ${row.name}: ${messageOf(error)}`;
}

interface PreviewProps {
  readonly pasted: Pasted;
  readonly hasPassed: (at: number) => boolean;
}

function Preview({ pasted: { rows, faults }, hasPassed }: PreviewProps) {
  const faulty = rows.filter(row => row.faults.length > 0);
  const shown = [...faulty, ...rows.filter(row => row.faults.length === 0)].slice(0, rowsMax);
  const summary =
    faults.length > 0
      ? ""
      : faulty.length > 0
        ? `${faulty.length} of ${rows.length} have faults.`
        : "No faults.";
  return (
    <>
      {faults.map(text => (
        <p key={text} class="fault">
          {text}
        </p>
      ))}
      <p class="quiet" role="status">
        {summary}
        {rows.length > rowsMax && ` The first ${rowsMax} are shown.`}
      </p>
      {rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
        <section class="table scroller" tabIndex={0} aria-label="What is made">
          <table>
            <thead>
              <tr>
                <th scope="col">Place</th>
                <th scope="col">Name</th>
                <th scope="col">Type</th>
                <th scope="col">At</th>
              </tr>
            </thead>
            <tbody>
              {shown.map(row => (
                <PreviewRow key={row.place} row={row} hasPassed={hasPassed} />
              ))}
            </tbody>
          </table>
        </section>
      )}
    </>
  );
}

interface PreviewRowProps extends Pick<PreviewProps, "hasPassed"> {
  readonly row: PastedRow;
}

function PreviewRow({ row: { place, name, type, at, inside, faults }, hasPassed }: PreviewRowProps) {
  return (
    <tr>
      <td>{place}</td>
      <th scope="row" dir="auto">
        {name}
        {inside !== "" && <span class="quiet"> in {inside}</span>}
        {faults.map(text => (
          <p key={text} class="fault">
            {text}
          </p>
        ))}
      </th>
      <td>{type}</td>
      <td>
        {at !== null && `+${clockText(at)}`}
        {at !== null && hasPassed(at) && <span class="warned"> has passed: taken by hand</span>}
      </td>
    </tr>
  );
}
