/**
 * Countries of addresses from MaxMind DB files, with hot reload.
 *
 * @module
 */

export type { CountryResult, GeoReader } from "../../lib/location/geo_reader.ts";
export { checkedBytesMax, databaseBytesMax, metadataBytesMax } from "./check_database.ts";
export { knownCountry, nameLocales } from "./countries.ts";
export {
  cachedAddressesMax,
  cachedPartsMax,
  type GeoDatabase,
  type LoadOptions,
  loadGeoDatabase,
} from "./database.ts";
export { type GeoFile, type GeoFileOptions, openGeoFile, pollMsDefault } from "./file.ts";
export { nameBytesMax, valueBytesMax, valueDepthMax } from "./section.ts";
export { UnusableDatabaseError } from "./unusable_database.ts";
