/** A field for each type of property. Each binds the signal of its value alone, so that a keystroke draws one field. */

import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import type { Property } from "../../../../authoring/table/content_types.ts";
import type { Path } from "../../../../base/json/mod.ts";
import { wordsOfBoard } from "../../../shared/page/board_name.ts";
import { metricTitles } from "../answers.tsx";
import { readBoards } from "../boards.ts";
import { instantOf, localIn, ownZone } from "../plan/zones.ts";
import { titleOf } from "../results.ts";
import type { Rundown } from "../run/rundown.ts";
import type { ViewContext } from "../view.ts";
import type { Editing } from "./editing.ts";

/** The show around the element, which fields choose from. */
export interface Around {
  readonly context: ViewContext;
  readonly rundown: Rundown;
  readonly elementId: string;
  /** The time zone of the project. */
  readonly zone: string;
}

export const AroundContext = createContext<Around | null>(null);

function useZone(): string {
  return useContext(AroundContext)?.zone ?? ownZone;
}

export interface FieldProps {
  readonly editing: Editing;
  readonly path: Path;
  readonly label: string;
  readonly isMandatory?: boolean | undefined;
  readonly isFrozen: boolean;
  readonly help?: string | undefined;
  /** What fans read while the field is empty. */
  readonly instead?: string | undefined;
}

interface ControlProps {
  readonly id: string;
  readonly value: unknown;
  readonly onInput: (value: unknown) => void;
  readonly isFrozen: boolean;
  /** Ids of what describes the control. */
  readonly describedBy: string;
  readonly isInvalid: boolean;
  readonly instead: string | undefined;
}

type Control = (props: ControlProps) => ComponentChildren;

/** A label, a control, and the faults of its value. */
export function Labelled({
  editing,
  path,
  label,
  isMandatory,
  isFrozen,
  help,
  instead,
  control,
}: FieldProps & { readonly control: Control }) {
  const id = useId();
  const { value } = editing.value(path);
  const key = JSON.stringify(path);
  const faults = editing.faults.value.filter(fault => JSON.stringify(fault.path) === key);
  return (
    <div
      class="entry"
      onFocusIn={() => editing.focus(path)}
      onFocusOut={() => editing.focus(null)}
      data-invalid={faults.length > 0}
    >
      <label for={id}>
        {label}
        {isMandatory === true && (
          <span class="needed" title="Publishing needs it">
            {" "}
            *
          </span>
        )}
      </label>
      {control({
        id,
        value,
        isFrozen,
        onInput: next => editing.set(path, next),
        describedBy: `${id}-more`,
        isInvalid: faults.length > 0,
        instead,
      })}
      <p class="hint" id={`${id}-more`}>
        {faults.length > 0 ? faults.map(({ text }) => text).join(" ") : help}
      </p>
    </div>
  );
}

const numbers = new Intl.NumberFormat();

function boundsOf(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return max === undefined ? "" : `Up to ${numbers.format(max)}.`;
  return max === undefined
    ? `From ${numbers.format(min)}.`
    : `From ${numbers.format(min)} to ${numbers.format(max)}.`;
}

/** The field of a property of a content type. */
export function PropertyField({
  property,
  ...props
}: Omit<FieldProps, "label"> & { readonly property: Property }) {
  const zone = useZone();
  const { label, key, mandatory, description, many, max_length: charactersMax, min, max } = property;
  const valueType = property.type ?? property.field;
  const bounds = [
    charactersMax === undefined ? "" : `At most ${charactersMax} characters.`,
    boundsOf(min, max),
    valueType === "datetime" ? `Time in ${zone}.` : "",
  ];
  const help = [description ?? "", ...bounds].filter(text => text !== "").join(" ");
  const { editing, path } = props;
  const common = editing.value([...path.slice(0, -1), "all"]).value;
  return (
    <Labelled
      {...props}
      instead={path.at(-1) !== "all" && typeof common === "string" ? common : undefined}
      label={label ?? key}
      isMandatory={mandatory}
      help={help}
      control={many === true ? shown => <Lines {...shown} type={valueType} /> : controlOf(property)}
    />
  );
}

function controlOf({ type, field, values, min, max, max_length: charactersMax }: Property): Control {
  switch (type ?? field) {
    case "text":
      return text("text", charactersMax);
    case "url":
      return text("url", charactersMax);
    case "asset":
      return props => <AssetInput {...props} />;
    case "element_ref":
      return props => <ElementInput {...props} />;
    case "metric_ref":
      return props => <MetricInput {...props} />;
    case "leaderboard_ref":
      return props => <BoardInput {...props} />;
    case "rich_text":
      return richText;
    case "integer":
      return numeric(1, { min, max });
    case "number":
      return numeric("any", { min, max });
    case "boolean":
      return toggle;
    case "enum":
      return choice((values ?? []).map(value => [value, value]));
    case "colour":
      return text("color");
    case "datetime":
      return props => <Instant {...props} />;
    default:
      return json;
  }
}

