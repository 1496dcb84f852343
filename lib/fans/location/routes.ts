/**
 * The routes of location checks: whether a client is where a project, or an event of it, is served.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import {
  type AnyRoute,
  chain,
  type Immutable,
  identityEnvelope,
  type JsonReply,
  named,
  open,
  route,
} from "../../http/mod.ts";
import { EventParameter, ProjectParameter } from "../directory/mod.ts";
import type { CountryResult } from "./geo_reader.ts";
import type { Location, LocationDecision } from "./location.ts";

const ProjectCheckParams = v.object({ projectId: ProjectParameter });
const EventCheckParams = v.object({ projectId: ProjectParameter, eventId: EventParameter });

const CountrySchema = named(
  "Country",
  v.object({
    geoname_id: v.pipe(v.number(), v.integer(), v.description("Id of the country in GeoNames")),
    is_in_european_union: v.boolean(),
    iso_code: v.pipe(v.string(), v.description("ISO 3166-1 alpha-2")),
    names: v.pipe(v.record(v.string(), v.string()), v.description("Names by language")),
  }),
);

type CountryJson = Immutable<v.InferOutput<typeof CountrySchema>>;

const ServedSchema = named(
  "LocationServed",
  v.object({ result: v.literal(1), message: v.string(), data: v.object({ country: CountrySchema }) }),
);

const RefusedSchema = named(
  "LocationRefused",
  v.object({
    result: v.literal(0),
    message: v.string(),
    data: v.object({
      country: v.nullable(CountrySchema),
      reason: v.picklist(["country_not_supported", "unknown_location"]),
      code: v.literal("location_not_supported"),
      retryable: v.literal(false),
      action: v.literal("none"),
    }),
  }),
);

/** Dependencies of the routes. */
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

/** Answered where an unknown location is served: CLDR's code of the unknown region, so that clients find every member. */
const unknownCountry: CountryResult = {
  geonameId: 0,
  isInEuropeanUnion: false,
  isoCode: "ZZ",
  names: { en: "Unknown" },
};

function countryJson(country: CountryResult): CountryJson {
  return {
    geoname_id: country.geonameId,
    is_in_european_union: country.isInEuropeanUnion,
    iso_code: country.isoCode,
    names: country.names,
  };
}
