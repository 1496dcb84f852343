/** The markup of text blocks, and plain text. */

import { dialogueLimits } from "./limits.ts";

/** A part of a text: characters in one style, or a line break. */
export type MarkupToken =
  | { readonly type: "text"; readonly text: string; readonly strong: boolean; readonly em: boolean }
  | { readonly type: "break" };

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&amp;": "&",
  "&quot;": '"',
  "&#39;": "'",
};
const tag = /<(\/?)(strong|em)>|<(br) ?\/?>/giu;

/**
 * Parses the limited markup of a text block: `<strong>`, `<em>` and `<br>` without attributes, and five entities. Everything else
 * is literal text. Open styles end with the text, and closing tags without an opening one are dropped.
 */
export function parseMarkup(text: string): readonly MarkupToken[] {
  const tokens: MarkupToken[] = [];
  const open: string[] = [];
  let from = 0;
  const add = (until: number, source: string): void => {
    const literal = source
      .slice(from, until)
      .replace(/&(?:lt|gt|amp|quot|#39);/g, each => entities[each] ?? each);
    if (literal !== "")
      tokens.push({ type: "text", text: literal, strong: open.includes("strong"), em: open.includes("em") });
  };
  const source = plainText(text);
  for (const match of source.matchAll(tag)) {
    add(match.index, source);
    from = match.index + match[0].length;
    const name = match[2]?.toLowerCase();
    if (name === undefined) tokens.push({ type: "break" });
    else if (match[1] === "/") {
      const at = open.lastIndexOf(name);
      if (at >= 0) open.splice(at, 1);
    } else if (open.length < dialogueLimits.markupDepthMax) open.push(name);
  }
  add(source.length, source);
  return tokens;
}

/** Returns a text without control characters and changes of direction, cut to the longest that is shown. White space is one kind. */
export function plainText(text: string): string {
  return text
    .slice(0, dialogueLimits.textCharactersMax)
    .replace(/[\t\n\r]+/g, " ")
    .replace(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "")
    .toWellFormed();
}

/** Returns a text in which nothing is markup. */
export function escapeMarkup(text: string): string {
  return text.replace(
    /[<>&"']/g,
    each => Object.keys(entities).find(name => entities[name] === each) ?? each,
  );
}