export const text =
  (type: "text" | "url" | "color", charactersMax?: number): Control =>
  ({ id, value, onInput, isFrozen, describedBy, isInvalid, instead }) => (
    <input
      id={id}
      type={type as "text"}
      dir="auto"
      placeholder={instead}
      value={String(value ?? "")}
      maxLength={charactersMax}
      readOnly={isFrozen}
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      onInput={({ currentTarget }) => onInput(currentTarget.value === "" ? undefined : currentTarget.value)}
    />
  );

export const numeric =
  (
    step: 1 | "any",
    { min, max }: { readonly min?: number | undefined; readonly max?: number | undefined },
    empty?: number,
  ): Control =>
  ({ id, value, onInput, isFrozen, describedBy, isInvalid }) => (
    <input
      id={id}
      type="number"
      step={step}
      min={min}
      max={max}
      value={value === undefined || value === null ? "" : String(value)}
      readOnly={isFrozen}
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      onInput={({ currentTarget }) =>
        onInput(currentTarget.value === "" ? empty : currentTarget.valueAsNumber)
      }
    />
  );

export const choice =
  (options: readonly (readonly [value: string, label: string])[]): Control =>
  ({ id, value, onInput, isFrozen, describedBy }) => (
    <select
      id={id}
      value={String(value ?? "")}
      disabled={isFrozen}
      aria-describedby={describedBy}
      onChange={({ currentTarget }) => onInput(currentTarget.value === "" ? undefined : currentTarget.value)}
    >
      {!options.some(([each]) => each === String(value ?? "")) && <option value="">–</option>}
      {options.map(([each, label]) => (
        <option key={each} value={each}>
          {label}
        </option>
      ))}
    </select>
  );

export const toggle: Control = ({ id, value, onInput, isFrozen, describedBy }) => (
  <input
    id={id}
    type="checkbox"
    checked={value === true}
    disabled={isFrozen}
    aria-describedby={describedBy}
    onChange={({ currentTarget }) => onInput(currentTarget.checked)}
  />
);

export const area: Control = ({ id, value, onInput, isFrozen, describedBy, isInvalid, instead }) => (
  <textarea
    id={id}
    dir="auto"
    placeholder={instead}
    rows={3}
    value={String(value ?? "")}
    readOnly={isFrozen}
    aria-describedby={describedBy}
    aria-invalid={isInvalid}
    onInput={({ currentTarget }) => onInput(currentTarget.value === "" ? undefined : currentTarget.value)}
  />
);

const marks = [
  ["strong", "Bold"],
  ["em", "Italic"],
  ["br", "Line break"],
] as const;

/** The source with three buttons: what it looks like is beside it, in the preview. */
const richText: Control = props => <RichText {...props} />;

function RichText(props: ControlProps) {
  const frame = useRef<HTMLDivElement>(null);
  function insert(tag: string): void {
    const source = frame.current?.querySelector("textarea");
    if (source === null || source === undefined) return;
    const { selectionStart: from, selectionEnd: to, value } = source;
    const chosen = value.slice(from, to);
    const inner = tag === "br" ? `${chosen}<br>` : `<${tag}>${chosen}</${tag}>`;
    source.setRangeText(inner, from, to, "end");
    source.focus();
    props.onInput(source.value);
  }
  return (
    <div class="rich" ref={frame}>
      {!props.isFrozen && (
        <div class="row" role="toolbar" aria-label="Marks">
          {marks.map(([tag, label]) => (
            <button key={tag} type="button" class="plain" onClick={() => insert(tag)}>
              {label}
            </button>
          ))}
        </div>
      )}
      {area(props)}
    </div>
  );
}

const plainTypes: readonly unknown[] = ["integer", "number", "boolean"];

/** Reads a line of a list. What is no value of its type stays a text, which the server refuses beside the field. */
function readLine(line: string, type: string | undefined): unknown {
  try {
    return plainTypes.includes(type) ? JSON.parse(line) : line;
  } catch {
    return line;
  }
}

/** A list as a text with a line for each value. */
function Lines({ value, onInput, type, ...props }: ControlProps & { readonly type: string | undefined }) {
  const [typed, setTyped] = useState("");
  const read = (source: string): readonly unknown[] =>
    source
      .split("\n")
      .map(line => readLine(line, type))
      .filter(each => each !== "" || type === "text");
  // `1.50` stays as it was typed while it stands for the value.
  const isTyped = JSON.stringify(read(typed)) === JSON.stringify(value);
  return area({
    ...props,
    value: isTyped ? typed : Array.isArray(value) ? value.join("\n") : value,
    onInput(next) {
      const source = String(next ?? "");
      setTyped(source);
      onInput(source === "" ? undefined : read(source));
    },
  });
}

