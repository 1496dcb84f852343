import * as v from "valibot";

/** Named strings, numbers and booleans that callers choose: data and metadata. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

/** Limits of properties. */
export interface PropertiesBounds {
  readonly entriesMax: number;
  readonly nameCharactersMax: number;
  readonly textCharactersMax: number;
}

/** Creates the schema of properties. */
export function propertiesSchema(bounds: PropertiesBounds): v.GenericSchema<Properties> {
  const { entriesMax, nameCharactersMax, textCharactersMax } = bounds;
  const text = v.pipe(v.string(), v.maxLength(textCharactersMax));
  const properties = v.pipe(
    v.record(
      v.pipe(v.string(), v.maxLength(nameCharactersMax)),
      v.union([text, v.pipe(v.number(), v.finite()), v.boolean()]),
    ),
    v.maxEntries(entriesMax),
  );
  const refused: v.GenericSchema<never> = v.never("Expected an object of named properties");
  // A record schema alone accepts an array and skips names that objects inherit.
  return v.lazy((input): v.GenericSchema<Properties> => {
    if (typeof input !== "object" || input === null) return properties;
    const hasInherited = ["constructor", "prototype"].some(name => Object.hasOwn(input, name));
    return Array.isArray(input) || hasInherited ? refused : properties;
  });
}
