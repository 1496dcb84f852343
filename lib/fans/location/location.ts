import * as v from "valibot";
import { formatAddress, parseAddress } from "../../auth/client_address.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import { type Immutable, identityEnvelope, type JsonReply, named, open, route } from "../../http/mod.ts";
import { fieldErrors } from "../../http/requests/validate.ts";
import { memoize } from "../../storage/background/mod.ts";
import type { Directory, Event, Project, Settings } from "../directory/mod.ts";
import { EventParameter, ProjectParameter } from "../directory/records.ts";

/** Names the client to check, and the project or event. */
export interface LocationQuery {
  readonly projectId: string;
  /** An event of the project by its id, `current` or `latest`. @default the project itself */
  readonly eventId?: string;
  /** Address of the client; undefined: its location is unknown. */
  readonly address: string | undefined;
}

/** The result of a check. */
export interface LocationDecision {
  /** Null where it is unknown. */
  readonly country: CountryResult | null;
  /** True where the policy serves the location. */
  readonly isServed: boolean;
}

/** Checks locations without HTTP. */
export interface Location {
  /**
   * Checks whether a client is where the project or event is served.
   *
   * @throws {AppError} `not_found` for an unknown project or event.
   */
  check(query: LocationQuery): Promise<LocationDecision>;
}

/** Dependencies of location checks. */
export interface LocationOptions {
  readonly directory: Directory;
  /** @default every location is unknown */
  readonly geo?: GeoReader | undefined;
}

/** Creates the location check. */
export function createLocation({ directory, geo }: LocationOptions): Location {
  return {
    async check({ projectId, eventId, address }) {
      const project = await directory.project(projectId);
      if (project === null) throw unknown("project");
      const event = eventId === undefined ? null : await directory.event(projectId, eventId);
      if (event === null && eventId !== undefined) throw unknown("event");
      const country = countryOf(address, geo);
      return { country, isServed: isServed(locationPolicy(project, event), country) };
    },
  };
}

/** Looks up the canonical spelling, so that readers need not know the others. */
function countryOf(address: string | undefined, geo: GeoReader | undefined): CountryResult | null {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return parsed === undefined ? null : (geo?.lookup(formatAddress(parsed)) ?? null);
}

