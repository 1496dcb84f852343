/**
 * Specifications of apps: `spec.json` and the element types in the `elements.json` beside it. Members that are not known here are
 * kept.
 *
 * @module
 */

import * as v from "valibot";
import { contentFaults } from "./content.ts";
import { type ContentType, ContentTypeSchema } from "./content_types.ts";
import { line, plainObject } from "./schemas.ts";

/** Longest file of a specification, in bytes. */
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

/** A checked specification. */
export interface AppSpec {
  readonly spec: v.InferOutput<typeof SpecSchema>;
  readonly elements: readonly ContentType[];
}

/** A fault of a file. */
export interface SpecFault {
  readonly file: "spec.json" | "elements.json";
  /** JSON Pointer into the file. */
  readonly pointer: string;
  readonly detail: string;
}

/** Most faults of one answer. */
const faultsMax = 100;

/** Checks the two files of an app and returns its specification, or all faults. `detailOf` describes an issue. */
export function checkApp(
  spec: unknown,
  elements: unknown,
  detailOf: (issue: v.BaseIssue<unknown>) => string,
): AppSpec | readonly SpecFault[] {
  const root = v.safeParse(SpecSchema, spec);
  const types = v.safeParse(ElementsSchema, elements);
  const faultOf = (file: SpecFault["file"], issue: v.BaseIssue<unknown>): SpecFault => {
    const path = (issue.path ?? []).map(
      ({ key }) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`,
    );
    return { file, pointer: path.join(""), detail: detailOf(issue) };
  };
  const faults = [
    ...(root.issues ?? []).map(issue => faultOf("spec.json", issue)),
    ...(types.issues ?? []).map(issue => faultOf("elements.json", issue)),
    ...(types.success ? templateFaults(types.output) : []),
  ];
  return root.success && types.success && faults.length === 0
    ? { spec: root.output, elements: types.output }
    : faults.slice(0, faultsMax);
}

/** Templates are contents that an element could have. */
function templateFaults(types: readonly ContentType[]): readonly SpecFault[] {
  return types.flatMap((type, index) =>
    (type.templates ?? []).flatMap(({ data }, place) =>
      contentFaults(type, data, { isPublished: false }).map(
        ({ pointer, detail }): SpecFault => ({
          file: "elements.json",
          pointer: `/${index}/templates/${place}/data${pointer}`,
          detail,
        }),
      ),
    ),
  );
}

/** Returns the address of `elements.json` beside a `spec.json`, or null if the address does not name one. */
export function elementsUrlOf(specUrl: string): string | null {
  return specUrl.includes("spec.json") ? specUrl.replace("spec.json", "elements.json") : null;
}