/** A time of the project's zone. */
function Instant({ id, value, onInput, isFrozen, describedBy, isInvalid }: ControlProps) {
  const zone = useZone();
  const at = Date.parse(String(value ?? ""));
  function take(local: string): void {
    const seconds = instantOf(local, zone);
    onInput(Number.isFinite(seconds) ? new Date(seconds * 1_000).toISOString() : undefined);
  }
  return (
    <input
      id={id}
      type="datetime-local"
      value={Number.isNaN(at) ? "" : localIn(zone, at)}
      readOnly={isFrozen}
      aria-describedby={describedBy}
      aria-invalid={isInvalid}
      onInput={({ currentTarget }) => take(currentTarget.value)}
    />
  );
}

/** Another element of the show. */
function ElementInput(props: ControlProps) {
  const around = useContext(AroundContext);
  const own = props.value === undefined ? [] : [String(props.value)];
  const others = around?.rundown.order().filter(id => id !== around.elementId) ?? [];
  const options = [...new Set([...others, ...own])].map(id => {
    const item = around?.rundown.item(id);
    return [id, item === undefined ? id : titleOf(item.attributes)] as const;
  });
  return choice([["", "–"], ...options])(props);
}

/** A metric of the space; its id where the space has none. */
function MetricInput(props: ControlProps) {
  const around = useContext(AroundContext);
  const [metrics, setMetrics] = useState<ReadonlyMap<string, string>>(new Map());
  useEffect(() => {
    if (around !== null) metricTitles(around.context).then(setMetrics, () => {});
  }, []);
  if (metrics.size === 0) return text("text", 100)(props);
  const own = String(props.value ?? "");
  const options = [...metrics].map(([id, title]) => [id, title] as const);
  return choice([["", "–"], ...options, ...(own === "" || metrics.has(own) ? [] : [[own, own] as const])])(
    props,
  );
}

/** A board that the page for fans has. An id that is none of them stays; a text where nothing is known. */
function BoardInput(props: ControlProps) {
  const around = useContext(AroundContext);
  const [boards, setBoards] = useState<readonly string[] | null>(null);
  useEffect(() => {
    if (around !== null)
      readBoards(around.context).then(
        ({ ofPage }) => setBoards(ofPage),
        () => setBoards([]),
      );
  }, []);
  if (boards?.length === 0) return text("text", 100)(props);
  const own = String(props.value ?? "");
  const options = (boards ?? []).map(
    id => [id, wordsOfBoard(id) + (id.startsWith("event:") ? ", of this event" : "")] as const,
  );
  const other = boards?.includes(own) === false ? `${own}: the page for fans has no such board` : own;
  return choice([
    ["", "–"],
    ...options,
    ...(own === "" || boards?.includes(own) ? [] : [[own, other] as const]),
  ])(props);
}

type Picker = typeof import("./asset_picker.tsx")["AssetPicker"];

/** The address of a file, which can be chosen from those of the space. */
function AssetInput(props: ControlProps) {
  const around = useContext(AroundContext);
  const [picker, setPicker] = useState<{ readonly Picker: Picker } | null>(null);
  const open = async (): Promise<void> =>
    setPicker({ Picker: (await import("./asset_picker.tsx")).AssetPicker });
  const close = (): void => setPicker(null);
  return (
    <div class="picked">
      {text("text", 2_048)(props)}
      {!props.isFrozen && (
        <button type="button" onClick={() => void open()}>
          Choose…
        </button>
      )}
      {picker !== null && around !== null && (
        <picker.Picker
          context={around.context}
          onPick={url => {
            props.onInput(url);
            close();
          }}
          onClose={close}
        />
      )}
    </div>
  );
}

/** Any value, for types that are not known here. */
const json: Control = props => <JsonInput {...props} />;

function JsonInput({ value, onInput, ...props }: ControlProps) {
  const [typed, setTyped] = useState<string | null>(null);
  function take(next: unknown): void {
    const source = String(next ?? "");
    setTyped(source);
    try {
      onInput(source === "" ? undefined : JSON.parse(source));
      setTyped(null);
    } catch {
      // It is not whole yet.
    }
  }
  return area({
    ...props,
    isInvalid: props.isInvalid || typed !== null,
    value: typed ?? (value === undefined ? "" : JSON.stringify(value)),
    onInput: take,
  });
}
