import { Buffer } from "node:buffer";
import { isIP } from "node:net";
import { setImmediate } from "node:timers";
import type { Reader, Response } from "mmdb-lib";
import type { CountryResult, GeoReader } from "../../lib/fans/location/location.ts";
import { BoundedCache } from "../../lib/storage/record_cache.ts";
import { checkDatabase, findMetadata, UnusableDatabaseError } from "./format_checks.ts";

const cachedAddressesMax = 32_768;
/** Number of decoded parts of records that are cached; a country database has some thousands. */
const cachedPartsMax = 8_192;

const addressCharactersMax = 45;

/** A country database in memory. */
export interface GeoDatabase extends GeoReader {
  /** The type in its metadata, such as `GeoLite2-Country`. */
  readonly type: string;
  /** When it was built, Unix ms. */
  readonly builtAt: number;
}

interface LoadGeoOptions {
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

/** Locales of the names: those of MaxMind's databases. */
const nameLocales = ["de", "en", "es", "fr", "ja", "pt-BR", "ru", "zh-CN"] as const;

/** ISO 3166-1 codes with XK for Kosovo, each with its identifier at GeoNames (geonames.org, CC BY 4.0). */
const geonameIds: ReadonlyMap<string, number> = new Map(
  `
AD3041565 AE290557 AF1149361 AG3576396 AI3573511 AL783754 AM174982 AO3351879 AQ6697173 AR3865483 AS5880801
AT2782113 AU2077456 AW3577279 AX661882 AZ587116 BA3277605 BB3374084 BD1210997 BE2802361 BF2361809 BG732800
BH290291 BI433561 BJ2395170 BL3578476 BM3573345 BN1820814 BO3923057 BQ7626844 BR3469034 BS3572887
BT1252634 BV3371123 BW933860 BY630336 BZ3582678 CA6251999 CC1547376 CD203312 CF239880 CG2260494 CH2658434
CI2287781 CK1899402 CL3895114 CM2233387 CN1814991 CO3686110 CR3624060 CU3562981 CV3374766 CW7626836
CX2078138 CY146669 CZ3077311 DE2921044 DJ223816 DK2623032 DM3575830 DO3508796 DZ2589581 EC3658394 EE453733
EG357994 EH2461445 ER338010 ES2510769 ET337996 FI660013 FJ2205218 FK3474414 FM2081918 FO2622320 FR3017382
GA2400553 GB2635167 GD3580239 GE614540 GF3381670 GG3042362 GH2300660 GI2411586 GL3425505 GM2413451
GN2420477 GP3579143 GQ2309096 GR390903 GS3474415 GT3595528 GU4043988 GW2372248 GY3378535 HK1819730
HM1547314 HN3608932 HR3202326 HT3723988 HU719819 ID1643084 IE2963597 IL294640 IM3042225 IN1269750
IO1282588 IQ99237 IR130758 IS2629691 IT3175395 JE3042142 JM3489940 JO248816 JP1861060 KE192950 KG1527747
KH1831722 KI4030945 KM921929 KN3575174 KP1873107 KR1835841 KW285570 KY3580718 KZ1522867 LA1655842 LB272103
LC3576468 LI3042058 LK1227603 LR2275384 LS932692 LT597427 LU2960313 LV458258 LY2215636 MA2542007 MC2993457
MD617790 ME3194884 MF3578421 MG1062947 MH2080185 MK718075 ML2453866 MM1327865 MN2029969 MO1821275
MP4041468 MQ3570311 MR2378080 MS3578097 MT2562770 MU934292 MV1282028 MW927384 MX3996063 MY1733045
MZ1036973 NA3355338 NC2139685 NE2440476 NF2155115 NG2328926 NI3617476 NL2750405 NO3144096 NP1282988
NR2110425 NU4036232 NZ2186224 OM286963 PA3703430 PE3932488 PF4030656 PG2088628 PH1694008 PK1168579
PL798544 PM3424932 PN4030699 PR4566966 PS6254930 PT2264397 PW1559582 PY3437598 QA289688 RE935317 RO798549
RS6290252 RU2017370 RW49518 SA102358 SB2103350 SC241170 SD366755 SE2661886 SG1880251 SH3370751 SI3190538
SJ607072 SK3057568 SL2403846 SM3168068 SN2245662 SO51537 SR3382998 SS7909807 ST2410758 SV3585968 SX7609695
SY163843 SZ934841 TC3576916 TD2434508 TF1546748 TG2363686 TH1605651 TJ1220409 TK4031074 TL1966436
TM1218197 TN2464461 TO4032283 TR298795 TT3573591 TV2110297 TW1668284 TZ149590 UA690791 UG226074 UM5854968
US6252001 UY3439705 UZ1512440 VA3164670 VC3577815 VE3625428 VG3577718 VI4796775 VN1562822 VU2134431
WF4034749 WS4034894 XK831053 YE69543 YT1024031 ZA953987 ZM895949 ZW878675
`
    .trim()
    .split(/\s+/)
    .map(entry => [entry.slice(0, 2), Number(entry.slice(2))]),
);

/** The member states with Åland and the outermost regions, which have codes of their own (TFEU, article 355). */
const europeanUnion: ReadonlySet<string> = new Set(
  `AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK
AX GF GP MF MQ RE YT`.split(/\s+/),
);

const completed = new Map<string, CountryResult>();

/** Returns the country of an upper-case ISO 3166-1 code, or null. */
export function knownCountry(isoCode: string): CountryResult | null {
  const cached = completed.get(isoCode);
  if (cached !== undefined) return cached;
  const geonameId = geonameIds.get(isoCode);
  if (geonameId === undefined) return null;
  const country = {
    geonameId,
    isoCode,
    isInEuropeanUnion: europeanUnion.has(isoCode),
    names: namesOf(isoCode),
  };
  completed.set(isoCode, country);
  return country;
}

/** Returns the names of a country from the runtime's own locale data, which may have few locales. */
function namesOf(isoCode: string): Readonly<Record<string, string>> {
  const names = nameLocales.flatMap(locale => {
    if (Intl.DisplayNames.supportedLocalesOf(locale).length === 0) return [];
    const name = new Intl.DisplayNames(locale, { type: "region", fallback: "none" }).of(isoCode);
    return name === undefined ? [] : [[locale, name]];
  });
  return Object.fromEntries(names);
}

/**
 * Returns the country of a database record, or null. A record without a country may name the country in which its network is
 * registered, or the one that its users represent (a military base abroad), in this order. A reduced record has only
 * `country_code`.
 */
function countryOf(record: unknown): CountryResult | null {
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
