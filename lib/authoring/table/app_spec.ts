/**
 * Specifications of apps: `spec.json` and the element types in the `elements.json` beside it. Members that are not known here are
 * kept.
 */

import * as v from "valibot";
import type { FieldError } from "../../base/errors/mod.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import { contentFaults } from "./content.ts";
import { type ContentType, ContentTypeSchema } from "./content_types.ts";
import { line, plainObject } from "./schemas.ts";

export const specBytesMax = 1_000_000;

const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000));
const address = v.pipe(
  v.string(),
  v.maxLength(2_048),
  v.regex(/^(https?:)?\/\/[^\s]+$/, "Expected an http or https address"),
);
const optional = v.exactOptional;

const SpecSchema = plainObject(
  v.looseObject({
    name: line(1, 200),
    id: line(1, 200),
    version: line(1, 100),
    base_apps_url: address,
    embed_url: optional(v.nullable(address)),
    listings: optional(plainObject(v.looseObject({ past: optional(count), future: optional(count) }))),
    ...v.entriesFromList(
      ["curation", "schedule", "analytics", "live_activity", "localisation"],
      optional(v.boolean()),
    ),
    ...v.entriesFromList(["extensions", "element_categories"], optional(v.array(v.unknown()))),
  }),
);

const ElementsSchema = v.pipe(
  v.array(ContentTypeSchema),
  v.maxLength(500),
  v.check(
    types => new Set(types.map(type => type.content_type)).size === types.length,
    "Expected each content_type once",
  ),
);

export interface AppSpec {
  readonly spec: v.InferOutput<typeof SpecSchema>;
  readonly elements: readonly ContentType[];
}

type Checked<T> = { readonly value: T } | { readonly faults: readonly FieldError[] };

const faultsMax = 100;

export function checkSpec(json: unknown): Checked<AppSpec["spec"]> {
  return checked(v.safeParse(SpecSchema, json));
}

export function checkElements(json: unknown): Checked<AppSpec["elements"]> {
  const result = checked(v.safeParse(ElementsSchema, json));
  if (!("value" in result)) return result;
  const faults = result.value.flatMap((type, index) =>
    (type.templates ?? []).flatMap(({ data }, place) =>
      contentFaults(type, data, { isPublished: false }).map(({ pointer, detail }) => ({
        pointer: `/${index}/templates/${place}/data${pointer}`,
        detail,
      })),
    ),
  );
  return faults.length === 0 ? result : { faults: faults.slice(0, faultsMax) };
}

function checked<S extends v.GenericSchema>(result: v.SafeParseResult<S>): Checked<v.InferOutput<S>> {
  if (result.success) return { value: result.output };
  return { faults: fieldErrors(result.issues.slice(0, faultsMax)) };
}

/** Returns the address of `elements.json` beside a `spec.json`, or null if the address does not name one. */
export function elementsUrlOf(specUrl: string): string | null {
  return specUrl.includes("spec.json") ? specUrl.replace("spec.json", "elements.json") : null;
}
