import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { setImmediate } from "node:timers";
import type { Reader, Response } from "mmdb-lib";
import type { CountryResult, GeoReader } from "../../lib/fans/location/geo_reader.ts";
import { BoundedCache } from "../../lib/storage/record_cache.ts";
import { checkDatabase, findMetadata } from "./check_database.ts";
import { countryOf } from "./countries.ts";
import { UnusableDatabaseError } from "./format_checks.ts";

/** Number of addresses whose countries are cached. */
const cachedAddressesMax = 32_768;
/** Number of decoded parts of records that are cached; a country database has some thousands. */
const cachedPartsMax = 8_192;

/** Longest text of an address, in characters. */
const addressCharactersMax = 45;

/** A country database in memory. */
export interface GeoDatabase extends GeoReader {
  /** The type in its metadata, such as `GeoLite2-Country`. */
  readonly type: string;
  /** When it was built, Unix ms. */
  readonly builtAt: number;
}

/** Options of loading a database. */
export interface LoadGeoOptions {
  /** Lets other work run while a large file is checked. @default a turn of the event loop */
  readonly pause?: () => Promise<void>;
}

/**
 * Checks a MaxMind DB file and opens it for look-ups: full country (or city) records, and reduced ones with only a
 * `country_code`. The bytes must not change afterwards. Needs the package `mmdb-lib`.
 *
 * @throws {UnusableDatabaseError} The bytes are damaged, incomplete, too large or contain no countries.
 * @throws {Error} The package `mmdb-lib` is not installed.
 */
export async function loadGeoDatabase(bytes: Uint8Array, options: LoadGeoOptions = {}): Promise<GeoDatabase> {
  const { pause = turn } = options;
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const dataEnd = findMetadata(buffer);
  const reader = await openReader(buffer);
  await checkDatabase({ bytes: buffer, metadata: reader.metadata, dataEnd }, pause);
  const find = createFinder(reader);
  const cache = new BoundedCache<CountryResult | null>(cachedAddressesMax);
  return {
    type: reader.metadata.databaseType,
    builtAt: reader.metadata.buildEpoch.getTime(),
    lookup(address) {
      if (address.length > addressCharactersMax) return null;
      const cached = cache.get(address);
      if (cached !== undefined) return cached;
      const found = find(address);
      cache.set(address, found);
      return found;
    },
  };
}

async function openReader(buffer: Buffer): Promise<Reader<Response>> {
  const { Reader } = await loadMmdbLib();
  const parts = new BoundedCache<unknown, string | number>(cachedPartsMax);
  try {
    return new Reader(buffer, { cache: parts });
  } catch (cause) {
    throw new UnusableDatabaseError("it is damaged: its metadata or tree cannot be read", { cause });
  }
}

async function loadMmdbLib(): Promise<typeof import("mmdb-lib")> {
  try {
    return await import("mmdb-lib");
  } catch (cause) {
    const message = "Cannot read a country database without the package mmdb-lib: run npm i mmdb-lib";
    throw new Error(message, { cause });
  }
}

/** Converts each decoded record once; a country database has few different ones. */
function createFinder(reader: Reader<Response>): (address: string) => CountryResult | null {
  const countries = new WeakMap<object, { readonly country: CountryResult | null }>();
  const isIpv4Only = reader.metadata.ipVersion === 4;
  return address => {
    const plain = plainAddress(address);
    if (plain === null || (isIpv4Only && plain.includes(":"))) return null;
    const record: unknown = reader.get(plain);
    if (typeof record !== "object" || record === null) return null;
    const cached = countries.get(record);
    if (cached !== undefined) return cached.country;
    const country = countryOf(record);
    countries.set(record, { country });
    return country;
  };
}

/** Converts an IPv4-mapped IPv6 address to IPv4, as not every database has mapped ones; null for no address. */
function plainAddress(address: string): string | null {
  const version = isIP(address);
  if (version === 4) return address;
  if (version === 0 || address.includes("%")) return null;
  if (!/ffff:/i.test(address)) return address;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return address;
  return [high, low]
    .flatMap(group => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255])
    .join(".");
}

function turn(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}
