import type { CountryResult } from "../../lib/location/geo_reader.ts";
import { knownCountry } from "./countries.ts";

/**
 * The country that a database record tells of, or null. Where an address is not placed in any country, the record may
 * still name the country in which its network is registered, or the one that its users represent (a military base
 * abroad); they are taken in this order. A reduced record has the code alone, in `country_code`.
 */
export function countryOf(record: unknown): CountryResult | null {
  if (!isObject(record)) return null;
  return (
    fullCountry(record.country) ??
    fullCountry(record.registered_country) ??
    fullCountry(record.represented_country) ??
    knownByCode(record.country_code)
  );
}

function fullCountry(value: unknown): CountryResult | null {
  if (!isObject(value)) return null;
  const { iso_code: isoCode, geoname_id: geonameId } = value;
  if (!isCode(isoCode)) return null;
  if (typeof geonameId !== "number" || !Number.isSafeInteger(geonameId)) return knownByCode(isoCode);
  const names = textsOf(value.names);
  return {
    geonameId,
    isoCode,
    // MaxMind leaves the member out where it would be false.
    isInEuropeanUnion: value.is_in_european_union === true,
    names: names ?? knownCountry(isoCode)?.names ?? {},
  };
}

function knownByCode(isoCode: unknown): CountryResult | null {
  return isCode(isoCode) ? knownCountry(isoCode) : null;
}

/** The members that are texts, or null where there are none. */
function textsOf(value: unknown): Readonly<Record<string, string>> | null {
  if (!isObject(value)) return null;
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return texts.length === 0 ? null : Object.fromEntries(texts);
}

function isCode(value: unknown): value is string {
  return typeof value === "string" && /^[A-Z]{2}$/.test(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
