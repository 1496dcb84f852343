/**
 * The location check: tells whether a client is where a project, or an event of it, is served.
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
export { locationFaults, policyCountriesMax } from "./policy.ts";
export { type LocationContext, locationRoutes } from "./routes.ts";
