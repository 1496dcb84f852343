/** A dialogue in the page. It draws the state of a `Dialogue`, and has no rule of the protocol. */

import { isLoopback } from "../../../base/text/mod.ts";
import {
  canPress,
  Dialogue,
  type DialogueAction,
  type DialogueOptions,
  type DialogueState,
  dialogueLimits,
  encodeFile,
  idleDialogue,
  imageType,
  ownText,
  parseMarkup,
  plainText,
  type ShownBlock,
} from "../../../workflow/dialogue/mod.ts";
import { el, keyedList, type Row, setAttribute, setText } from "./elements.ts";

interface DialogueViewOptions extends Pick<DialogueOptions, "send"> {
  readonly back: string;
  readonly signal: AbortSignal;
  /** Gets the question whether leaving would lose what was entered. */
  readonly guard: (isUnsaved: () => boolean) => void;
}

interface Part {
  readonly elements: readonly [HTMLElement, ...HTMLElement[]];
  show(state: DialogueState, before: DialogueState): void;
}

export function openDialogue(root: HTMLElement, { send, back, signal, guard }: DialogueViewOptions): void {
  let shown: DialogueState = idleDialogue;
  const dialogue = new Dialogue({
    context: {},
    send,
    onChange(state) {
      const before = shown;
      shown = state;
      for (const part of [form, end]) part.show(state, before);
    },
  });
  const form = createForm(dialogue);
  const end = createEnd(dialogue, back, form.elements[0]);
  root.replaceChildren(...form.elements, ...end.elements);
  const hide = (): void => dialogue.setHidden(document.hidden);
  document.addEventListener("visibilitychange", hide, { signal });
  for (const type of ["dragover", "drop"]) document.addEventListener(type, keepPage, { signal });
  for (const type of ["online", "offline"]) addEventListener(type, () => end.show(shown, shown), { signal });
  guard(() => hasEntries(shown));
  signal.addEventListener("abort", () => dialogue.close(), { once: true });
  hide();
  dialogue.open();
}

/** Returns true if there is something that the user entered. */
function hasEntries({ status, values, kept, blocks }: DialogueState): boolean {
  if (status === "closed" || status === "ended") return false;
  const isTyped = blocks.some(block => {
    const value = block.type === "input" ? ownText(values, block.name) : undefined;
    return block.type === "input" && value !== undefined && value !== (block.value ?? "");
  });
  return isTyped || Object.keys(kept).length > 0;
}

/** Creates the blocks and buttons. The first new block of an answer gets the focus, but not of a poll, so that one can type meanwhile. */
function createForm(dialogue: Dialogue): Part {
  let fresh: HTMLElement[] = [];
  let answers = 0;
  const blocks = el("div", { class: "blocks" });
  const actions = el("div", { class: "row" });
  const on = { submit: prevent, keydown: ignoreRepeats };
  const showBlocks = keyedList<BlockItem>(blocks, {
    key: ({ block }) => (block.type === "input" ? `${block.input_type} ${block.key}` : block.key),
    create({ block }) {
      const view =
        block.type === "input"
          ? createInput(block, value => dialogue.input(block.name, value))
          : createBlock(block.type);
      return { element: view.element, show: item => void (view.show(item) && fresh.push(view.target)) };
    },
  });
  const showActions = keyedList<DialogueAction>(actions, {
    key: action => action.action_id,
    create: action => createAction(dialogue, action),
  });
  return {
    elements: [el("form", { tabindex: -1, on }, blocks, actions)],
    show(state, before) {
      const focused = document.activeElement;
      const isNew = before.seq !== state.seq;
      const isAwaited = isNew && before.pending?.kind !== "poll";
      if (isAwaited) answers++;
      fresh = [];
      showBlocks(state.blocks.map(block => itemOf(state, block, answers)));
      showActions(state.actions);
      if (isAwaited || (isNew && focused?.isConnected === false)) fresh[0]?.focus();
    },
  };
}

