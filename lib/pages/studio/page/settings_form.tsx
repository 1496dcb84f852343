/** The form of a project or event, made from the schemas of what the platform takes. What has no simple field is JSON. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { differences, isMembers, isSame, type Members } from "../../../base/json/mod.ts";
import type { FieldError } from "../../../client/mod.ts";
import { readZone } from "./answers.tsx";
import type { Resource } from "./api.ts";
import { Moved, SaveRow } from "./documents/editor.tsx";
import { type Live, useSaved } from "./documents/saved.ts";
import { instantOf, localIn, ownZone } from "./plan/zones.ts";
import { ask, Problem } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly nullable?: boolean;
  readonly enum?: readonly string[];
  readonly const?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  /** What members of other names are. */
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

/** Comes with the build. */
declare const FORM_SCHEMAS: Readonly<Record<string, Schema>>;

type Place = readonly string[];

/** What all fields of a form share. */
interface Form {
  readonly value: Members;
  /** Undefined leaves a value to the platform. */
  readonly set: (place: Place, value: unknown) => void;
  readonly faults: readonly FieldError[];
  readonly isReadOnly: boolean;
  readonly zone: string;
  /** Says that a text is no JSON, or is again. */
  readonly breakAt: (pointer: string, isBroken: boolean) => void;
}

interface FieldProps {
  readonly form: Form;
  readonly schema: Schema;
  readonly place: Place;
}

export function PlaceForm({ context }: { readonly context: ViewContext }) {
  const scope = context.chain.at(-1) as Resource;
  const { properties = {} } = FORM_SCHEMAS[scope.type] ?? {};
  const saved = useSaved<Members>({
    ...context,
    read: () => readPlace(context, scope, properties),
    write: (value, live) => writePlace(context, scope, { value, live }),
    pointer: "/data/attributes",
  });
  const [draft, setDraft] = useState<Members | null>(null);
  const [broken, setBroken] = useState<readonly string[]>([]);
  const zone = useZone(context);
  const { live, moved, faults } = saved;
  const value = draft ?? live?.value ?? {};
  const isChanged = live !== null && (broken.length > 0 || !isSame(value, live.value));
  useEffect(() => context.guard(() => isChanged), [isChanged]);
  if (live === null) return saved.error === null ? null : <Problem error={saved.error} retry={saved.load} />;
  const lacking = refusalOf(context.role, scope.type === "events" ? "creator" : "admin");
  const form: Form = {
    value,
    set(place, next) {
      saved.clearFaults();
      setDraft(before => withValue(before ?? live.value, place, next) as Members);
    },
    faults,
    isReadOnly: lacking !== null,
    zone,
    breakAt: (pointer, isBroken) => setBroken(before => withOrWithout(before, pointer, isBroken)),
  };
  const reset = (): void => {
    setDraft(null);
    setBroken([]);
    void saved.load();
  };
  async function save(): Promise<void> {
    const now = await saved.save(value);
    if (now === null) return;
    setDraft(null);
    context.takeScope(now.value);
    context.announce("Saved.");
  }
  const idle = isChanged ? null : "Nothing has changed.";
  return (
    <form
      class="stack page-form"
      aria-label="Platform"
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      {moved !== null && (
        <Moved
          theirs={differences(live.value, moved.value)}
          onTakeOver={() => setDraft((saved.join(value)?.value ?? value) as Members)}
          onDrop={reset}
        />
      )}
      <Cards form={form} schemas={properties} isAdmin={refusalOf(context.role, "admin") === null} />
      <SaveRow
        saved={saved}
        label="Save"
        refusal={lacking ?? (broken.length > 0 ? "Correct the faults first." : idle)}
        onSave={save}
        onUndo={isChanged ? reset : null}
      />
    </form>
  );
}

function useZone(context: ViewContext): string {
  const [zone, setZone] = useState(ownZone);
  useEffect(() => {
    readZone(context).then(
      ({ name }) => setZone(name),
      () => {},
    );
  }, []);
  return zone;
}

function withOrWithout(list: readonly string[], item: string, has: boolean): readonly string[] {
  const others = list.filter(each => each !== item);
  return has ? [...others, item] : others;
}

interface CardsProps extends Pick<FieldsProps, "form" | "schemas"> {
  readonly isAdmin: boolean;
}

/** The attributes, and apart from them the services, which admins change. */
function Cards({ form, schemas: { services = {}, ...attributes }, isAdmin }: CardsProps) {
  return (
    <>
      <Fields form={form} schemas={attributes} place={[]} />
      <Fields form={{ ...form, isReadOnly: !isAdmin }} schemas={{ services }} place={[]} />
    </>
  );
}

interface FieldsProps extends Pick<FieldProps, "form" | "place"> {
  readonly schemas: Readonly<Record<string, Schema>>;
}

