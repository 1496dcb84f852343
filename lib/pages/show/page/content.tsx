/** What producers wrote, as nodes: never as HTML. */

import { Fragment } from "preact";
import { parseMarkup } from "../../../workflow/dialogue/markup.ts";
import { locale } from "./texts.ts";

type ByLocale = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Returns a field in the language of the page, or else that of every language. */
export function fieldOf(fields: ByLocale | undefined, key: string): unknown {
  const wanted = locale.value;
  const base = wanted.split("-", 1)[0] ?? "";
  return fields?.[wanted]?.[key] ?? fields?.[base]?.[key] ?? fields?.all?.[key];
}

export function textOf(fields: ByLocale | undefined, ...keys: readonly string[]): string {
  for (const key of keys) {
    const value = fieldOf(fields, key);
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return "";
}

/** Returns an address of the web; null for any other, such as `javascript:`. */
export function linkOf(value: unknown): string | null {
  if (typeof value !== "string" || !URL.canParse(value, location.href)) return null;
  const url = new URL(value, location.href);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
}

/** Text with the tags that producers may use. */
export function Rich({ text }: { readonly text: string }) {
  return (
    <p class="rich" dir="auto">
      {parseMarkup(text).map((token, index) => {
        if (token.type === "break") return <br key={index} />;
        const inner = token.em ? <em>{token.text}</em> : token.text;
        return token.strong ? <strong key={index}>{inner}</strong> : <Fragment key={index}>{inner}</Fragment>;
      })}
    </p>
  );
}

/** An image of the content; nothing where it has none. */
export function Picture({ url, text = "" }: { readonly url: unknown; readonly text?: string }) {
  const address = linkOf(url);
  return address === null ? null : <img class="picture" src={address} alt={text} loading="lazy" />;
}
