/** Types of elements, as `elements.json` of an app has them. Members that are not known here are kept. */

import * as v from "valibot";
import { line, plainObject } from "./schemas.ts";

const propertyTypes = [
  "text",
  "rich_text",
  "integer",
  "number",
  "boolean",
  "enum",
  "colour",
  "datetime",
  "url",
  "asset",
  "element_ref",
  "metric_ref",
  "leaderboard_ref",
] as const;
export type PropertyType = (typeof propertyTypes)[number];

const typeName = v.pipe(v.string(), v.minLength(1), v.maxLength(100));
const text = v.pipe(v.string(), v.maxLength(5_000));
const count = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000_000));
const optional = v.exactOptional;

const PropertySchema = plainObject(
  v.looseObject({
    label: optional(text),
    key: typeName,
    /** Other names under which clients write the same field. */
    aliases: optional(v.pipe(v.array(typeName), v.maxLength(20))),
    /** The form field of tools; the type of the value where that is one of ours and `type` is absent. */
    field: optional(text),
    type: optional(v.picklist(propertyTypes)),
    mandatory: optional(v.boolean()),
    description: optional(text),
    default: optional(v.unknown()),
    values: optional(v.pipe(v.array(text), v.minLength(1), v.maxLength(200))),
    min: optional(v.number()),
    max: optional(v.number()),
    max_length: optional(count),
    many: optional(v.boolean()),
  }),
);
const properties = v.pipe(v.array(PropertySchema), v.maxLength(200));

const TemplateSchema = plainObject(
  v.looseObject({
    name: line(1, 200),
    title: optional(text),
    data: plainObject(v.record(v.string(), v.unknown())),
  }),
);

/** Validates an item of `elements.json`. */
export const ContentTypeSchema = plainObject(
  v.looseObject({
    name: line(1, 200),
    content_type: typeName,
    derived_from: optional(v.nullable(typeName)),
    categories: optional(v.array(text)),
    duration: optional(
      v.nullable(plainObject(v.looseObject({ mode: optional(text), default: optional(count) }))),
    ),
    options_number: optional(
      v.nullable(plainObject(v.looseObject({ min: optional(count), max: optional(count) }))),
    ),
    question: optional(v.nullable(properties)),
    option: optional(v.nullable(properties)),
    custom_fields: optional(
      v.nullable(
        v.array(plainObject(v.looseObject({ name: optional(text), properties: optional(properties) }))),
      ),
    ),
    /** True if elements may have custom fields that the type does not name. */
    custom_fields_open: optional(v.boolean()),
    /** Sets of fields, custom ones or those of the question, of which a published element has one. */
    any_of: optional(v.array(v.array(typeName))),
    wrapper: optional(v.boolean()),
    allowed_children: optional(v.array(typeName)),
    templates: optional(v.pipe(v.array(TemplateSchema), v.maxLength(50))),
  }),
);
export type Property = v.InferOutput<typeof PropertySchema>;
/** A type of elements: an item of `elements.json`. */
export type ContentType = v.InferOutput<typeof ContentTypeSchema>;
