/**
 * The location checks of the specification: whether a client is where a project, or an event of it, is served.
 *
 * @module
 */

import type * as v from "valibot";
import { AppError } from "../errors/mod.ts";
import {
  type AnyRoute,
  chain,
  type Immutable,
  identityEnvelope,
  type JsonReply,
  open,
  route,
} from "../http/mod.ts";
import type { Location, LocationDecision } from "./location.ts";
import {
  countryJson,
  EventCheckParams,
  ProjectCheckParams,
  RefusedSchema,
  ServedSchema,
  unknownCountry,
} from "./schema.ts";

/** What the routes work with. */
export interface LocationContext {
  readonly location: Location;
}

/** Builds the routes of location checks. The client is at `info.address`. */
export function locationRoutes({ location }: LocationContext): readonly AnyRoute[] {
  const path = "/v1/locations/projects/:projectId";
  const common = {
    method: "GET",
    description:
      "Looks up the country of the client's address and answers it where the settings of the project and the event serve it.",
    auth: open,
    responses: {
      200: { description: "The location is served", schema: ServedSchema },
      403: { description: "location_not_supported", schema: RefusedSchema },
    },
    errors: ["location_not_supported", "not_found"],
  } as const;
  return [
    route({
      ...common,
      path: `${path}/check`,
      operation: "checkProjectLocation",
      summary: "Check the client's location for a project",
      params: ProjectCheckParams,
      handle: ({ params, info: { address } }) => chain(location.check({ ...params, address }), answer),
    }),
    route({
      ...common,
      path: `${path}/events/:eventId/check`,
      operation: "checkEventLocation",
      summary: "Check the client's location for an event",
      params: EventCheckParams,
      handle: ({ params, info: { address } }) => chain(location.check({ ...params, address }), answer),
    }),
  ];
}

type Served = v.InferOutput<typeof ServedSchema>;

function answer({ country, isServed }: LocationDecision): JsonReply<200, Immutable<Served>> {
  if (!isServed) throw refusal(country);
  return identityEnvelope(
    { country: countryJson(country ?? unknownCountry) },
    { message: "Location is supported" },
  );
}

function refusal(country: LocationDecision["country"]): AppError {
  return country === null
    ? new AppError("location_not_supported", "Cannot serve this location as its country is unknown", {
        details: { country, reason: "unknown_location" },
      })
    : new AppError("location_not_supported", "Cannot serve this location as its country is not supported", {
        details: { country: countryJson(country), reason: "country_not_supported" },
      });
}
