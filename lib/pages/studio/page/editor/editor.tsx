/** The form of an element beside the show that it belongs to: made from its content type, saved while somebody types. */

import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ContentType, Property } from "../../../../authoring/table/content_types.ts";
import type { Path } from "../../../../base/json/mod.ts";
import { GrandstandError } from "../../../../client/mod.ts";
import { Preview } from "../../../shared/page/preview_frame.tsx";
import { readZone } from "../answers.tsx";
import { textOf } from "../api.ts";
import { useFeedAssets } from "../feed_assets.ts";
import { hrefOf } from "../places.ts";
import { ownZone } from "../plan/zones.ts";
import { messageOf } from "../problem.ts";
import type { Desk } from "../run/desk.ts";
import { useShow } from "../run/monitor.tsx";
import { Act } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { languagesOf, missingTexts, nameOf } from "./contents.ts";
import { Details, type PartProps } from "./details.tsx";
import { Editing } from "./editing.ts";
import { AroundContext, area, Labelled, PropertyField, text } from "./fields.tsx";
import { Conflicts, Gone, Offer, Stranded } from "./questions.tsx";

interface EditorProps {
  readonly context: ViewContext;
  readonly desk: Desk;
  readonly id: string;
  readonly onClose: () => void;
}

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

export function Editor({ context, desk, id, onClose }: EditorProps) {
  const editing = useMemo(() => new Editing(context, id, desk.rundown), [id]);
  const [type, setType] = useState<ContentType | null>(null);
  const [zone, setZone] = useState(ownZone);
  const [failure, setFailure] = useState<unknown>(null);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    const leave = new AbortController();
    const until = AbortSignal.any([context.signal, leave.signal]);
    context.guard(() => editing.isUnsaved);
    async function open(): Promise<void> {
      await editing.open(until);
      const { projectId } = desk.rundown;
      const [read, { name }] = await Promise.all([
        readType(context, { projectId, editing }),
        readZone(context),
      ]);
      setZone(name);
      setType(read);
    }
    open().catch(error => until.aborted || setFailure(error));
    return () => leave.abort();
  }, [editing]);
  const isOffered = editing.offered.value !== null;
  useEffect(() => {
    if (type !== null) panel.current?.querySelector<HTMLElement>(".offer button, form input")?.focus();
  }, [type, isOffered]);
  const close = (): void => void editing.finish().then(onClose);
  const element = editing.element.value;
  return (
    <aside
      class="editor"
      aria-label="Editor"
      ref={panel}
      onKeyDown={event => {
        const isOfDialog = (event.target as Element).closest("dialog") !== null;
        if (event.key === "Escape" && !isOfDialog) close();
        if (event.altKey && event.code === "KeyP") goToPreview(event, panel.current);
      }}
    >
      <Head editing={editing} desk={desk} type={type} close={close} />
      {failure !== null && <p role="alert">{messageOf(failure)}</p>}
      {element === null && <Gone editing={editing} desk={desk} type={type} />}
      <Offer editing={editing} />
      <Stranded editing={editing} desk={desk} type={type} />
      <Conflicts editing={editing} />
      {type !== null && element != null && !isOffered && (
        <AroundContext value={{ context, rundown: desk.rundown, elementId: id, zone }}>
          <Form context={context} desk={desk} editing={editing} type={type} />
        </AroundContext>
      )}
    </aside>
  );
}

/** Leads from a field to the preview, and back to the field. */
function goToPreview(event: KeyboardEvent, panel: HTMLElement | null): void {
  const preview = panel?.querySelector<HTMLElement>("[data-preview]");
  if (preview === null || preview === undefined) return;
  event.preventDefault();
  const { activeElement } = document;
  if (activeElement === preview) {
    panel?.querySelector<HTMLElement>("[data-left]")?.focus();
    return;
  }
  for (const left of panel?.querySelectorAll<HTMLElement>("[data-left]") ?? []) delete left.dataset.left;
  if (activeElement instanceof HTMLElement) activeElement.dataset.left = "";
  preview.focus();
  preview.scrollIntoView({ block: "nearest" });
}

