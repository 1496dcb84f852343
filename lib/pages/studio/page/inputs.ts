/** The inputs of a dialogue. */

import {
  dialogueLimits,
  encodeFile,
  imageType,
  plainText,
  type ShownBlock,
} from "../../../workflow/dialogue/mod.ts";
import type { BlockView } from "./blocks.ts";
import { el, setAttribute, setText } from "./elements.ts";

export type InputBlock = Extract<ShownBlock, { readonly type: "input" }>;

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

export function createInput({ input_type: type }: InputBlock, set: SetValue): BlockView {
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
