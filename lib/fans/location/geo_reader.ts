/**
 * The interface of geographic databases.
 *
 * @module
 */

/** A country in a geographic database. */
export interface CountryResult {
  /** Identifier at GeoNames. */
  readonly geonameId: number;
  /** ISO 3166-1 alpha-2, upper-case. */
  readonly isoCode: string;
  readonly isInEuropeanUnion: boolean;
  /** The name by locale code, such as `en` or `pt-BR`. */
  readonly names: Readonly<Record<string, string>>;
}

/** Finds countries of addresses. */
export interface GeoReader {
  /**
   * Returns the country of an IPv4 or IPv6 address (an IPv4-mapped one is the IPv4 address), or null where it is unknown or
   * the text is no address. Never throws.
   */
  lookup(address: string): CountryResult | null;
}
