/**
 * The location check: tells whether a client is where a project, or an event of it, is served.
 *
 * @module
 */

export type { CountryResult, GeoReader } from "./location.ts";
export {
  createLocation,
  type Location,
  type LocationContext,
  type LocationDecision,
  type LocationOptions,
  type LocationQuery,
  locationRoutes,
} from "./location.ts";
