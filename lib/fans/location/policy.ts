/**
 * Location policies: which countries a project or event serves, according to the settings section `location`.
 *
 * @module
 */

import * as v from "valibot";
import { AppError, type FieldError, jsonPointer } from "../../base/errors/mod.ts";
import { issueDetail } from "../../http/mod.ts";
import { memoize } from "../../storage/background/mod.ts";
import type { Event, Project, Settings } from "../directory/mod.ts";
import type { CountryResult } from "./geo_reader.ts";

/** Most entries in a list of countries. */
export const policyCountriesMax = 300;

/** The list entry that stands for the members of the European Union. */
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

const SectionSchema = v.optional(
  v.pipe(
    // Object schemas accept arrays as objects without members.
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

/** Lists the faults of the section `location` in the settings of a project or event. */
export function locationFaults({ location }: Settings, pointer: string): FieldError[] {
  return (v.safeParse(SectionSchema, location).issues ?? []).map(issue => ({
    pointer: pointer + jsonPointer("location", ...(issue.path ?? []).map(({ key }) => String(key))),
    detail: issueDetail(issue),
  }));
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
