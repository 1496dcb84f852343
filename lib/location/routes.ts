/**
 * The location checks of the specification: whether a client is where a project, or an event of it, is served.
 *
 * @module
 */

import type * as v from "valibot";
import { AppError } from "../errors/mod.ts";
import {
  type AnyRoute,
  type ClientInfo,
  chain,
  identityEnvelope,
  open,
  type Reply,
  route,
} from "../http/mod.ts";
import type { Location, LocationDecision } from "./location.ts";
import {
  type CheckParams,
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

/** Builds the routes of location checks. The client is who `info.address` says. */
export function locationRoutes({ location }: LocationContext): readonly AnyRoute[] {
  const base = "/v1/locations/projects/:projectId";
  return [
    checkRoute(location, { path: `${base}/check`, of: "Project", params: ProjectCheckParams }),
    checkRoute(location, { path: `${base}/events/:eventId/check`, of: "Event", params: EventCheckParams }),
  ];
}

interface Place {
  readonly path: `/${string}`;
  readonly of: "Project" | "Event";
  readonly params: v.GenericSchema<unknown, CheckParams>;
}

function checkRoute(location: Location, { path, of, params }: Place): AnyRoute {
  return route({
    method: "GET",
    path,
    operation: `check${of}Location`,
    summary: `Tell a client whether the ${of.toLowerCase()} is served where the client is`,
    auth: open,
    params,
    responses: {
      200: { description: "The location is served", schema: ServedSchema },
      403: { description: "location_not_supported", schema: RefusedSchema },
    },
    errors: ["location_not_supported", "not_found"],
    handle: ({ params, info }) => chain(location.check(queryOf(params, info)), answer),
  });
}

function queryOf(
  params: CheckParams,
  { address }: ClientInfo,
): CheckParams & { address: string | undefined } {
  return { ...params, address };
}

function answer({ country, isServed }: LocationDecision): Reply {
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
