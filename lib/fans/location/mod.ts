/**
 * The location check: tells whether a client is where a project, or an event of it, is served.
 *
 * @module
 */

export type { CountryResult, GeoReader, Location, LocationDecision, LocationQuery } from "./location.ts";
