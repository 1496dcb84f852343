import { formatAddress, parseAddress } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { chain } from "../../http/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { CountryResult, GeoReader } from "./geo_reader.ts";
import { isServed, locationPolicy } from "./policy.ts";

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
   * Checks whether a client is where the project or event is served; without a promise while both are cached.
   *
   * @throws {AppError} `not_found` for an unknown project or event.
   */
  check(query: LocationQuery): LocationDecision | Promise<LocationDecision>;
}

/** Dependencies of location checks. */
export interface LocationOptions {
  readonly directory: Directory;
  /** @default every location is unknown */
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

/** Looks up the canonical spelling, so that readers need not know the others. */
function countryOf(address: string | undefined, geo: GeoReader | undefined): CountryResult | null {
  const parsed = address === undefined ? undefined : parseAddress(address);
  return parsed === undefined ? null : (geo?.lookup(formatAddress(parsed)) ?? null);
}

function unknown(what: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot check the location as the ${what} is unknown`);
}
