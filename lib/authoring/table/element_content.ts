/**
 * Contents of elements as people write them in files, and as the control API has them.
 *
 * `question` and each option are a text or a map of fields, `fields` are the custom fields. A value that is a map of languages (or
 * `all`) is written by locale, any other value for all locales. A list in place of a map is taken as the API has it.
 *
 * A language is a locale of the project, or a language tag whose language is known. Many words of three letters name a language, as
 * `min` does: they count with a region or script, or as a locale of the project.
 */

import { isMembers } from "../../base/json/mod.ts";
import { present } from "../../base/text/present.ts";

interface Field {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

export interface ElementContent {
  readonly question?: {
    readonly fields?: readonly Field[];
    readonly options?: readonly { readonly fields: readonly Field[] }[];
  } | null;
  readonly custom_fields?: readonly Field[] | null;
}

interface ElementData {
  readonly question?: unknown;
  readonly options?: readonly unknown[];
  readonly fields?: unknown;
}

/** The field that a text in place of a map stands for. */
const textFields = { question: "question", option: "text" } as const;
const localeShape = /^(all|[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3})$/;
/** Made when it is first needed, as making it takes longer than loading most modules. */
let languages: Intl.DisplayNames | undefined;

/** Returns the contents of an element as the control API has them; `locales` are those of its project. */
export function attributesOf(
  { question, options, fields }: ElementData,
  locales: readonly string[],
): ElementContent {
  const asked = present({
    fields: question === undefined ? undefined : fieldsOf(question, textFields.question, locales),
    options: options?.map(option => ({ fields: fieldsOf(option, textFields.option, locales) })),
  });
  return present({
    question: Object.keys(asked).length === 0 ? undefined : asked,
    custom_fields: fields === undefined ? undefined : fieldsOf(fields, "", locales),
  });
}

/** Returns the contents of an element as a file has them; {@linkcode attributesOf} gives equal ones. */
export function dataOf({ question, custom_fields: custom }: ElementContent): ElementData {
  const { fields, options } = question ?? {};
  return present({
    question: fields && plainOf(fields, textFields.question),
    options: options?.map(option => plainOf(option.fields, textFields.option)),
    fields: custom?.length ? plainOf(custom) : undefined,
  });
}

/** Returns fields as the control API has them; anything but a map or a list stands for the field `textKey`. */
export function fieldsOf(plain: unknown, textKey: string, locales: readonly string[]): readonly Field[] {
  if (Array.isArray(plain)) return plain;
  const map = isMembers(plain) ? plain : { [textKey]: plain };
  return Object.entries(map).map(([key, value]) => ({
    key,
    values: isByLocale(value, locales) ? value : { all: value },
  }));
}

/** Returns fields as a file has them, which reads the same whatever the locales of the project are. */
export function plainOf(fields: readonly Field[], textKey?: string): unknown {
  const entries = fields.map(({ key, values }): readonly [string, unknown] => {
    const isForAll = Object.keys(values).join() === "all" && !isShapedByLocale(values.all);
    return [key, isForAll ? values.all : values];
  });
  const [[key, value] = ["", null]] = entries;
  if (entries.length === 1 && key === textKey && typeof value === "string") return value;
  const map = Object.fromEntries(entries);
  const isUnclear = fields.some(({ key, values }) => map[key] === values && !isByLocale(values, []));
  // An object has names that look like numbers first.
  const isInOrder = Object.keys(map).join("\n") === fields.map(field => field.key).join("\n");
  return isInOrder && !isUnclear ? map : fields;
}

function isByLocale(value: unknown, locales: readonly string[]): value is Field["values"] {
  return (
    isShapedByLocale(value) &&
    Object.keys(value).every(name => name === "all" || locales.includes(name) || isLanguage(name))
  );
}

function isLanguage(tag: string): boolean {
  try {
    languages ??= new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
    return !/^[a-z]{3}$/i.test(tag) && languages.of(tag) !== undefined;
  } catch {
    return false;
  }
}

function isShapedByLocale(value: unknown): value is Field["values"] {
  const names = isMembers(value) ? Object.keys(value) : [];
  return names.length > 0 && names.every(name => localeShape.test(name));
}

/** Values of fields are at most so deep in a file: in a list of elements, their options and fields. */
const fieldDepth = 5;

/** True if a document has a map whose names are languages only where the locales of the project say so. */
export function needsLocales(document: unknown, depth = fieldDepth): boolean {
  if (typeof document !== "object" || document === null || depth === 0) return false;
  const isUnclear = isShapedByLocale(document) && !isByLocale(document, []);
  return isUnclear || Object.values(document).some(value => needsLocales(value, depth - 1));
}

/** Returns what an element is called: its name, else its question or its first text; "" without any. */
export function titleOf({
  name,
  question,
  custom_fields: custom,
}: ElementContent & { readonly name?: unknown }): string {
  return String(name || textIn(question?.fields) || textIn(custom));
}

/** Returns the first text of fields, that for all languages first. */
export function textIn(fields: ElementContent["custom_fields"]): string {
  const values = (fields ?? []).flatMap(({ values }) => [values.all, ...Object.values(values)]);
  return String(values.find(value => typeof value === "string" && value !== "") ?? "");
}
