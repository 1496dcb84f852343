/** Checks the contents of elements against their content type: the question, its options, and custom fields. */

import type { ContentType, Property, PropertyType } from "./content_types.ts";
import type { Field } from "./schemas.ts";

export interface Content {
  readonly question?: {
    readonly fields?: readonly Field[] | undefined;
    readonly options?: readonly { readonly fields: readonly Field[] }[] | undefined;
  } | null;
  readonly custom_fields?: readonly Field[] | null;
}

/** A fault of contents, located in the attributes of the element. */
interface ContentFault {
  readonly pointer: string;
  readonly detail: string;
}

const textCharactersMax = 10_000;
const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A tag that limited markup does not have. */
const strangeTag = /<(?!\/?(strong|em)>|br ?\/?>)[a-z!/?]/i;

const checks: Readonly<Record<PropertyType, (value: unknown, property: Property) => string | null>> = {
  text: (value, property) => textFault(value, property),
  rich_text: (value, property) =>
    textFault(value, property) ??
    (strangeTag.test(String(value)) ? "Expected no tags but strong, em and br" : null),
  integer: (value, property) =>
    Number.isInteger(value) ? rangeFault(value as number, property) : "Expected an integer",
  number: (value, property) =>
    typeof value === "number" ? rangeFault(value, property) : "Expected a number",
  boolean: value => (typeof value === "boolean" ? null : "Expected true or false"),
  enum: (value, { values = [] }) =>
    values.includes(value as string) ? null : `Expected one of ${values.join(", ")}`,
  colour: shaped(/^#([0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$/i, "Expected a colour such as #0a7f3c"),
  datetime: value =>
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/.test(String(value)) &&
    !Number.isNaN(Date.parse(String(value)))
      ? null
      : "Expected a time with an offset, such as 2027-05-01T20:00:00Z",
  url: value =>
    typeof value === "string" && value.startsWith("https://") && value.length <= 2_048 && URL.canParse(value)
      ? null
      : "Expected an https address",
  asset: shaped(
    /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(https?:)?\/\/\S{1,2040})$/i,
    "Expected the id or address of an asset",
  ),
  element_ref: shaped(uuidShape, "Expected the id of an element"),
  metric_ref: shaped(/^[A-Za-z0-9_.:-]{1,100}$/, "Expected the id of a metric"),
  leaderboard_ref: shaped(
    /^(event:)?[A-Za-z0-9_-]{1,64}$/,
    "Expected the id of a leaderboard, after event: for one of the event",
  ),
};

function shaped(shape: RegExp, detail: string): (value: unknown) => string | null {
  return value => (typeof value === "string" && shape.test(value) ? null : detail);
}

function textFault(value: unknown, { max_length: most = textCharactersMax }: Property): string | null {
  if (typeof value !== "string") return "Expected a text";
  return value.length <= most ? null : `Expected at most ${most} characters`;
}

function rangeFault(value: number, { min = -Infinity, max = Infinity }: Property): string | null {
  if (value < min) return `Expected ${min} or more`;
  return value > max ? `Expected ${max} or less` : null;
}

/** The custom field that says what `correct_option` says. */
export const answerField = "correctAnswer";
/** Types that are derived from these have the field, whatever else they name. */
const answeredTypes: readonly unknown[] = ["trivia", "prediction"];
const answerMax = 100;

/**
 * Returns how elements of a type have the custom field `correctAnswer`: `always` with a right option, `written` where somebody wrote it,
 * `own` where the type means something else by the name.
 */
export function answerUse(type: ContentType | undefined): "always" | "written" | "own" {
  if (answeredTypes.includes(type?.derived_from)) return "always";
  const property = customProperties(type)?.find(({ key }) => key === answerField);
  if (property === undefined) return "written";
  const known = property.type ?? property.field ?? "";
  return Object.hasOwn(checks, known) && !["integer", "number"].includes(known) ? "own" : "always";
}

/** Returns the number of the right option that a field has, as a number or as its text; null: none, undefined: it is no such number. */
export function answerOf({ values }: Field): number | null | undefined {
  const answers = Object.values(values).map(value =>
    isEmpty(value) ? null : typeof value === "string" && /^\d{1,3}$/.test(value) ? Number(value) : value,
  );
  const [answer = null] = answers;
  if (answers.some(each => each !== answer)) return undefined;
  if (answer === null) return null;
  return Number.isInteger(answer) && Number(answer) >= 0 && Number(answer) <= answerMax
    ? Number(answer)
    : undefined;
}