/** Reads the type of an element; where the app does not have it, a type of the fields that the element has. */
async function readType(
  { api, signal }: ViewContext,
  { projectId, editing }: { readonly projectId: string; readonly editing: Editing },
): Promise<ContentType> {
  const contentType = textOf(editing.element.value ?? { attributes: {} }, "content_type");
  try {
    const read = await api.control.readProjectContentType({ projectId, contentType }, { signal });
    return read.attributes.definition as unknown as ContentType;
  } catch (error) {
    if (!(error instanceof GrandstandError) || error.status !== 404) throw error;
    const { question, custom_fields: fields } = editing.mine as {
      readonly question?: {
        readonly fields?: Fields;
        readonly options?: readonly { fields: Fields }[];
      } | null;
      readonly custom_fields?: Fields;
    };
    return {
      name: contentType,
      content_type: contentType,
      question: propertiesOf(question?.fields),
      option: propertiesOf(question?.options?.[0]?.fields),
      custom_fields: [{ properties: propertiesOf(fields) }],
    };
  }
}

type Fields = readonly { readonly key: string; readonly values: Readonly<Record<string, unknown>> }[];

function propertiesOf(fields: Fields = []): Property[] {
  return fields.map(({ key, values }) => ({
    key,
    field: Object.values(values).every(value => typeof value === "string") ? "text" : "any",
  }));
}

function Head({
  editing,
  desk,
  type,
  close,
}: Pick<EditorProps, "desk"> & {
  readonly editing: Editing;
  readonly type: ContentType | null;
  readonly close: () => void;
}) {
  const { colleagues, note, isStored } = editing;
  const { refusal } = desk;
  return (
    <header class="stack">
      <div class="row spread">
        <h2>{type?.name ?? "Element"}</h2>
        <SavedLine editing={editing} />
      </div>
      {colleagues.value.length > 0 && <p class="quiet">Also here: {colleagues.value.join(", ")}</p>}
      <p class="quiet" role="status">
        {note.value}
      </p>
      {!isStored.value && (
        <p class="warned">Your browser stores nothing: do not close the tab before it is saved.</p>
      )}
      <div class="row">
        <Act refusal={refusal} onPress={() => void desk.cloneAsDraft(editing.id)}>
          Clone as draft
        </Act>
        <Act refusal={refusal} onPress={() => void desk.remove([editing.id])}>
          Delete…
        </Act>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      <Faults editing={editing} />
    </header>
  );
}

function SavedLine({ editing }: { readonly editing: Editing }) {
  const { value } = editing.saved;
  const words = {
    saved: () => (value.kind === "saved" && value.at !== null ? `Saved ${clock.format(value.at)}` : ""),
    typing: () => "Typing…",
    saving: () => "Saving…",
    held: () => "Not saved yet",
    refused: () => "Not saved",
  }[value.kind]();
  return (
    <span class="quiet" data-saved={value.kind}>
      {words}
    </span>
  );
}

/** What the server refused. A fault of a field is said beside its value, which this names. */
function Faults({ editing }: { readonly editing: Editing }) {
  const { value } = editing.saved;
  if (value.kind !== "refused") return null;
  const faults = editing.faults.value;
  const fields = [...new Set(faults.flatMap(({ path }) => (hasField(path) ? [nameOf(path)] : [])))];
  const others = faults.filter(({ path }) => !hasField(path));
  return (
    <div class="problem stack" role="alert">
      {fields.length > 0 && <p>Refused: {fields.join(", ")}. The reason is beside the value.</p>}
      {faults.length === 0 && <p>{value.text}</p>}
      {others.map(({ text: fault }) => (
        <p key={fault}>{fault}</p>
      ))}
      <button type="button" onClick={() => void editing.save()}>
        Save again
      </button>
    </div>
  );
}

/** True for a value that has a field: the list of options has one for each. */
function hasField(path: Path | null): path is Path {
  return path !== null && (path.length !== 2 || path[1] !== "options");
}