function createAction(dialogue: Dialogue, { action_id: id }: DialogueAction): Row<DialogueAction> {
  // The second click of a double click may meet the next view.
  const click = (event: Event): void => {
    if ((event as MouseEvent).detail < 2) dialogue.press(id);
  };
  const element = el("button", { on: { click } });
  return {
    element,
    show({ label }, index) {
      setText(element, label);
      // Enter in an input presses the first button, but while a task runs it could only cancel.
      const isMain = index === 0 && dialogue.state.task?.state !== "running";
      setAttribute(element, "type", isMain ? "submit" : "button");
      setAttribute(element, "class", isMain ? "main" : null);
      setAttribute(element, "aria-busy", dialogue.state.busy === id ? "true" : null);
      // With `disabled` the button would lose the focus.
      setAttribute(element, "aria-disabled", canPress(dialogue.state) ? null : "true");
    },
  };
}

/** Creates what follows the form: the status, a problem, and the ways on from there. */
function createEnd(dialogue: Dialogue, back: string, form: HTMLElement): Part {
  const status = el("p", { role: "status" });
  const problem = el("p", { class: "alert", "data-severity": "error", role: "alert" });
  const button = (label: string, act: () => void): HTMLButtonElement => {
    const click = (): void => {
      form.focus();
      act();
    };
    return el("button", { type: "button", on: { click } }, label);
  };
  const retry = button("Try again", () => dialogue.retry());
  const restart = button("Start again", () => dialogue.restart());
  const leave = el("a", { href: back }, "Close");
  const notes = el("ul");
  const details = el("details", { class: "quiet" }, el("summary", {}, "Notes for the author"), notes);
  return {
    elements: [status, problem, el("div", { class: "row" }, retry, restart, leave), details],
    show(state, before) {
      setText(status, statusOf(state));
      // The loader shows how a task gets on; a lost connection it does not show.
      const isSeen = state.task?.state !== "running" || isDisconnected(state);
      setAttribute(status, "class", isSeen ? "quiet" : "unseen");
      setText(problem, state.problem?.message ?? "");
      retry.hidden = state.problem?.canRetry !== true;
      restart.hidden = state.status !== "ended" && state.problem === null;
      leave.hidden = restart.hidden;
      details.hidden = state.reports.length === 0;
      if (before.reports === state.reports) return;
      notes.replaceChildren(...state.reports.map(note => el("li", {}, note)));
    },
  };
}

function itemOf({ values, faults }: DialogueState, block: BlockItem["block"], answer: number): BlockItem {
  // An alert is read out after each press, even if it says the same again.
  if (block.type === "alert") return { block, answer };
  return block.type === "input"
    ? { block, value: ownText(values, block.name), fault: ownText(faults, block.name) }
    : { block };
}

/** Returns the words for what goes on. The progress of a task is said in steps of ten. */
function statusOf(state: DialogueState): string {
  const { status, pending, task, problem } = state;
  if (problem !== null) return "";
  if (!navigator.onLine && status !== "ended")
    return "You are offline. The dialogue goes on when you are back.";
  if (isDisconnected(state)) return "No answer yet. Trying again…";
  if (status === "sending" && pending?.kind !== "poll") return "Working…";
  if (task?.state === "running") {
    return task.progress === undefined
      ? "In progress"
      : `In progress, ${Math.floor(task.progress / 10) * 10} %`;
  }
  return status === "ended" ? "This is the end of the dialogue." : "";
}

/** Returns true while a request is sent again, or cannot be sent. */
function isDisconnected({ pending }: DialogueState): boolean {
  return !navigator.onLine || (pending !== null && pending.tries > 1);
}

function prevent(event: Event): void {
  event.preventDefault();
}

/** A key that is held down would press the buttons of one view after the other. */
function ignoreRepeats(event: Event): void {
  const { key, repeat } = event as KeyboardEvent;
  if (key === "Enter" && repeat) event.preventDefault();
}

/** A file that is dropped beside its field would replace the page. */
function keepPage(event: Event): void {
  if (!(event.target instanceof HTMLInputElement)) event.preventDefault();
}

type InputBlock = Extract<ShownBlock, { readonly type: "input" }>;

/** Takes a value; null: none. */
type SetValue = (value: string | null) => void;

interface Control {
  /** Has the label, and gets the focus. */
  readonly control: HTMLInputElement;
  readonly parts: readonly HTMLElement[];
  show(value: string | undefined): void;
}

const mebibyte = 1_048_576;
const imageTypes = "image/png,image/jpeg,image/gif,image/webp";
let created = 0;