function Fields({ form, schemas, place }: FieldsProps) {
  return (
    <div class="settings">
      {Object.entries(schemas).map(([name, schema]) => (
        <Field key={name} form={form} schema={schema} place={[...place, name]} />
      ))}
    </div>
  );
}

/** A value with its name, what it means, and what is wrong with it. */
function Field({ form, schema, place }: FieldProps) {
  const id = useId();
  const hint = `${id}-hint`;
  const pointer = pointerOf(place);
  const own = form.faults.filter(
    fault => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`),
  );
  if (schema.oneOf !== undefined) return <Variants form={form} schema={schema} place={place} />;
  if (isObject(schema)) return <Group form={form} schema={schema} place={place} />;
  if (schema.items !== undefined && isObject(schema.items))
    return <Entries form={form} schema={schema} place={place} />;
  return (
    <div class="setting" data-wrong={own.length > 0}>
      <label htmlFor={id}>{labelOf(place)}</label>
      <Control
        form={form}
        schema={schema}
        place={place}
        shared={{ id, "aria-describedby": hint, disabled: form.isReadOnly }}
      />
      <p class="quiet" id={hint}>
        {hintOf(schema, place, form.zone)}
      </p>
      {own.map(({ detail }) => (
        <p key={detail} class="fault">
          {detail}
        </p>
      ))}
    </div>
  );
}

/** What a value means, in the words of the form: its unit is that of the field, and other fields have labels. */
function hintOf({ description = "", format }: Schema, place: Place, zone: string): string {
  if (description === labelOf(place)) return "";
  const words = description.replace(/`([a-z][a-z_]+)`/g, (_, name: string) =>
    name.includes("_") ? `“${labelOf([name])}”` : name,
  );
  return format === "unix-time" ? `${words.replace(/, in Unix seconds.*/, "")}, in ${zone}` : words;
}

interface FoldProps extends FieldProps {
  readonly name: string;
  readonly children: ComponentChildren;
}

/** What belongs together. It opens where something inside is wrong. */
function Fold({ form, schema, place, name, children }: FoldProps) {
  const fold = useRef<HTMLDetailsElement>(null);
  const isWrong = form.faults.some(fault => fault.pointer.startsWith(`${pointerOf(place)}/`));
  useEffect(() => {
    if (isWrong && fold.current !== null) fold.current.open = true;
  }, [isWrong]);
  return (
    <details ref={fold}>
      <summary>{name}</summary>
      {schema.description !== undefined && <p class="quiet">{hintOf(schema, place, form.zone)}</p>}
      {children}
    </details>
  );
}

/** Members of an object. Those without a field are JSON. A section, an entry of a list and a named member can be removed. */
function Group({ form, schema, place }: FieldProps) {
  const { properties = {}, additionalProperties } = schema;
  const value = valueAt(form.value, place);
  const isEntry = Array.isArray(valueAt(form.value, place.slice(0, -1)));
  const isOptional = place[0] === "services" && place.length > 1;
  const name = isEntry && isMembers(value) ? String(value.id ?? "New") : labelOf(place);
  const named = isMembers(additionalProperties) ? (additionalProperties as Schema) : null;
  const others = Object.fromEntries(
    Object.keys(isMembers(value) ? value : {})
      .filter(each => !(each in properties))
      .map(each => [each, named ?? {}]),
  );
  async function remove(): Promise<void> {
    const text = "What it says is lost once you save. The platform goes on with what it does without it.";
    if (await ask({ title: `Remove “${name}”?`, text, confirm: "Remove" })) form.set(place, undefined);
  }
  return (
    <Fold form={form} schema={schema} place={place} name={name}>
      {isOptional && value === undefined && named === null ? (
        <AddButton name={name} form={form} onAdd={() => form.set(place, defaultsOf(properties))} />
      ) : (
        <Fields form={form} schemas={{ ...properties, ...others }} place={place} />
      )}
      {named !== null && <AddMember form={form} name={name} place={place} />}
      {isOptional && value !== undefined && (
        <button
          type="button"
          class="plain"
          aria-label={`Remove ${name}`}
          disabled={form.isReadOnly}
          onClick={() => void remove()}
        >
          Remove…
        </button>
      )}
    </Fold>
  );
}

interface AddButtonProps {
  readonly form: Form;
  readonly name: string;
  readonly onAdd: () => void;
}

/** Adds something to what the button stands in, whose summary has the focus then. */
function AddButton({ form, name, onAdd }: AddButtonProps) {
  return (
    <button
      type="button"
      aria-label={`Add ${name}`}
      disabled={form.isReadOnly}
      onClick={({ currentTarget }) => {
        onAdd();
        currentTarget.closest("details")?.querySelector("summary")?.focus();
      }}
    >
      Add
    </button>
  );
}

/** Adds a member whose name the author chooses. */
function AddMember({ form, name, place }: Pick<AddButtonProps, "form" | "name"> & Pick<FieldProps, "place">) {
  const [member, setMember] = useState("");
  return (
    <p class="row">
      <input
        aria-label={`Add to ${name}`}
        placeholder="de"
        value={member}
        disabled={form.isReadOnly}
        onInput={({ currentTarget: { value } }) => setMember(value.trim())}
      />
      <button
        type="button"
        disabled={form.isReadOnly || member === ""}
        onClick={() => {
          form.set([...place, member], {});
          setMember("");
        }}
      >
        Add
      </button>
    </p>
  );
}

/** A list of objects. */
function Entries({ form, schema, place }: FieldProps) {
  const { items = {} } = schema;
  const value = valueAt(form.value, place);
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  const name = labelOf(place);
  const add = (): void => form.set(place, [...entries, {}]);
  return (
    <Fold form={form} schema={schema} place={place} name={`${name} (${entries.length})`}>
      {entries.map((_, index) => (
        <Group key={index} form={form} schema={items} place={[...place, String(index)]} />
      ))}
      <AddButton form={form} name={`to ${name}`} onAdd={add} />
    </Fold>
  );
}

/** An object of one of several shapes, which one of its members names. */
function Variants({ form, schema, place }: FieldProps) {
  const { oneOf = [], default: usual } = schema;
  const value = valueAt(form.value, place) ?? usual;
  const [by = ""] =
    Object.entries(oneOf[0]?.properties ?? {}).find(([, each]) => shapesOf(each).length > 0) ?? [];
  const shapesBy = ({ properties = {} }: Schema): readonly string[] => shapesOf(properties[by] ?? {});
  const shape = isMembers(value) ? String(value[by]) : "";
  const { [by]: _, ...others } = oneOf.find(each => shapesBy(each).includes(shape))?.properties ?? {};
  const choice = {
    enum: oneOf.flatMap(shapesBy),
    ...(isMembers(usual) && { default: usual[by] }),
  };
  // Another shape has other members.
  const choosing = { ...form, set: (_: Place, next: unknown) => form.set(place, next && { [by]: next }) };
  return (
    <Fold form={form} schema={schema} place={place} name={labelOf(place)}>
      <Fields form={choosing} schemas={{ [by]: choice }} place={place} />
      <Fields form={form} schemas={others} place={place} />
    </Fold>
  );
}

function shapesOf({ const: one, enum: several = [] }: Schema): readonly string[] {
  return one === undefined ? several : [one];
}

function isObject({ properties, additionalProperties }: Schema): boolean {
  return properties !== undefined || isMembers(additionalProperties);
}

/** Returns what a section has as it is added. */
function defaultsOf(properties: NonNullable<Schema["properties"]>): Members {
  const entries = Object.entries(properties).map(([name, schema]) => [name, schema.default]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

interface ControlProps extends FieldProps {
  readonly shared: { readonly id: string; readonly "aria-describedby": string; readonly disabled: boolean };
}

function Control({ form, schema, place, shared }: ControlProps) {
  const value = valueAt(form.value, place);
  const set = (next: unknown): void => form.set(place, next);
  const empty = schema.nullable === true ? null : undefined;
  const { type, enum: choices, items, anyOf } = schema;
  if (choices !== undefined)
    return (
      <select
        {...shared}
        value={String(value ?? "")}
        onChange={event => set(event.currentTarget.value || empty)}
      >
        <option value="">{schema.default === undefined ? "–" : `As usual: ${String(schema.default)}`}</option>
        {choices.map(choice => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  if (type === "boolean")
    return (
      <input
        {...shared}
        type="checkbox"
        checked={(value ?? schema.default) === true}
        onChange={event => set(event.currentTarget.checked)}
      />
    );
  if (type === "integer" || type === "number")
    return <NumberControl form={form} schema={schema} place={place} shared={shared} />;
  if (type === "string" || anyOf?.some(each => each.type === "string"))
    return (
      <input
        {...shared}
        maxLength={schema.maxLength}
        value={String(value ?? "")}
        onInput={event => set(event.currentTarget.value || empty)}
      />
    );
  if (type === "array" && items?.type === "string")
    return (
      <textarea
        {...shared}
        rows={3}
        placeholder={items.enum?.join("\n") ?? "One a line"}
        value={Array.isArray(value) ? value.join("\n") : ""}
        onInput={({ currentTarget: { value: text } }) => set(text === "" ? schema.default : text.split("\n"))}
      />
    );
  return <JsonControl form={form} schema={schema} place={place} shared={shared} />;
}

/** A number, or an instant as the clock of the project's zone shows it. */
function NumberControl({ form: { value: whole, set, zone }, schema, place, shared }: ControlProps) {
  const value = valueAt(whole, place);
  const empty = schema.nullable === true ? null : undefined;
  if (schema.format === "unix-time")
    return (
      <input
        {...shared}
        type="datetime-local"
        value={Number(value ?? 0) > 0 ? localIn(zone, Number(value) * 1_000) : ""}
        onChange={({ currentTarget: { value: text } }) =>
          set(place, text === "" ? empty : instantOf(text, zone))
        }
      />
    );
  return (
    <input
      {...shared}
      type="number"
      step={schema.type === "integer" ? 1 : "any"}
      min={schema.minimum}
      max={schema.maximum}
      value={String(value ?? "")}
      onInput={({ currentTarget: { value: text } }) => set(place, text === "" ? empty : Number(text))}
    />
  );
}

function JsonControl({ form, place, shared }: ControlProps) {
  const value = valueAt(form.value, place);
  const [typed, setTyped] = useState<string | null>(null);
  const isNone = (text: string | null): boolean => text !== null && readText(text) === null;
  return (
    <textarea
      {...shared}
      class="code"
      rows={4}
      placeholder="JSON"
      spellcheck={false}
      aria-invalid={isNone(typed)}
      value={typed ?? (value === undefined ? "" : JSON.stringify(value, null, 2))}
      onInput={({ currentTarget: { value: text } }) => {
        const read = readText(text);
        setTyped(text);
        form.breakAt(pointerOf(place), read === null);
        if (read !== null) form.set(place, read.value);
      }}
      onBlur={() => setTyped(before => (isNone(before) ? before : null))}
    />
  );
}

/** Reads JSON; null: it is none. No text is no value. */
function readText(text: string): { readonly value: unknown } | null {
  try {
    return { value: text.trim() === "" ? undefined : JSON.parse(text) };
  } catch {
    return null;
  }
}

function pointerOf(place: Place): string {
  return place.map(name => `/${name}`).join("");
}

/** `extra_time_duration` and `extraTimeDuration` become `Extra time duration`. */
function labelOf(place: Place): string {
  const words = (place.at(-1) ?? "")
    .replaceAll("_", " ")
    .replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function valueAt(value: unknown, [name, ...rest]: Place): unknown {
  if (name === undefined) return value;
  return valueAt(
    Array.isArray(value) ? value[Number(name)] : isMembers(value) ? value[name] : undefined,
    rest,
  );
}

/** Returns a value with another one at a place. An object of which nothing is left goes with it, but for entries of lists. */
function withValue(value: unknown, [name, ...rest]: Place, next: unknown): unknown {
  if (name === undefined) return next;
  const inner = withValue(valueAt(value, [name]), rest, next);
  if (Array.isArray(value)) {
    const entry = inner === undefined && rest.length > 0 ? {} : inner;
    return value.toSpliced(Number(name), 1, ...(entry === undefined ? [] : [entry]));
  }
  const kept = Object.entries({ ...(isMembers(value) ? value : {}), [name]: inner }).filter(
    ([, each]) => each !== undefined,
  );
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

async function readPlace(
  { api, signal }: ViewContext,
  { type, id }: Resource,
  properties: NonNullable<Schema["properties"]>,
): Promise<Live<Members>> {
  const names = Object.keys(properties);
  const { headers, document } =
    type === "events"
      ? await api.control.readEvent({ eventId: id, "fields[events]": names.join() }, { signal }).whole()
      : await api.control
          .readProject({ projectId: id, "fields[projects]": names.join() }, { signal })
          .whole();
  const { attributes } = document.data as Resource;
  const value = Object.fromEntries(names.map(name => [name, attributes[name]]));
  return { value, tag: headers.get("etag") ?? "" };
}

/** Sends the attributes that differ, and of `services` the sections. */
function writePlace(
  { api }: ViewContext,
  { type, id }: Resource,
  { value, live: { value: before, tag } }: { readonly value: Members; readonly live: Live<Members> },
): Promise<unknown> {
  const { services, ...attributes } = changed(
    before,
    value,
    name => FORM_SCHEMAS[type]?.properties?.[name]?.default ?? null,
  );
  const sections =
    services === undefined
      ? {}
      : { services: changed(before.services as Members, Object(services), () => null) };
  const data = { type, id, attributes: { ...attributes, ...sections } };
  const options = { headers: { "if-match": tag } };
  return type === "events"
    ? api.control.changeEvent({ eventId: id, body: { data } } as never, options)
    : api.control.changeProject({ projectId: id, body: { data } } as never, options);
}

/** Returns the members that differ. One that is left out gets another value in its place. */
function changed(before: Members, after: Members, otherwise: (name: string) => unknown): Members {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .filter(name => !isSame(before[name], after[name]))
      .map(name => [name, after[name] ?? otherwise(name)]),
  );
}
