/** The editor of a JSON document: an outline, the text, and what is wrong with it. */

import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { type Difference, isMembers } from "../../../../base/json/mod.ts";
import type { FieldError } from "../../../../client/mod.ts";
import { messageOf } from "../problem.ts";
import { Act, announce } from "../ui.tsx";
import { type JsonText, type Span, spanOf } from "./json_text.ts";
import type { EditedDocument, Saved } from "./saved.ts";

interface EditorProps {
  readonly label: string;
  readonly document: Pick<EditedDocument<unknown>, "text" | "read" | "setText">;
  readonly faults: readonly FieldError[];
  readonly isReadOnly?: boolean;
}

export function DocumentEditor({ label, document, faults, isReadOnly = false }: EditorProps) {
  const { text, read, setText } = document;
  const area = useRef<HTMLTextAreaElement>(null);
  const { fault } = read;
  const shown = fault === null ? faults : [];
  const select = ([start, end]: Span): void => {
    const { current } = area;
    if (current === null) return;
    current.focus();
    current.setSelectionRange(start, end);
    const lineHeight = current.scrollHeight / Math.max(1, text.split("\n").length);
    current.scrollTop = Math.max(0, (lineOf(text, start) - 3) * lineHeight);
  };
  return (
    <div class="document">
      <Outline read={read} faults={shown} select={pointer => select(spanOf(read, pointer))} />
      <textarea
        ref={area}
        class="code"
        aria-label={label}
        aria-invalid={fault !== null || shown.length > 0}
        value={text}
        readOnly={isReadOnly}
        spellcheck={false}
        wrap="off"
        onInput={event => setText(event.currentTarget.value)}
      />
      {fault !== null && (
        <Faults title="This is no JSON yet">
          <FaultButton
            place={`Line ${lineOf(text, fault.at) + 1}`}
            detail={fault.detail}
            press={() => select([fault.at, Math.min(text.length, fault.at + 1)])}
          />
        </Faults>
      )}
      {shown.length > 0 && (
        <Faults title={shown.length === 1 ? "One thing is wrong" : `${shown.length} things are wrong`}>
          {shown.slice(0, faultsMax).map(({ pointer, detail }) => (
            <FaultButton
              key={pointer + detail}
              place={pointer || "Document"}
              detail={detail}
              press={() => select(spanOf(read, pointer))}
            />
          ))}
        </Faults>
      )}
    </div>
  );
}

const faultsMax = 50;

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split("\n").length - 1;
}

function Faults({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <section class="faults" aria-label="Faults">
      <p class="fault" role="status">
        {title}
      </p>
      <ul>{children}</ul>
    </section>
  );
}

interface FaultButtonProps {
  readonly place: string;
  readonly detail: string;
  readonly press: () => void;
}

function FaultButton({ place, detail, press }: FaultButtonProps) {
  return (
    <li>
      <button type="button" class="plain" onClick={press}>
        <code>{place}</code> {detail}
      </button>
    </li>
  );
}

interface SaveRowProps {
  readonly saved: Pick<Saved<unknown>, "error" | "faults">;
  readonly label: string;
  readonly refusal: string | null;
  readonly onSave: () => void;
  /** Null: nothing has changed. */
  readonly onUndo: (() => void) | null;
}

/** The end of a form: why nothing was saved, and its buttons. */
export function SaveRow({ saved: { error, faults }, label, refusal, onSave, onUndo }: SaveRowProps) {
  const count = faults.length === 1 ? "a field is" : `${faults.length} fields are`;
  return (
    <>
      {(error !== null || faults.length > 0) && (
        <p class="fault" role="alert">
          {error === null ? `Nothing was saved: ${count} not valid.` : messageOf(error)}
        </p>
      )}
      <div class="row">
        <Act class="main" refusal={refusal} onPress={onSave}>
          {label}
        </Act>
        {onUndo !== null && (
          <button type="button" onClick={onUndo}>
            Undo all
          </button>
        )}
      </div>
    </>
  );
}

interface OutlineProps {
  readonly read: JsonText;
  readonly faults: readonly FieldError[];
  readonly select: (pointer: string) => void;
}

interface Entry {
  readonly pointer: string;
  readonly label: string;
  readonly items: readonly Entry[];
}

/** Most items of a section that the outline lists. */
const itemsMax = 200;

function Outline({ read, faults, select }: OutlineProps) {
  const kept = useRef<readonly Entry[]>([]);
  // While the text is no JSON, the last outline stays.
  if (read.fault === null) kept.current = entriesOf(read.value, "");
  const line = ({ pointer, label, items }: Entry) => {
    const isWrong = faults.some(each => each.pointer === pointer || each.pointer.startsWith(`${pointer}/`));
    return (
      <li key={pointer}>
        <button type="button" class="plain" data-wrong={isWrong} onClick={() => select(pointer)}>
          <span>{label}</span>
          {isWrong ? (
            <span class="fault">fault</span>
          ) : (
            items.length > 0 && <span class="count">{items.length}</span>
          )}
        </button>
        {items.length > 0 && <ul>{items.slice(0, itemsMax).map(line)}</ul>}
      </li>
    );
  };
  return (
    <nav class="outline" aria-label="Outline">
      {kept.current.length === 0 ? (
        <p class="quiet">Nothing is in it yet.</p>
      ) : (
        <ul>{kept.current.map(line)}</ul>
      )}
    </nav>
  );
}

