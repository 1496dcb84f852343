/** The blocks of a dialogue but its inputs. */

import { isLoopback } from "../../../base/text/mod.ts";
import { parseMarkup, type ShownBlock } from "../../../workflow/dialogue/mod.ts";
import { el, setAttribute, setText } from "./elements.ts";

type BlockOf<T extends ShownBlock["type"]> = Extract<ShownBlock, { readonly type: T }>;

/** A block as it is shown: an input with its value, and the reason why the last one was not taken. */
export interface BlockItem {
  readonly block: ShownBlock;
  readonly value?: string | undefined;
  readonly fault?: string | undefined;
  /** Number of the answer: in another one the block is new, although it is the same. */
  readonly answer?: number;
}

/** An element that shows a block. */
export interface BlockView {
  readonly element: HTMLElement;
  /** Gets the focus. */
  readonly target: HTMLElement;
  /** Returns true if the block is another one than before. */
  show(item: BlockItem): boolean;
}

/** Titles of alerts that have none: colours alone would not say how grave they are. */
const severityTitles = { success: "Success", info: "Note", warning: "Warning", error: "Error" } as const;

/** Creates the element of a block. */
export function createBlock(type: ShownBlock["type"]): BlockView {
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
