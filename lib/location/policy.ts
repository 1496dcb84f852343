/**
 * Which countries a project or event serves, as its settings declare them in the section `location`:
 * `{"allow": ["DE", "EU"]}` serves these alone, `{"deny": ["US"]}` serves all others; `EU` stands for every country that
 * the database says is in the European Union. Without a list every country is served. `unknownLocation` says what
 * becomes of addresses whose country nobody knows. An event's list replaces the project's, and so does its `unknownLocation`.
 *
 * @module
 */

import * as v from "valibot";
import type { Event, Project, Settings } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { CountryResult } from "./geo_reader.ts";

/** Most entries of a list of countries: more than there are countries. */
export const policyCountriesMax = 300;

/** The entry of a list that stands for the members of the European Union. */
export const europeanUnion = "EU";

/** Which countries are served. */
export interface LocationPolicy {
  readonly list: { readonly kind: "allow" | "deny"; readonly countries: ReadonlySet<string> } | null;
  readonly unknownLocation: "allow" | "deny";
}

/** What one settings section declares; what is absent is left to the next section. */
type Section = Partial<LocationPolicy>;

const CountriesSchema = v.pipe(
  v.array(v.pipe(v.string(), v.toUpperCase(), v.regex(/^[A-Z]{2}$/, "Expected an ISO 3166-1 code or EU"))),
  v.maxLength(policyCountriesMax),
);

const SectionSchema = v.optional(
  v.pipe(
    // An object schema takes a list for an object without members.
    v.custom<object>(value => !Array.isArray(value), "Expected an object"),
    v.strictObject({
      allow: v.exactOptional(CountriesSchema),
      deny: v.exactOptional(CountriesSchema),
      unknownLocation: v.exactOptional(v.picklist(["allow", "deny"])),
    }),
    v.check(
      ({ allow, deny }) => allow === undefined || deny === undefined,
      "Expected allow or deny, not both",
    ),
  ),
  {},
);

const parsedSections = new WeakMap<Settings, Section>();

/**
 * The policy of a project, or of an event of it.
 *
 * @throws {AppError} `internal_error` where the settings are not valid: then nothing is served by mistake.
 */
export function locationPolicy(project: Project, event: Event | null): LocationPolicy {
  const base = { list: null, unknownLocation: "deny", ...section(project.settings) } as const;
  return event === null ? base : { ...base, ...section(event.settings) };
}

/** Whether a policy serves a country; null is an unknown one. */
export function isServed({ list, unknownLocation }: LocationPolicy, country: CountryResult | null): boolean {
  if (country === null) return unknownLocation === "allow";
  if (list === null) return true;
  const { kind, countries } = list;
  const isListed =
    countries.has(country.isoCode) || (country.isInEuropeanUnion && countries.has(europeanUnion));
  return isListed === (kind === "allow");
}

/** Parsed once per settings object: the directory keeps that object for as long as the settings are unchanged. */
function section(settings: Settings): Section {
  const parsed = parsedSections.get(settings) ?? parse(settings.location);
  parsedSections.set(settings, parsed);
  return parsed;
}

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