function entriesOf(value: unknown, pointer: string): readonly Entry[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => itemOf(item, `${pointer}/${index}`));
  if (!isMembers(value)) return [];
  return Object.entries(value).map(([name, part]) => {
    const at = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    return { pointer: at, label: name, items: Array.isArray(part) ? entriesOf(part, at) : [] };
  });
}

function itemOf(item: unknown, pointer: string): readonly Entry[] {
  if (!isMembers(item)) return [];
  const name = ["title", "key", "name", "id"].map(each => item[each]).find(each => typeof each === "string");
  return [{ pointer, label: String(name ?? pointer), items: [] }];
}

const verbs: Readonly<Record<Difference["op"], string>> = {
  add: "added",
  remove: "removed",
  change: "changed",
  order: "reordered",
};

/** Most differences that are shown. */
const shownMax = 100;

interface DifferencesProps {
  readonly differences: readonly Difference[];
  readonly caption: string;
  readonly from: string;
  readonly to: string;
}

/** How two documents differ, part by part. */
export function Differences({ differences, caption, from, to }: DifferencesProps) {
  if (differences.length === 0) return <p class="quiet">No difference.</p>;
  return (
    <section class="table" aria-label={caption}>
      <table class="differences">
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">{from}</th>
            <th scope="col">{to}</th>
          </tr>
        </thead>
        <tbody>
          {differences.slice(0, shownMax).map(({ op, path, from: before, to: after }) => (
            <tr key={path.join("\n")} data-op={op}>
              <th scope="row">
                {path.join(" › ") || "Order"} <span class="state">{verbs[op]}</span>
              </th>
              <td>{textOf(before)}</td>
              <td>{textOf(after)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {differences.length > shownMax && <p class="quiet">and {differences.length - shownMax} more</p>}
    </section>
  );
}

const textMax = 300;

function textOf(value: unknown): string {
  if (value === undefined) return "–";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}

interface MovedProps {
  /** What others changed since it was read. */
  readonly theirs: readonly Difference[];
  readonly onTakeOver: () => void;
  readonly onDrop: () => void;
}

/** Says that somebody else was faster, and offers what can be done. */
export function Moved({ theirs, onTakeOver, onDrop }: MovedProps) {
  return (
    <section class="card moved" role="alert">
      <h2>Somebody else changed this meanwhile. Nothing of yours was sent.</h2>
      <Differences differences={theirs} caption="What others changed" from="When you began" to="Live now" />
      <div class="row">
        <button type="button" class="main" onClick={onTakeOver}>
          Take their changes over into mine
        </button>
        <button type="button" onClick={onDrop}>
          Drop mine
        </button>
      </div>
    </section>
  );
}

interface SavePartProps<T> {
  readonly document: EditedDocument<T>;
  readonly title: string;
  readonly button: string;
  /** Why it cannot be saved; null: it can. */
  readonly refusal: string | null;
  /** What is announced once it is live. */
  readonly done: string;
}

/** What saving a document changes, and the button that does. */
export function SavePart<T>({ document, title, button, refusal, done }: SavePartProps<T>) {
  const { saved, changes, reset } = document;
  const idle = changes.length === 0 ? "Nothing has changed." : null;
  const save = async (): Promise<void> => {
    if (await document.save()) announce(done);
  };
  return (
    <section>
      <div class="row spread">
        <h2>{title}</h2>
        <div class="row">
          <Act refusal={refusal === null ? idle : null} onPress={reset}>
            Undo all
          </Act>
          <Act class="main" refusal={saved.isBusy ? "It is on its way." : (refusal ?? idle)} onPress={save}>
            {button}
          </Act>
        </div>
      </div>
      {saved.error !== null && (
        <p class="fault" role="alert">
          {messageOf(saved.error)}
        </p>
      )}
      <Differences differences={changes} caption={title} from="Live" to="Yours" />
    </section>
  );
}

interface OpenFileProps {
  readonly onText: (text: string) => void;
  readonly refusal?: string | null;
}

/** Reads a text file that the user chooses. */
export function OpenFile({ onText, refusal = null }: OpenFileProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button
        type="button"
        disabled={refusal !== null}
        title={refusal ?? ""}
        onClick={() => input.current?.click()}
      >
        Open file…
      </button>
      <input
        ref={input}
        type="file"
        class="hidden"
        tabIndex={-1}
        aria-label="Open a file"
        accept=".json,application/json"
        onChange={async event => {
          const [file] = event.currentTarget.files ?? [];
          if (file !== undefined) onText(await file.text());
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}