/** Returns fields without those that a written one replaces under another name. */
export function withoutRenamed(
  type: ContentType,
  fields: readonly Field[],
  written: readonly Field[],
): readonly Field[] {
  const custom = customProperties(type) ?? [];
  const isReplaced = ({ key }: Field): boolean =>
    !written.some(field => field.key === key) &&
    custom.some(property => isNamed(property, key) && written.some(field => isNamed(property, field.key)));
  return fields.filter(field => !isReplaced(field));
}

function isNamed({ key, aliases = [] }: Property, name: string): boolean {
  return key === name || aliases.includes(name);
}

function customProperties(type: ContentType | undefined): readonly Property[] | undefined {
  return type?.custom_fields?.flatMap(({ properties = [] }) => properties);
}

/**
 * Returns the faults of contents. A draft may be incomplete. A list of properties that the type does not have is open: its elements
 * may have any fields there.
 */
export function contentFaults(
  type: ContentType,
  { question, custom_fields: customFields }: Content,
  { isPublished }: { readonly isPublished: boolean },
): readonly ContentFault[] {
  const custom = customProperties(type);
  const isOpen = type.custom_fields_open === true;
  const options = question?.options ?? [];
  const { min = 0, max = Infinity } = type.options_number ?? {};
  const faults = [
    ...fieldFaults(question?.fields ?? [], type.question ?? null, "/question/fields", { isPublished }),
    ...options.flatMap(({ fields }, index) =>
      fieldFaults(fields, type.option ?? null, `/question/options/${index}/fields`, { isPublished }),
    ),
    ...fieldFaults(customFields ?? [], custom ?? null, "/custom_fields", {
      isPublished,
      extra: isOpen ? "any" : answerUse(type) === "always" ? [answerField] : [],
    }),
  ];
  if (options.length > max || (isPublished && options.length < min)) {
    const bounds = max === Infinity ? `${min} or more` : min === max ? String(min) : `${min} to ${max}`;
    faults.push({ pointer: "/question/options", detail: `Expected ${bounds} options` });
  }
  const properties = [...(type.question ?? []), ...(custom ?? [])];
  const has = (key: string): boolean => {
    const isMeant = (field: Field) =>
      field.key === key || properties.some(each => each.key === key && isNamed(each, field.key));
    return [...(question?.fields ?? []), ...(customFields ?? [])].some(
      field => isMeant(field) && isFilled(field),
    );
  };
  const sets = type.any_of ?? [];
  if (isPublished && sets.length > 0 && !sets.some(keys => keys.every(has))) {
    const choices = sets.map(keys => keys.join(" and ")).join(", or ");
    faults.push({ pointer: "/custom_fields", detail: `Expected ${choices}` });
  }
  return faults;
}

function fieldFaults(
  fields: readonly Field[],
  properties: readonly Property[] | null,
  pointer: string,
  { isPublished, extra = [] }: { readonly isPublished: boolean; readonly extra?: "any" | readonly string[] },
): ContentFault[] {
  if (properties === null) return [];
  const faults = fields.flatMap(({ key, values }, index): ContentFault[] => {
    const at = `${pointer}/${index}`;
    const property = properties.find(each => isNamed(each, key));
    // Clients send the right answer as a number or as its text.
    if (extra !== "any" && extra.includes(key)) return [];
    const other = property && fields.slice(0, index).find(field => isNamed(property, field.key));
    if (other !== undefined) {
      const detail = `Expected ${other.key} or ${key}: both are the same field`;
      return [{ pointer: `${at}/key`, detail }];
    }
    if (property === undefined) {
      if (extra === "any") return [];
      const known = properties.map(each => each.key).join(", ");
      const detail =
        known === ""
          ? `Expected no field "${key}": the content type has none here`
          : `Expected a field of the content type, not "${key}": ${known}`;
      return [{ pointer: `${at}/key`, detail }];
    }
    return Object.entries(values).flatMap(([locale, value]) => {
      const detail = isEmpty(value) ? null : valueFault(property, value);
      return detail === null ? [] : [{ pointer: `${at}/values/${locale}`, detail }];
    });
  });
  const missing = !isPublished
    ? []
    : properties.filter(
        property =>
          property.mandatory === true &&
          !fields.some(field => isNamed(property, field.key) && isFilled(field)),
      );
  return [...faults, ...missing.map(({ key }) => ({ pointer, detail: `Expected the field ${key}` }))];
}

function valueFault(property: Property, value: unknown): string | null {
  const { type = property.field as PropertyType, many = false } = property;
  const check = Object.hasOwn(checks, type) ? checks[type] : undefined;
  if (check === undefined) return null;
  if (!many) return check(value, property);
  if (!Array.isArray(value)) return "Expected a list";
  return value.map(each => check(each, property)).find(fault => fault !== null) ?? null;
}

function isFilled({ values }: Field): boolean {
  return Object.values(values).some(value => !isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}
