/** The contents of an element in words: what a place is called, and what fans of a language would miss. */

import type { ContentType, Property } from "../../../../authoring/table/content_types.ts";
import type { Path } from "../../../../base/json/mod.ts";
import type { Attributes } from "./merge.ts";

interface Fields {
  readonly fields?: unknown;
}

/** Returns the value that a pointer into the attributes names; null: none that the editor shows. */
export function pathOf(pointer: string, attributes: Attributes): Path | null {
  const [name = "", ...steps] = pointer.split("/").slice(1);
  const keyAt = (list: unknown, index: string | undefined): string =>
    (list as readonly { readonly key: string }[] | undefined)?.[Number(index)]?.key ?? "";
  if (name === "custom_fields") return [name, keyAt(attributes[name], steps[0]), steps[2] ?? "all"];
  if (name !== "question") return name === "" ? null : [name];
  const { fields, options } = (attributes.question ?? {}) as Fields & {
    readonly options?: readonly Fields[];
  };
  if (steps[0] === "fields") return [name, "fields", keyAt(fields, steps[1]), steps[3] ?? "all"];
  if (steps.length < 3) return [name, "options"];
  const index = Number(steps[1]);
  return [name, "options", index, keyAt(options?.[index]?.fields, steps[3]), steps[5] ?? "all"];
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

/**
 * Returns the texts that fans of a language do not get: needed ones, and those that exist in another language.
 *
 * @param read Returns the value at a place of the element.
 */
export function missingTexts(
  { question, option, custom_fields: groups }: ContentType,
  locale: string,
  read: (path: Path) => unknown,
): readonly Path[] {
  const options = (read(["question", "options"]) ?? []) as readonly unknown[];
  const starts: readonly (readonly [Path, readonly Property[] | null | undefined])[] = [
    [["question", "fields"], question],
    ...options.map((_, index) => [["question", "options", index], option] as const),
    ...(groups ?? []).map(({ properties }) => [["custom_fields"], properties] as const),
  ];
  const isText = ({ type, field }: Property): boolean => ["text", "rich_text"].includes(type ?? field ?? "");
  return starts.flatMap(([start, properties]) =>
    (properties ?? []).filter(isText).flatMap(({ key, mandatory }) => {
      const values = read([...start, key]) as Readonly<Record<string, unknown>> | undefined;
      const [own, common] = [locale, "all"].map(each => read([...start, key, each]));
      const isWanted = mandatory === true || Object.values(values ?? {}).some(each => each !== undefined);
      return isWanted && own === undefined && common === undefined ? [[...start, key, locale]] : [];
    }),
  );
}
