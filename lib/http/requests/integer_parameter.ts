import * as v from "valibot";

/** Bounds and description of an integer parameter. */
export interface IntegerParameterOptions {
  /** For the OpenAPI document. */
  readonly description: string;
  /** @default 0 */
  readonly minimum?: number;
  readonly maximum: number;
}

/** The schema of an integer in a query or a path: text that becomes a number. The OpenAPI document has it as an integer. */
export type IntegerParameter = v.GenericSchema<string, number>;

/** Creates the schema of an integer parameter. Make it optional with `v.optional(integerParameter({…}), "20")`. */
export function integerParameter({
  description,
  minimum = 0,
  maximum,
}: IntegerParameterOptions): IntegerParameter {
  const expected = `Expected an integer from ${minimum} to ${maximum}`;
  return v.pipe(
    v.string(),
    v.metadata({ type: "integer", minimum, maximum, description }),
    v.check(text => /^(?:0|[1-9]\d{0,14})$/.test(text), expected),
    v.transform(Number),
    v.minValue(minimum, expected),
    v.maxValue(maximum, expected),
  );
}
