/** What the editor asks where a draft meets what others did, or what the browser kept. */

import { useId, useState } from "preact/hooks";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import type { Conflict } from "../../../../base/json/mod.ts";
import type { Desk } from "../run/desk.ts";
import { Act } from "../ui.tsx";
import { nameOf } from "./contents.ts";
import type { Editing } from "./editing.ts";
import { type Attributes, merge, valueAt } from "./merge.ts";

interface AskingProps {
  readonly editing: Editing;
  readonly desk: Desk;
  readonly type: ContentType | null;
}

const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function Gone({ editing, desk, type }: AskingProps) {
  return (
    <div class="problem stack" role="alert">
      <p>Somebody has deleted this element.</p>
      {type !== null && (
        <Act refusal={desk.refusal} onPress={() => void goOnIn(desk, { type, editing, text: editing.mine })}>
          Restore with my text
        </Act>
      )}
    </div>
  );
}

export function Offer({ editing }: { readonly editing: Editing }) {
  const { value } = editing.offered;
  if (value === null) return null;
  return (
    <div class="note stack offer" role="alert">
      <p>This browser kept text of yours from {day.format(value.at)} that was not saved.</p>
      <div class="row">
        <button type="button" class="main" onClick={() => void editing.takeOffer(true)}>
          Take it
        </button>
        <button type="button" onClick={() => void editing.takeOffer(false)}>
          Forget it
        </button>
      </div>
    </div>
  );
}

/** Makes another draft of what was typed, which is forgotten here once that one exists. */
async function goOnIn(
  desk: Desk,
  {
    type,
    editing,
    text: attributes,
  }: { readonly type: ContentType; readonly editing: Editing; readonly text: Attributes },
): Promise<void> {
  if (await desk.create(type.content_type, attributes)) await editing.forget();
}

/** What was typed when somebody published the element. */
export function Stranded({ editing, desk, type }: AskingProps) {
  const { value: attributes } = editing.stranded;
  if (attributes === null || type === null) return null;
  const { taken } = merge(editing.mine, editing.mine, attributes);
  return (
    <section class="note stack" role="alert">
      <h3>{editing.rivalName.value} published this while you typed</h3>
      <p>Fans see the version below. Your text is kept here:</p>
      <dl class="kept">
        {taken.map(path => (
          <div key={JSON.stringify(path)}>
            <dt>{nameOf(path)}</dt>
            <dd dir="auto">{shown(valueAt(attributes, path))}</dd>
          </div>
        ))}
      </dl>
      <div class="row">
        <Act
          class="main"
          refusal={desk.refusal}
          onPress={() => void goOnIn(desk, { type, editing, text: attributes })}
        >
          Clone as draft with my text
        </Act>
        <button type="button" onClick={() => void editing.forget()}>
          Forget it
        </button>
      </div>
    </section>
  );
}

type Side = "mine" | "theirs" | "both";

/** What both changed: nothing is sent before the producer has chosen. */
export function Conflicts({ editing }: { readonly editing: Editing }) {
  const { value: conflicts } = editing.conflicts;
  const [sides, setSides] = useState<Readonly<Record<string, Side>>>({});
  const [edited, setEdited] = useState<Readonly<Record<string, string>>>({});
  if (conflicts.length === 0) return null;
  const { value: name } = editing.rivalName;
  const chosen = (conflict: Conflict): unknown => {
    const key = JSON.stringify(conflict.path);
    const side = sides[key] ?? "mine";
    return side === "both" ? (edited[key] ?? bothOf(conflict)) : conflict[side];
  };
  return (
    <section class="conflicts note stack" role="alert">
      <h3>{name} changed this while you typed</h3>
      {conflicts.map(conflict => {
        const key = JSON.stringify(conflict.path);
        return (
          <ConflictChoice
            key={key}
            conflict={conflict}
            name={name}
            side={sides[key] ?? "mine"}
            choose={side => setSides({ ...sides, [key]: side })}
            edited={edited[key] ?? bothOf(conflict)}
            edit={value => setEdited({ ...edited, [key]: value })}
          />
        );
      })}
      <button
        type="button"
        class="main"
        onClick={() => {
          setSides({});
          setEdited({});
          void editing.choose(conflicts.map(chosen));
        }}
      >
        Keep as chosen
      </button>
    </section>
  );
}

interface ConflictChoiceProps {
  readonly conflict: Conflict;
  /** Who changed the same. */
  readonly name: string;
  readonly side: Side;
  readonly choose: (side: Side) => void;
  readonly edited: string;
  readonly edit: (value: string) => void;
}

function ConflictChoice({ conflict, name, side, choose, edited, edit }: ConflictChoiceProps) {
  const group = useId();
  const radio = (value: Side, label: string) => (
    <label class="check">
      <input type="radio" name={group} checked={side === value} onChange={() => choose(value)} />
      <span>
        {label}
        {value !== "both" && (
          <>
            : <q dir="auto">{shown(conflict[value])}</q>
          </>
        )}
      </span>
    </label>
  );
  const isText = typeof conflict.mine === "string" && typeof conflict.theirs === "string";
  return (
    <fieldset>
      <legend>{nameOf(conflict.path)}</legend>
      {radio("mine", "Yours")}
      {radio("theirs", name === "Somebody" ? "Theirs" : `${name}’s`)}
      {isText && radio("both", "Edit both")}
      {side === "both" && (
        <textarea
          dir="auto"
          rows={2}
          aria-label={`${nameOf(conflict.path)}, of both`}
          value={edited}
          onInput={event => edit(event.currentTarget.value)}
        />
      )}
    </fieldset>
  );
}

function bothOf({ mine, theirs }: Conflict): string {
  return `${mine} ${theirs}`;
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  if (!Array.isArray(value)) return typeof value === "object" ? JSON.stringify(value) : String(value);
  const options = value as readonly {
    readonly fields?: readonly { readonly values: Record<string, unknown> }[];
  }[];
  return options
    .map(each => each.fields?.map(({ values }) => Object.values(values).join(" / ")).join(" "))
    .join(", ");
}
