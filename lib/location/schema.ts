/** What location checks are asked and answer. */

import * as v from "valibot";
import { isUuid } from "../auth/crypto/mod.ts";
import { eventAliases } from "../directory/mod.ts";
import { type Immutable, named } from "../http/mod.ts";
import type { CountryResult } from "./geo_reader.ts";

const projectId = v.pipe(
  v.string(),
  v.description("Id of the project"),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);
const eventId = v.pipe(
  v.union(
    [v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase()), v.picklist(eventAliases)],
    `Expected a UUID or one of ${eventAliases.join(", ")}`,
  ),
  v.description("Id of the event, `current` for the running event or `latest` for the newest finished one"),
);

/** Checks the path of a project's check. */
export const ProjectCheckParams = v.object({ projectId });
/** Checks the path of an event's check. */
export const EventCheckParams = v.object({ projectId, eventId });

const CountrySchema = named(
  "Country",
  v.object({
    geoname_id: v.pipe(v.number(), v.integer(), v.description("Id of the country in GeoNames")),
    is_in_european_union: v.boolean(),
    iso_code: v.pipe(v.string(), v.description("ISO 3166-1 alpha-2")),
    names: v.pipe(v.record(v.string(), v.string()), v.description("Names by language")),
  }),
);

/** A country as clients see it. */
export type CountryJson = Immutable<v.InferOutput<typeof CountrySchema>>;

/** The answer to a client whose location is served. */
export const ServedSchema = named(
  "LocationServed",
  v.object({ result: v.literal(1), message: v.string(), data: v.object({ country: CountrySchema }) }),
);

/** The answer to a client whose location is not served. */
export const RefusedSchema = named(
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

/**
 * What stands in the place of the country where an unknown location is served: the code that CLDR reserves for an unknown
 * region, so that clients find the members that they expect.
 */
export const unknownCountry: CountryResult = {
  geonameId: 0,
  isInEuropeanUnion: false,
  isoCode: "ZZ",
  names: { en: "Unknown" },
};

/** Writes a country as clients see it. */
export function countryJson(country: CountryResult): CountryJson {
  return {
    geoname_id: country.geonameId,
    is_in_european_union: country.isInEuropeanUnion,
    iso_code: country.isoCode,
    names: country.names,
  };
}