function Form({
  context,
  desk,
  editing,
  type,
}: Pick<EditorProps, "context" | "desk"> & { readonly editing: Editing; readonly type: ContentType }) {
  const [locale, setLocale] = useState("all");
  const project = context.chain.find(each => each.type === "projects");
  const ofProject = (project?.attributes.locales ?? []) as readonly string[];
  const locales = [...new Set([...ofProject, ...languagesOf(editing.element.value?.attributes ?? {})])];
  const isReadOnly = desk.refusal !== null;
  const { isFrozen: isPublished } = editing;
  const props = { editing, type, locale, isFrozen: isPublished || isReadOnly, isReadOnly };
  return (
    <div class="formed">
      <form class="stack" onSubmit={event => event.preventDefault()}>
        {isReadOnly && <p class="note">You can read. {desk.refusal}</p>}
        {!isReadOnly && isPublished && (
          <p class="note">Published: what fans have seen stays. Results and answer can still change.</p>
        )}
        <Labelled
          {...props}
          path={["name"]}
          label="Name for your team (optional)"
          control={text("text", 200)}
        />
        <div class="row">
          {locales.length > 0 && (
            <Languages locales={locales} locale={locale} choose={setLocale} editing={editing} type={type} />
          )}
          {project !== undefined && <a href={hrefOf(project, "page")}>Languages of the project</a>}
        </div>
        <Content {...props} />
        <Options {...props} />
        <Details {...props} />
        <Labelled
          {...props}
          isFrozen={isReadOnly}
          path={["annotations", "notes"]}
          label="Notes for the team"
          control={area}
        />
      </form>
      <DraftPreview context={context} desk={desk} editing={editing} locale={locale} />
    </div>
  );
}

interface LanguagesProps {
  readonly locales: readonly string[];
  readonly locale: string;
  readonly choose: (locale: string) => void;
  readonly editing: Editing;
  readonly type: ContentType;
}

/** Which language the fields below show, and what is missing in it. */
function Languages({ locales, locale, choose, editing, type }: LanguagesProps) {
  return (
    <fieldset class="switch" aria-label="Language">
      {["all", ...locales].map(each => {
        const missing =
          each === "all" ? 0 : missingTexts(type, each, path => editing.value(path).value).length;
        return (
          <button key={each} type="button" aria-pressed={each === locale} onClick={() => choose(each)}>
            {each === "all" ? "All" : each}
            {missing > 0 && <span class="warned"> {missing} missing</span>}
          </button>
        );
      })}
    </fieldset>
  );
}

/** Fields of the question and of the type, in their groups. */
function Content({ type, locale, ...props }: PartProps) {
  const left = useFieldsLeftOut(type, props.editing);
  const field = (property: Property, start: Path) =>
    !left.keys.includes(property.key) && (
      <PropertyField
        key={`${property.key} ${locale}`}
        {...props}
        property={property}
        path={[...start, property.key, locale]}
      />
    );
  return (
    <>
      {left.choices.length > 0 && (
        <fieldset class="switch" aria-label="Fill in">
          {left.choices.map(({ name, isChosen, choose }) => (
            <button key={name} type="button" aria-pressed={isChosen} onClick={choose}>
              {name}
            </button>
          ))}
        </fieldset>
      )}
      {(type.question ?? []).map(property => field(property, ["question", "fields"]))}
      {(type.custom_fields ?? []).map((group, index) => (
        <fieldset key={group.name ?? index} class="group">
          <legend>{group.name ?? "Fields"}</legend>
          {(group.properties ?? [])
            .filter(({ key }) => key !== "correctAnswer")
            .map(property => field(property, ["custom_fields"]))}
        </fieldset>
      ))}
    </>
  );
}

/** The sets of fields of which an element has one, to choose from, and the empty fields of the others. */
function useFieldsLeftOut(
  { any_of: sets = [], question, custom_fields: groups }: ContentType,
  editing: Editing,
) {
  const [chosen, setChosen] = useState<number | null>(null);
  const asked = question ?? [];
  const properties = [...asked, ...(groups ?? []).flatMap(group => group.properties ?? [])];
  const filled = useComputed(() => {
    const isFilled = (key: string): boolean => {
      const start = asked.some(each => each.key === key) ? ["question", "fields"] : ["custom_fields"];
      const values = Object.values(Object(editing.value([...start, key]).value));
      return values.some(value => value !== undefined && value !== "");
    };
    return sets.flat().filter(isFilled).join(" ");
  });
  const has = filled.value.split(" ");
  const first = sets.findIndex(keys => keys.some(key => has.includes(key)));
  const current = chosen ?? Math.max(0, first);
  const labelOf = (key: string): string => properties.find(each => each.key === key)?.label ?? key;
  return {
    keys: sets.flat().filter(key => !has.includes(key) && sets[current]?.includes(key) !== true),
    choices: sets.map((keys, index) => ({
      name: keys.map(labelOf).join(" and "),
      isChosen: index === current,
      choose: () => setChosen(index),
    })),
  };
}

interface Option {
  readonly fields: readonly { readonly key: string; readonly values: object }[];
}

const answerHints: Readonly<Record<string, string>> = { prediction: "Leave it open until you know." };

