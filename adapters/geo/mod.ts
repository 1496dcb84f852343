/**
 * Countries of addresses from MaxMind DB files, with hot reload.
 *
 * @module
 */

export { type GeoDatabase, loadGeoDatabase } from "./database.ts";
export { type GeoFile, type GeoFileOptions, openGeoFile } from "./file.ts";