function unknown(what: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot check the location as the ${what} is unknown`);
}

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

export const policyCountriesMax = 300;

const europeanUnion = "EU";

export interface LocationPolicy {
  readonly list: { readonly kind: "allow" | "deny"; readonly countries: ReadonlySet<string> } | null;
  readonly unknownLocation: "allow" | "deny";
}

/** One settings section; missing members are inherited. */
type Section = Partial<LocationPolicy>;

const CountriesSchema = v.pipe(
  v.array(v.pipe(v.string(), v.toUpperCase(), v.regex(/^[A-Z]{2}$/, "Expected an ISO 3166-1 code or EU"))),
  v.maxLength(policyCountriesMax),
);

export const LocationSchema = v.strictObject({
  allow: v.exactOptional(CountriesSchema),
  deny: v.exactOptional(CountriesSchema),
  unknownLocation: v.exactOptional(v.picklist(["allow", "deny"])),
});

const SectionSchema = v.optional(
  v.pipe(
    // Object schemas accept arrays as objects without members.
    v.custom<object>(value => !Array.isArray(value), "Expected an object"),
    LocationSchema,
    v.check(
      ({ allow, deny }) => allow === undefined || deny === undefined,
      "Expected allow or deny, not both",
    ),
  ),
  {},
);

/**
 * Returns the policy of a project, or of an event of it: the event replaces what it declares.
 *
 * @throws {AppError} `internal_error`: the settings are not valid, so that nothing is served by mistake.
 */
export function locationPolicy(project: Project, event: Event | null): LocationPolicy {
  const base = { list: null, unknownLocation: "deny", ...section(project.settings) } as const;
  return event === null ? base : { ...base, ...section(event.settings) };
}

/** Tells whether a policy serves a country; null: an unknown one. */
export function isServed({ list, unknownLocation }: LocationPolicy, country: CountryResult | null): boolean {
  if (country === null) return unknownLocation === "allow";
  if (list === null) return true;
  const { kind, countries } = list;
  const isListed =
    countries.has(country.isoCode) || (country.isInEuropeanUnion && countries.has(europeanUnion));
  return isListed === (kind === "allow");
}

export function locationFaults({ location }: Settings, pointer: string): FieldError[] {
  return fieldErrors(v.safeParse(SectionSchema, location).issues, `${pointer}/location`);
}

/** Keyed by the settings object, which the directory keeps while the settings are unchanged. */
const section = memoize(({ location }: Settings) => parse(location));

function parse(value: unknown): Section {
  const result = v.safeParse(SectionSchema, value);
  if (!result.success) {
    const cause = v.flatten(result.issues);
    throw new AppError("internal_error", "Cannot use the settings section location as it is not valid", {
      cause,
    });
  }
  const { allow, deny, unknownLocation } = result.output;
  const countries = allow ?? deny;
  const kind = allow === undefined ? "deny" : "allow";
  return {
    ...(countries === undefined ? {} : { list: { kind, countries: new Set(countries) } }),
    ...(unknownLocation === undefined ? {} : { unknownLocation }),
  };
}

const ProjectCheckParams = v.object({ projectId: ProjectParameter });
const EventCheckParams = v.object({ projectId: ProjectParameter, eventId: EventParameter });

const CountrySchema = named(
  "Country",
  v.object({
    geoname_id: v.pipe(v.number(), v.integer(), v.description("Id of the country in GeoNames")),
    is_in_european_union: v.boolean(),
    iso_code: v.pipe(v.string(), v.description("ISO 3166-1 alpha-2")),
    names: v.pipe(v.record(v.string(), v.string()), v.description("Names by language")),
  }),
);

type CountryJson = Immutable<v.InferOutput<typeof CountrySchema>>;

const ServedSchema = named(
  "LocationServed",
  v.object({ result: v.literal(1), message: v.string(), data: v.object({ country: CountrySchema }) }),
);

const RefusedSchema = named(
  "LocationRefused",
  v.object({
    result: v.literal(0),
    message: v.string(),
    data: v.object({
      country: v.nullable(CountrySchema),
      reason: v.picklist(["country_not_supported", "unknown_location"]),
      code: v.literal("location_not_supported"),
      retryable: v.literal(false),
      action: v.literal("none"),
    }),
  }),
);

/** Dependencies of the routes. */
export interface LocationContext {
  readonly location: Location;
}

/** Builds the routes of location checks. The client is at `info.address`. */
export function locationRoutes({ location }: LocationContext) {
  const path = "/v1/locations/projects/:projectId";
  const common = {
    method: "GET",
    description:
      "Looks up the country of the client's address and answers it where the settings of the project and the event serve it.",
    auth: open,
    responses: {
      200: { description: "The location is served", schema: ServedSchema },
      403: { description: "location_not_supported", schema: RefusedSchema },
    },
    errors: ["location_not_supported", "not_found"],
  } as const;
  return [
    route({
      ...common,
      path: `${path}/check`,
      operation: "checkProjectLocation",
      summary: "Check the client's location for a project",
      params: ProjectCheckParams,
      handle: async ({ params, info: { address } }) => answer(await location.check({ ...params, address })),
    }),
    route({
      ...common,
      path: `${path}/events/:eventId/check`,
      operation: "checkEventLocation",
      summary: "Check the client's location for an event",
      params: EventCheckParams,
      handle: async ({ params, info: { address } }) => answer(await location.check({ ...params, address })),
    }),
  ];
}

type Served = v.InferOutput<typeof ServedSchema>;

function answer({ country, isServed }: LocationDecision): JsonReply<200, Immutable<Served>> {
  if (!isServed) throw refusal(country);
  return identityEnvelope(
    { country: countryJson(country ?? unknownCountry) },
    { message: "Location is supported" },
  );
}

function refusal(country: LocationDecision["country"]): AppError {
  return country === null
    ? new AppError("location_not_supported", "Cannot serve this location as its country is unknown", {
        details: { country, reason: "unknown_location" },
      })
    : new AppError("location_not_supported", "Cannot serve this location as its country is not supported", {
        details: { country: countryJson(country), reason: "country_not_supported" },
      });
}

/** Answered where an unknown location is served: CLDR's code of the unknown region, so that clients find every member. */
const unknownCountry: CountryResult = {
  geonameId: 0,
  isInEuropeanUnion: false,
  isoCode: "ZZ",
  names: { en: "Unknown" },
};

function countryJson(country: CountryResult): CountryJson {
  return {
    geoname_id: country.geonameId,
    is_in_european_union: country.isInEuropeanUnion,
    iso_code: country.isoCode,
    names: country.names,
  };
}
