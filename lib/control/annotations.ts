/**
 * Routes to the annotations of a resource alone: reading them, and changing some of them.
 *
 * @module
 */

import * as v from "valibot";
import { jsonPointer } from "../errors/mod.ts";
import type { AnyRoute } from "../http/mod.ts";
import { dryRun, type Query } from "./jsonapi/queries.ts";
import type { ResourceBody } from "./jsonapi/schemas.ts";
import { type Kind, unprocessable } from "./kind.ts";

const name = "annotations";

/** Makes the routes of a kind's annotations from those of its whole resource. */
export function annotationRoutes({ resource }: Kind, read: AnyRoute, change: AnyRoute): readonly AnyRoute[] {
  const { type, noun } = resource;
  /** Shows nothing else. */
  const partOf = (query: unknown): Query => ({ ...(query as Query), [`fields[${type}]`]: name });
  return [
    {
      ...read,
      path: `${read.path}/${name}`,
      operation: `${read.operation}Annotations`,
      summary: `Read the annotations of one ${noun}`,
      query: v.strictObject({}),
      handle: call => read.handle({ ...call, query: partOf(call.query) }),
    },
    {
      ...change,
      path: `${change.path}/${name}`,
      operation: `${change.operation}Annotations`,
      summary: `Change annotations of one ${noun}`,
      description: `Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role ${resource.write}.`,
      query: v.strictObject(dryRun),
      body: {
        ...change.body,
        example: { data: { type, attributes: { [name]: { note: "Rain", old: null } } } },
      },
      handle(call) {
        const { data } = call.body as v.InferOutput<typeof ResourceBody>;
        const members = { ...data.relationships, ...data.attributes };
        const faults = Object.keys(members)
          .filter(each => each !== name)
          .map(each => ({
            pointer: `/data/${data.attributes?.[each] === undefined ? "relationships" : "attributes"}${jsonPointer(each)}`,
            detail: "Expected the attribute annotations alone",
          }));
        if (faults.length > 0) throw unprocessable(...faults);
        return change.handle({ ...call, query: partOf(call.query) });
      },
    },
  ] as readonly AnyRoute[];
}
