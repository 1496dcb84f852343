/** The contents of an element in words: what a place is called, its languages, and what fans of a language would miss. */

import type { ContentType, Property } from "../../../../authoring/table/content_types.ts";
import type { Path } from "../../../../base/json/mod.ts";
import type { Attributes } from "./merge.ts";

interface Fields {
  readonly fields?: unknown;
}

/** Returns the value that a pointer into the attributes names; null: none that the editor shows. */
export function pathOf(pointer: string, attributes: Attributes): Path | null {
  const [name = "", ...steps] = pointer.split("/").slice(1);
  // What lacks a field as a whole has no value at fault.
  const valueIn = (start: Path, list: unknown, [index, , locale = "all"]: readonly string[]): Path | null => {
    const key = (list as readonly { readonly key: string }[] | undefined)?.[Number(index ?? -1)]?.key;
    return key === undefined ? null : [...start, key, locale];
  };
  if (name === "custom_fields") return valueIn([name], attributes[name], steps);
  if (name !== "question") return name === "" ? null : [name];
  const { fields, options } = (attributes.question ?? {}) as Fields & {
    readonly options?: readonly Fields[];
  };
  if (steps[0] === "fields") return valueIn([name, "fields"], fields, steps.slice(1));
  if (steps.length < 3) return [name, "options"];
  const index = Number(steps[1]);
  return valueIn([name, "options", index], options?.[index]?.fields, steps.slice(3));
}

/** Returns words for a place, such as `question (de)`. */
export function nameOf(path: Path): string {
  const [first, ...rest] = path.filter(step => step !== "custom_fields" && step !== "fields");
  if (first === "question" && rest[0] === "options" && rest.length > 1)
    return `option ${Number(rest[1]) + 1}${languageOf(rest.at(-1))}`;
  const last = rest.at(-1);
  const name = String(path.length > 1 ? (path.at(path[1] === "options" ? 1 : -2) ?? "") : first);
  return `${name.replaceAll("_", " ")}${path.length > 1 ? languageOf(last) : ""}`;
}

function languageOf(step: unknown): string {
  return typeof step === "string" && step !== "all" && /^[a-z]{2,3}(-|$)/.test(step) ? ` (${step})` : "";
}

/** Returns the languages that an element has texts in. */
export function languagesOf({ question, custom_fields: custom }: Attributes): readonly string[] {
  const { fields, options } = (question ?? {}) as Fields & { readonly options?: readonly Fields[] };
  const lists = [fields, custom, ...(options ?? []).map(option => option.fields)];
  const names = lists.flatMap(list =>
    ((list ?? []) as readonly { readonly values: object }[]).flatMap(({ values }) => Object.keys(values)),
  );
  return [...new Set(names)].filter(name => name !== "all");
}

/** A text of an element, whether it has one or not. */
interface Text {
  readonly path: Path;
  /** By language, or `all`. */
  readonly values: Readonly<Record<string, unknown>>;
  /** True if publishing needs it. */
  readonly isMandatory: boolean;
}

/** Lists the texts of a type. `read` returns the value at a place of the element. */
function textsOf(
  { question, option, custom_fields: groups }: ContentType,
  read: (path: Path) => unknown,
): readonly Text[] {
  const options = (read(["question", "options"]) ?? []) as readonly unknown[];
  const starts: readonly (readonly [Path, readonly Property[] | null | undefined])[] = [
    [["question", "fields"], question],
    ...options.map((_, index) => [["question", "options", index], option] as const),
    ...(groups ?? []).map(({ properties }) => [["custom_fields"], properties] as const),
  ];
  const isText = ({ type, field }: Property): boolean => ["text", "rich_text"].includes(type ?? field ?? "");
  return starts.flatMap(([start, properties]) =>
    (properties ?? []).filter(isText).map(({ key, mandatory }) => {
      const path = [...start, key];
      const values = Object.entries(Object(read(path))).filter(([, value]) => value !== undefined);
      return { path, values: Object.fromEntries(values), isMandatory: mandatory === true };
    }),
  );
}

/**
 * Returns the texts that fans of a language do not get: needed ones, and those that exist in another language.
 *
 * @param read Returns the value at a place of the element.
 */
export function missingTexts(
  type: ContentType,
  locale: string,
  read: (path: Path) => unknown,
): readonly Path[] {
  return textsOf(type, read)
    .filter(({ values, isMandatory }) => isMandatory || Object.keys(values).length > 0)
    .filter(({ values }) => ![...namesOf(locale), "all"].some(name => name in values))
    .map(({ path }) => [...path, locale]);
}

/** Returns the languages whose fans read the same texts, those for all languages: two or more, or none. */
export function untranslated(
  type: ContentType,
  locales: readonly string[],
  read: (path: Path) => unknown,
): readonly string[] {
  // Other texts may be ids, such as that of a coupon.
  const texts = textsOf(type, read).filter(({ path, isMandatory }) => isMandatory || path[0] === "question");
  const names = new Set(texts.flatMap(({ values }) => Object.keys(values)));
  const found = locales.filter(locale => !namesOf(locale).some(name => names.has(name)));
  return names.has("all") && found.length > 1 ? found : [];
}

/** Returns the names of texts that fans of a language read before those for all: `pt-BR`, then `pt`. */
function namesOf(locale: string): readonly string[] {
  return [locale, locale.split("-", 1)[0] ?? ""];
}
