/**
 * Contents of elements as people write them in files, and as the control API has them.
 *
 * `question` and each option are a text or a map of fields, `fields` are the custom fields. A value that is a map of language tags
 * (or `all`) is written by locale, any other value for all locales. A list in place of a map is taken as the API has it.
 *
 * @module
 */

/** A field of the control API. */
interface Field {
  readonly key: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** The contents of an element in the control API. */
export interface ElementContent {
  readonly question?: {
    readonly fields?: readonly Field[];
    readonly options?: readonly { readonly fields: readonly Field[] }[];
  } | null;
  readonly custom_fields?: readonly Field[] | null;
}

/** The contents of an element in a file. */
export interface ElementData {
  readonly question?: unknown;
  readonly options?: readonly unknown[];
  readonly fields?: unknown;
}

/** The field that a text in place of a map stands for. */
const textFields = { question: "question", option: "text" } as const;
const localeShape = /^(all|[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3})$/;

/** Returns the contents of an element as the control API has them. */
export function attributesOf({ question, options, fields }: ElementData): ElementContent {
  const asked = {
    ...(question === undefined ? {} : { fields: fieldsOf(question, textFields.question) }),
    ...(options === undefined
      ? {}
      : { options: options.map(option => ({ fields: fieldsOf(option, textFields.option) })) }),
  };
  return {
    ...(Object.keys(asked).length === 0 ? {} : { question: asked }),
    ...(fields === undefined ? {} : { custom_fields: fieldsOf(fields, "") }),
  };
}

/** Returns the contents of an element as a file has them; {@linkcode attributesOf} gives equal ones. */
export function dataOf({ question, custom_fields: custom }: ElementContent): ElementData {
  const { fields, options } = question ?? {};
  return {
    ...(fields === undefined ? {} : { question: plainOf(fields, textFields.question) }),
    ...(options === undefined
      ? {}
      : { options: options.map(option => plainOf(option.fields, textFields.option)) }),
    ...(custom === undefined || custom === null || custom.length === 0 ? {} : { fields: plainOf(custom) }),
  };
}

/** Returns fields as the control API has them; anything but a map or a list stands for the field `textKey`. */
export function fieldsOf(plain: unknown, textKey: string): readonly Field[] {
  if (Array.isArray(plain)) return plain;
  const map = isMap(plain) ? plain : { [textKey]: plain };
  return Object.entries(map).map(([key, value]) => ({
    key,
    values: isByLocale(value) ? value : { all: value },
  }));
}

/** Returns fields as a file has them. */
export function plainOf(fields: readonly Field[], textKey?: string): unknown {
  const entries = fields.map(({ key, values }): readonly [string, unknown] => {
    const isForAll = Object.keys(values).join() === "all" && !isByLocale(values.all);
    return [key, isForAll ? values.all : values];
  });
  const [[key, value] = ["", null]] = entries;
  if (entries.length === 1 && key === textKey && typeof value === "string") return value;
  const map = Object.fromEntries(entries);
  // An object has names that look like numbers first.
  return Object.keys(map).join("\n") === fields.map(field => field.key).join("\n") ? map : fields;
}

function isByLocale(value: unknown): value is Field["values"] {
  const names = isMap(value) ? Object.keys(value) : [];
  return names.length > 0 && names.every(name => localeShape.test(name));
}

/** True for objects that are no lists. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
