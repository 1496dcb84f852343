/** What producers wrote, as nodes: never as HTML. */

import { useSignal } from "@preact/signals";
import { Fragment } from "preact";
import { parseMarkup } from "../../../workflow/dialogue/markup.ts";
import { firstLocale, locale, t } from "./texts.ts";

/** True on devices that save data: no stream, and images on demand. */
export const savesData = ((): boolean => {
  const { connection } = navigator as {
    readonly connection?: { readonly saveData?: boolean; readonly effectiveType?: string };
  };
  return connection?.saveData === true || /(^|-)2g$/.test(connection?.effectiveType ?? "");
})();

type ByLocale = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Returns a field in the language of the page, else that of every language, else that of the first one. */
export function fieldOf(fields: ByLocale | undefined, key: string): unknown {
  const wanted = locale.value;
  const base = wanted.split("-", 1)[0] ?? "";
  const names = [wanted, base, "all", firstLocale.value];
  return names.map(name => fields?.[name]?.[key]).find(value => value !== undefined && value !== null);
}

export function textOf(fields: ByLocale | undefined, ...keys: readonly string[]): string {
  for (const key of keys) {
    const value = fieldOf(fields, key);
    if (typeof value === "string" && value !== "") return value;
    if (typeof value === "number") return String(value);
  }
  return "";
}

/** Returns what an element is called. */
export function titleOf({
  question,
  custom_fields: fields,
  content_type: type,
}: {
  readonly question: ByLocale;
  readonly custom_fields: ByLocale;
  readonly content_type: string;
}): string {
  return (
    textOf(question, "question", "text", "prompt") ||
    textOf(fields, "title", "prompt", "question", "label", "caption") ||
    type
  );
}

interface Pictured {
  readonly alt_texts?: Readonly<Record<string, string>> | undefined;
}

/** Returns the picture of fields of an item, and what it shows. Some clients write it under its other name. */
export function pictureOf(item: Pictured, fields: ByLocale | undefined) {
  const url = fieldOf(fields, "image") ?? fieldOf(fields, "image_url");
  return { url, text: altOf(item, url) };
}

export function altOf({ alt_texts: texts }: Pictured, url: unknown): string | undefined {
  return texts?.[String(url)];
}

/** Returns an address of the web; null for any other, such as `javascript:` or the id of a file that is gone. */
export function linkOf(value: unknown): string | null {
  if (typeof value !== "string" || isId(value) || !URL.canParse(value, location.href)) return null;
  const url = new URL(value, location.href);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
}

function isId(text: string): boolean {
  return /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);
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

/** An image of the content; nothing where it has none. A device that saves data loads it when it is asked for. */
export function Picture({ url, text = "" }: { readonly url: unknown; readonly text?: string | undefined }) {
  const address = linkOf(url);
  const isShown = useSignal(!savesData);
  if (address === null) return null;
  if (isShown.value) return <img class="picture" src={address} alt={text} loading="lazy" />;
  return (
    <button type="button" class="plain" onClick={() => (isShown.value = true)}>
      {t("showImage")}
    </button>
  );
}
