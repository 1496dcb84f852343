/**
 * The location check: tells a client whether its location is served for a project, or for an event of it.
 *
 * @module
 */

export type { CountryResult, GeoReader } from "./geo_reader.ts";
export {
  createLocation,
  type Location,
  type LocationDecision,
  type LocationOptions,
  type LocationQuery,
} from "./location.ts";
export {
  europeanUnion,
  isServed,
  type LocationPolicy,
  locationPolicy,
  policyCountriesMax,
} from "./policy.ts";
export { type LocationContext, locationRoutes } from "./routes.ts";
export { unknownCountry } from "./schema.ts";