function createInput({ input_type: type }: InputBlock, set: SetValue): BlockView {
  const id = `input-${++created}`;
  const label = el("label", { for: id });
  const fault = el("p", { class: "fault", id: `${id}-fault`, role: "alert" });
  const showFault = (text: string): void => {
    setText(fault, text);
    setAttribute(control, "aria-invalid", text === "" ? null : "true");
  };
  const { control, parts, show } =
    type === "text"
      ? createText(set)
      : type === "colour"
        ? createColour(set)
        : createFile(set, showFault, type === "image");
  setAttribute(control, "id", id);
  setAttribute(control, "aria-describedby", fault.id);
  let shown = "";
  return {
    element: el("div", { class: `block field ${type}` }, label, ...parts, fault),
    target: control,
    show({ block, value, fault: refused }) {
      show(value);
      if (refused !== undefined) showFault(`${refused}.`);
      else if (value !== undefined) showFault("");
      const text = block.type === "input" ? block.label : "";
      setText(label, text);
      const isNew = text !== shown;
      shown = text;
      return isNew;
    },
  };
}

function createText(set: SetValue): Control {
  const { textCharactersMax: maxlength } = dialogueLimits;
  const take = (): void => set(control.value);
  const control = el("input", { type: "text", autocomplete: "off", maxlength, on: { input: take } });
  return {
    control,
    parts: [control],
    show(value = "") {
      if (control.value !== value) control.value = value;
    },
  };
}

/** The colour that a picker begins with: a choice of any other, black and white too, is a change. */
const untouchedColour = "#7f7f7f";

/** An untouched colour has no value. Escape leaves it so. */
function createColour(set: SetValue): Control {
  const take = (): void => set(control.value);
  const control = el("input", { type: "color", value: untouchedColour, on: { input: take, change: take } });
  const text = el("span", { class: "count" });
  const clear = createClear("Clear", set, control);
  return {
    control,
    parts: [el("div", { class: "row" }, control, text, clear)],
    show(value) {
      control.value = value ?? untouchedColour;
      setText(text, value ?? "No colour chosen");
      clear.hidden = value === undefined;
    },
  };
}

/** The control lies over the whole field, so that files can be dropped on it. */
function createFile(set: SetValue, showFault: (text: string) => void, isImage: boolean): Control {
  const prompt = isImage ? "Choose an image, or drop it here" : "Choose a file, or drop it here";
  const accept = isImage ? imageTypes : null;
  const control = el("input", { type: "file", accept, title: "", on: { change: () => read() } });
  const text = el("span");
  const preview = el("img", { alt: "" });
  const clear = createClear("Remove", set, control);
  let name = "";
  let picture: string | undefined;
  let reads = 0;
  async function read(): Promise<void> {
    const turn = ++reads;
    const [file] = control.files ?? [];
    set(null);
    showFault("");
    if (file === undefined) return;
    name = `${plainText(file.name)} · ${sizeText(file.size)}`;
    setText(text, "Reading…");
    const result = await readFile(file, isImage);
    if (turn !== reads) return;
    if (typeof result !== "string") return set(result.value);
    control.value = "";
    setText(text, prompt);
    showFault(result);
  }
  return {
    control,
    parts: [el("div", { class: "drop" }, preview, text, control, clear)],
    show(value) {
      setText(text, value === undefined ? prompt : name || "The file that you chose");
      clear.hidden = value === undefined;
      if (!isImage || value === picture) return;
      picture = value;
      setAttribute(preview, "src", value === undefined ? null : `data:;base64,${value}`);
    },
  };
}

function createClear(label: string, set: SetValue, control: HTMLInputElement): HTMLButtonElement {
  const clear = (): void => {
    if (control.type === "file") control.value = "";
    set(null);
    control.focus();
  };
  return el("button", { type: "button", class: "plain", on: { click: clear } }, label);
}

/** Reads a file as Base64, or returns the reason why it cannot be sent. */
async function readFile(file: File, isImage: boolean): Promise<{ readonly value: string } | string> {
  const { fileBytesMax } = dialogueLimits;
  if (file.size > fileBytesMax) return `The file is larger than ${fileBytesMax / mebibyte} MiB.`;
  const bytes = await file.arrayBuffer().catch(() => null);
  if (bytes === null) return "The file cannot be read.";
  const content = new Uint8Array(bytes);
  if (isImage && imageType(content) === null) return "This is no image of type PNG, JPEG, GIF or WebP.";
  return { value: encodeFile(content) };
}

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < mebibyte ? `${Math.round(bytes / 1_024)} KiB` : `${(bytes / mebibyte).toFixed(1)} MiB`;
}

