/** What an element is called, what fans choose from, what their votes say, and what nobody has written yet. */

import type { ContentType } from "../../../authoring/table/content_types.ts";
import { titleOf as elementTitle, textIn } from "../../../authoring/table/element_content.ts";

type Attributes = Readonly<Record<string, unknown>>;

interface Fields {
  readonly fields?: readonly { readonly key: string; readonly values: Readonly<Record<string, unknown>> }[];
  readonly options?: readonly Fields[];
}

/** Returns the texts of the options of an element. */
export function optionsOf({ question }: Attributes): readonly string[] {
  return ((question as Fields | null)?.options ?? []).map(
    (option, index) => textIn(option.fields) || String(index + 1),
  );
}

/** Returns what an element is called, if need be by its type. */
export function titleOf(attributes: Attributes): string {
  return elementTitle(attributes) || String(attributes.content_type);
}

/** Returns the texts of what votes choose from: options, or the marks of a rating. */
export function choicesOf(attributes: Attributes): readonly string[] {
  const options = optionsOf(attributes);
  if (options.length > 0 || attributes.content_type !== "rating") return options;
  const valueIn = (key: string): unknown =>
    ((attributes.custom_fields ?? []) as NonNullable<Fields["fields"]>).find(each => each.key === key)?.values
      .all;
  const labels = valueIn("labels");
  const scale = Math.min(10, Math.max(2, Number(valueIn("scale") ?? 5)));
  return Array.from({ length: scale }, (_, index) => {
    const label: unknown = Array.isArray(labels) ? labels[index] : undefined;
    return typeof label === "string" && label !== "" ? `${index + 1}, ${label}` : String(index + 1);
  });
}

/** Returns what a new element can begin as: each template of a type, or nothing but the type. */
export function beginningsOf(type: ContentType) {
  const { name, content_type: contentType, templates } = type;
  const [first, ...others] = templates ?? [];
  if (others.length === 0) return [{ label: name, contentType, data: first?.data ?? {} }];
  return (templates ?? []).map(({ name: key, title, data }) => ({
    label: `${name}: ${title ?? key}`,
    contentType,
    data,
  }));
}

/** Returns the names of the texts that an element still has from a template of its type: nobody wrote them for this show. */
export function textsOfTemplate(type: ContentType | undefined, attributes: Attributes): readonly string[] {
  const { question, custom_fields: groups, templates } = type ?? {};
  const texts = [...(question ?? []), ...(groups ?? []).flatMap(({ properties }) => properties ?? [])].filter(
    ({ type: kind, field, default: preset }) =>
      ["text", "rich_text", "url"].includes(kind ?? field ?? "") && preset === undefined,
  );
  const valuesOf = (data: Attributes, key: string): string | undefined => {
    const { fields } = (data.question ?? {}) as Fields;
    const all = [...(fields ?? []), ...((data.custom_fields ?? []) as NonNullable<Fields["fields"]>)];
    return JSON.stringify(all.find(each => each.key === key)?.values);
  };
  const kept = texts.filter(({ key }) => {
    const own = valuesOf(attributes, key);
    return own !== undefined && (templates ?? []).some(({ data }) => valuesOf(data, key) === own);
  });
  return kept.map(({ key, label }) => (label ?? key).toLowerCase());
}

/** Returns the mean of a rating, to two decimals; null: the element is none, or nobody has voted. */
export function meanOf({ content_type: type }: Attributes, votes: readonly number[]): number | null {
  const count = votes.reduce((sum, each) => sum + each, 0);
  if (type !== "rating" || count === 0) return null;
  const sum = votes.reduce((all, each, index) => all + each * (index + 1), 0);
  return Math.round((100 * sum) / count) / 100;
}
