/** Schemas of attributes that several resources share. */

import * as v from "valibot";
import { canonicalEmail } from "../../base/text/mod.ts";

/** Characters that would change the text around a name: controls and directional formatting. */
const unsafeCharacters = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** A line of visible text, such as a name. */
export function line(charactersMin: number, charactersMax: number) {
  return v.pipe(
    v.string(),
    v.minLength(charactersMin),
    v.maxLength(charactersMax),
    v.check(text => !unsafeCharacters.test(text), "Expected text without control characters"),
    v.check(text => text === "" || text.trim() !== "", "Expected visible text"),
  );
}

export const resourceName = line(1, 200);

export const fileName = v.pipe(
  resourceName,
  v.check(name => !/[/\\]/.test(name) && !/^\.+$/.test(name), "Expected a name without slashes"),
);

/** A time in Unix seconds; a fraction is cut off. */
export const unixSeconds = v.pipe(
  v.number(),
  v.minValue(0),
  v.maxValue(9_999_999_999),
  v.transform(Math.floor),
);

export const isoText = v.pipe(v.string(), v.isoTimestamp());

/** A duration in whole seconds, up to a year. */
export const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(31_536_000));

export const uuidText = v.pipe(v.string(), v.uuid(), v.toLowerCase());

/** An object of the schema; object schemas alone accept arrays. */
export function plainObject<S extends v.GenericSchema>(
  schema: S,
): v.GenericSchema<v.InferInput<S>, v.InferOutput<S>> {
  const isObject = (value: unknown): boolean =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const checked: v.GenericSchema = v.pipe(v.unknown(), v.check(isObject, "Expected an object"), schema);
  return checked as v.GenericSchema<v.InferInput<S>, v.InferOutput<S>>;
}

/** A time as a number or as text; null: there is none. */
export const scalar = v.nullable(v.union([v.number(), v.string()]));

export const flag = v.picklist(["true", "false"], "Expected true or false");

export function statesFilter(states: readonly string[]) {
  return v.pipe(
    v.string(),
    v.check(
      text => text.split(",").every(state => states.includes(state)),
      `Expected states, separated by commas: ${states.join(", ")}`,
    ),
  );
}

/** A filter by an annotation: `key` or `key=value`. */
export const annotationFilter = v.pipe(v.string(), v.minLength(1), v.maxLength(8_400));

/** A JSON object that an area or an app interprets. */
export const jsonObject = plainObject(v.record(v.string(), v.unknown()));

/** A BCP 47 language tag such as `es` or `es-ES`. */
export const locale = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, "Expected a language tag"),
);

const fieldKey = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const FieldSchema = v.strictObject({
  key: fieldKey,
  values: v.pipe(
    plainObject(v.record(v.string(), v.unknown())),
    v.check(
      values => Object.keys(values).every(name => name === "all" || v.is(locale, name)),
      "Expected `all` or language tags as names",
    ),
  ),
});

/** One field of content: its values by locale, or under `all`. */
export type Field = v.InferOutput<typeof FieldSchema>;

/** Fields of content, each key once. */
export function fieldList(entriesMax: number) {
  return v.pipe(
    v.array(FieldSchema),
    v.maxLength(entriesMax),
    v.check(fields => new Set(fields.map(({ key }) => key)).size === fields.length, "Expected each key once"),
  );
}

/** Longest value of an annotation, in UTF-16 units. */
const annotationCharactersMax = 8_192;
/** Most annotations of one resource, together with their keys, in UTF-16 units. */
const annotationsCharactersMax = 16_384;

/** Annotations: texts by key, where a key may have a prefix such as `manifest/`. */
export const annotations = v.pipe(
  plainObject(
    v.record(
      v.pipe(
        v.string(),
        v.regex(
          /^([a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/,
          "Expected a key of at most 63 letters, digits, dots, dashes and underscores, with an optional prefix/",
        ),
      ),
      v.pipe(v.string(), v.maxLength(annotationCharactersMax)),
    ),
  ),
  v.check(
    value => Object.entries(value).flat().join("").length <= annotationsCharactersMax,
    `Expected at most ${annotationsCharactersMax} characters in all annotations together`,
  ),
);

/** `v.email` knows no domain in its ASCII form, such as xn--bcher-kva.example. */
const plainEmail = v.pipe(v.string(), v.rfcEmail(), v.regex(/\.[a-z0-9-]{2,}$/i));

/** The address of an author, in its canonical form. */
export const authorEmail = v.pipe(
  v.string(),
  v.trim(),
  v.maxLength(254),
  v.check(email => v.is(plainEmail, canonicalEmail(email)), "Expected an e-mail address"),
  v.transform(canonicalEmail),
);