type BlockOf<T extends ShownBlock["type"]> = Extract<ShownBlock, { readonly type: T }>;

/** A block as it is shown: an input with its value, and the reason why the last one was not taken. */
interface BlockItem {
  readonly block: ShownBlock;
  readonly value?: string | undefined;
  readonly fault?: string | undefined;
  /** Number of the answer: in another one the block is new, although it is the same. */
  readonly answer?: number;
}

interface BlockView {
  readonly element: HTMLElement;
  readonly target: HTMLElement;
  /** Returns true if the block is another one than before. */
  show(item: BlockItem): boolean;
}

/** Titles of alerts that have none: colours alone would not say how grave they are. */
const severityTitles = { success: "Success", info: "Note", warning: "Warning", error: "Error" } as const;

function createBlock(type: ShownBlock["type"]): BlockView {
  const role = type === "alert" ? "alert" : null;
  const element = el("div", { class: `block ${type}`, tabindex: -1, role });
  let shown = "";
  return {
    element,
    target: element,
    show({ block, answer }) {
      const text = JSON.stringify([block, answer]);
      if (text === shown) return false;
      shown = text;
      if (block.type === "loader") fillLoader(element, block);
      else if (block.type !== "input") element.replaceChildren(...contentOf(block, element));
      return true;
    },
  };
}

function contentOf(
  block: Exclude<ShownBlock, BlockOf<"input" | "loader">>,
  element: HTMLElement,
): readonly Node[] {
  switch (block.type) {
    case "text":
      return [...labelOf(block.label), el("p", {}, ...textNodes(block.text))];
    case "image":
      return [imageOf(block), ...labelOf(block.label)];
    case "colour": {
      const swatch = el("span", { class: "swatch" }, el("span"));
      (swatch.firstChild as HTMLElement).style.backgroundColor = block.value;
      return [...labelOf(block.label), el("p", { class: "row" }, swatch, el("code", {}, block.value))];
    }
    case "alert":
      element.dataset.severity = block.severity;
      return [
        el("strong", {}, block.title || severityTitles[block.severity ?? "info"]),
        el("p", {}, block.text),
      ];
    case "unknown": {
      const name = block.name === "" ? "" : ` (“${block.name}”)`;
      return [el("p", { class: "empty" }, `This part${name} cannot be shown here.`)];
    }
  }
}

function labelOf(label = ""): readonly Node[] {
  return label === "" ? [] : [el("p", { class: "quiet" }, label)];
}

function textNodes(text: string): readonly Node[] {
  return parseMarkup(text).map(token => {
    if (token.type === "break") return el("br");
    let node: Node = new Text(token.text);
    if (token.em) node = el("em", {}, node);
    return token.strong ? el("strong", {}, node) : node;
  });
}

/** Loads an image without saying from where: from https, and on this machine from http too. */
function imageOf({ url, alt_text: text, label = "" }: BlockOf<"image">): HTMLElement {
  const alt = text || label;
  const lost = el("p", { class: "empty" }, `The image${alt && ` (${alt})`} cannot be loaded.`);
  if (new URL(url).protocol === "http:" && !isLoopback(location.hostname)) return lost;
  const on = { error: () => image.replaceWith(lost) };
  const image = el("img", { referrerpolicy: "no-referrer", decoding: "async", alt, on, src: url });
  return image;
}

/** Updates a loader in its place, so that it keeps moving. */
function fillLoader(element: HTMLElement, { text = "", progress }: BlockOf<"loader">): void {
  if (element.firstChild === null) {
    const bar = el("progress", { max: 100 });
    element.append(el("span"), el("span", { class: "count" }), bar);
  }
  const [title, count, bar] = element.children as unknown as [Element, Element, Element];
  setText(title, text || "In progress");
  setText(count, progress === undefined ? "" : `${Math.round(progress)} %`);
  setAttribute(bar, "aria-label", text || "In progress");
  setAttribute(bar, "value", progress);
}
