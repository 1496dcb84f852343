/** Views of a dialogue as text. */

import { parseMarkup, type ShownBlock } from "../../workflow/dialogue/mod.ts";
import { clean } from "../frame/clean.ts";

const reset = "\u001b[0m";
const styles = { strong: "\u001b[1m", em: "\u001b[3m" } as const;

const severities = { success: "Success", info: "Note", warning: "Warning", error: "Error" } as const;

/** Returns blocks as text, a block a paragraph, with styles where a terminal shows them. */
export function showBlocks(blocks: readonly ShownBlock[], hasColors: boolean): string {
  return blocks.map(block => `${showBlock(block, hasColors)}\n`).join("");
}

function showBlock(block: ShownBlock, hasColors: boolean): string {
  const label = "label" in block && block.label !== undefined ? `${clean(block.label)}: ` : "";
  switch (block.type) {
    case "text":
      return label + showMarkup(block.text, hasColors);
    case "image":
      return `${label}[image${named(block.alt_text)}${block.url.startsWith("data:") ? "" : `, ${clean(block.url)}`}]`;
    case "loader":
      return `[${block.progress === undefined ? "at work" : `${Math.round(block.progress)} %`}${named(block.text)}]`;
    case "colour":
      return label + swatch(block.value, hasColors) + block.value;
    case "alert": {
      const title = block.title === undefined ? "" : `${clean(block.title)}: `;
      return `${severities[block.severity ?? "info"]}: ${title}${clean(block.text)}`;
    }
    case "input":
      return `[${block.input_type} input ${clean(block.name)}: ${clean(block.label)}]`;
    case "unknown":
      return `[a block that is not known here${named(block.name)}]`;
  }
}

function named(text: string | undefined): string {
  return text === undefined || text === "" ? "" : `: ${clean(text)}`;
}

function showMarkup(text: string, hasColors: boolean): string {
  const styled = parseMarkup(text).map(token => {
    if (token.type === "break") return "\n";
    const codes = (["strong", "em"] as const).filter(name => token[name]).map(name => styles[name]);
    const plain = clean(token.text);
    return hasColors && codes.length > 0 ? `${codes.join("")}${plain}${reset}` : plain;
  });
  return styled.join("");
}

function swatch(value: string, hasColors: boolean): string {
  if (!hasColors) return "";
  const digits = value.length === 4 ? value.replace(/[0-9a-f]/gi, "$&$&") : value;
  const parts = [1, 3, 5].map(at => Number.parseInt(digits.slice(at, at + 2), 16));
  return `\u001b[48;2;${parts.join(";")}m  ${reset} `;
}
