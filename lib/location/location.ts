import { formatAddress, parseAddress } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain } from "../http/mod.ts";
import type { CountryResult, GeoReader } from "./geo_reader.ts";
import { isServed, locationPolicy } from "./policy.ts";

/** Whose location is checked, and for what. */
export interface LocationQuery {
  readonly projectId: string;
  /** An event of the project by its id, `current` or `latest`; omitted: the project itself. */
  readonly eventId?: string;
  /** Address of the client; undefined is an unknown location. */
  readonly address: string | undefined;
}

/** What a check found. */
export interface LocationDecision {
  /** Null where nobody knows it. */
  readonly country: CountryResult | null;
  /** Whether the policy serves it. */
  readonly isServed: boolean;
}

/** Checks locations without HTTP. */
export interface Location {
  /**
   * Whether a client is where the project or event is served; without a promise while both are fresh in the directory.
   *
   * @throws {AppError} `not_found` for an unknown project or event.
   */
  check(query: LocationQuery): LocationDecision | Promise<LocationDecision>;
}

/** What location checks need. */
export interface LocationOptions {
  readonly directory: Directory;
  /** Omitted: every location is unknown. */
  readonly geo?: GeoReader;
}

/** Creates the location check. */
export function createLocation({ directory, geo }: LocationOptions): Location {
  return {
    check({ projectId, eventId, address }) {
      return chain(directory.project(projectId), project => {
        if (project === null) throw unknown("project");
        const found = eventId === undefined ? null : directory.event(projectId, eventId);
        return chain(found, event => {
          if (event === null && eventId !== undefined) throw unknown("event");
          const country = countryOf(address, geo);
          return { country, isServed: isServed(locationPolicy(project, event), country) };
        });
      });
    },
  };
}

/** Readers get the canonical spelling, so that none of them needs to know the others. */
function countryOf(address: string | undefined, geo: GeoReader | undefined): CountryResult | null {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return parsed === undefined ? null : (geo?.lookup(formatAddress(parsed)) ?? null);
}

function unknown(what: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot check the location as the ${what} is unknown`);
}