/** The options of a question: in order, with the right one. */
function Options({ type, locale, ...props }: PartProps) {
  const { editing, isFrozen, isReadOnly } = props;
  const options = editing.value(["question", "options"]);
  const count = useComputed(() => ((options.value ?? []) as readonly Option[]).length);
  const right = editing.value(["correct_option"]);
  if ((type.option ?? []).length === 0) return null;
  const kind = type.derived_from ?? type.content_type;
  const hasAnswer = ["quiz", "prediction", "trivia"].includes(kind);
  const list = (): readonly Option[] => (options.peek() ?? []) as readonly Option[];
  const most = type.options_number?.max ?? 100;
  function reorder(order: readonly number[]): void {
    const before = Number(right.peek() ?? 0);
    const answer = before === 0 ? before : order.indexOf(before - 1) + 1;
    editing.set(
      ["question", "options"],
      order.map(index => list()[index] ?? { fields: [{ key: "text", values: {} }] }),
    );
    if (hasAnswer && answer !== before) editing.set(["correct_option"], answer);
  }
  const indexes = Array.from({ length: count.value }, (_, index) => index);
  const swapped = (index: number, by: number): readonly number[] =>
    indexes.map(each => (each === index ? index + by : each === index + by ? index : each));
  return (
    <fieldset class="group">
      <legend>Options</legend>
      {hasAnswer && <p class="quiet">{answerHints[kind] ?? "Mark the right answer."}</p>}
      {indexes.map(index => (
        <div key={index} class="option">
          {hasAnswer && (
            <input
              type="radio"
              name={`right-${editing.id}`}
              aria-label={`Option ${index + 1} is right`}
              title="The right answer"
              checked={Number(right.value ?? 0) === index + 1}
              disabled={isReadOnly}
              onChange={() => editing.set(["correct_option"], index + 1)}
            />
          )}
          <div class="grow">
            {(type.option ?? []).map(property => (
              <PropertyField
                key={`${property.key} ${locale}`}
                {...props}
                property={{ ...property, label: `${index + 1}. ${property.label ?? property.key}` }}
                path={["question", "options", index, property.key, locale]}
              />
            ))}
          </div>
          {!isFrozen && (
            <OptionButtons
              index={index}
              count={count.value}
              move={by => reorder(swapped(index, by))}
              remove={() => reorder(indexes.filter(each => each !== index))}
            />
          )}
        </div>
      ))}
      {!isFrozen && count.value < most && (
        <button type="button" onClick={() => reorder([...indexes, count.value])}>
          + Option
        </button>
      )}
    </fieldset>
  );
}

interface OptionButtonsProps {
  readonly index: number;
  readonly count: number;
  readonly move: (by: -1 | 1) => void;
  readonly remove: () => void;
}

function OptionButtons({ index, count, move, remove }: OptionButtonsProps) {
  const button = (
    label: string,
    mark: string,
    { isOff = false, press }: { isOff?: boolean; press: () => void },
  ) => (
    <button type="button" class="plain" aria-label={label} disabled={isOff} onClick={press}>
      {mark}
    </button>
  );
  const name = `option ${index + 1}`;
  return (
    <div class="row">
      {button(`Move ${name} up`, "↑", { isOff: index === 0, press: () => move(-1) })}
      {button(`Move ${name} down`, "↓", { isOff: index === count - 1, press: () => move(1) })}
      {button(`Remove ${name}`, "×", { press: remove })}
    </div>
  );
}

/** The fans' page with what is typed, a moment after the last keystroke. */
function DraftPreview({
  context,
  desk,
  editing,
  locale,
}: Pick<EditorProps, "context" | "desk"> & { readonly editing: Editing; readonly locale: string }) {
  const [draft, setDraft] = useState(editing.mine);
  const { kind } = editing.saved.value;
  useEffect(() => {
    const timer = setInterval(() => setDraft(editing.mine), 400);
    return () => clearInterval(timer);
  }, [kind]);
  const element = editing.element.value;
  const hasShow = useShow(desk.rundown.eventId);
  const assets = useFeedAssets(context, [{ attributes: draft }]);
  if (element == null || !hasShow) return null;
  return (
    <section class="drafted" aria-label="Preview of the draft" data-preview tabIndex={-1}>
      <p class="quiet">
        Preview <kbd>Alt P</kbd>
      </p>
      <Preview
        event={desk.rundown.eventId}
        element={element}
        draft={draft}
        assets={assets}
        locale={locale === "all" ? undefined : locale}
      />
    </section>
  );
}
