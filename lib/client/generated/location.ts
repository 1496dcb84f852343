/**
 * Operations of the area location. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions } from "../area.ts";

/** `Country` of the OpenAPI document. */
export interface Country {
  /** Id of the country in GeoNames */
  readonly geoname_id: number;
  readonly is_in_european_union: boolean;
  /** ISO 3166-1 alpha-2 */
  readonly iso_code: string;
  /** Names by language */
  readonly names: Readonly<Record<string, string>>;
}

/** `LocationServed` of the OpenAPI document. */
export interface LocationServed {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly country: Country;
  };
}

/** Operations of the area location. */
export interface LocationOperations {
  /** Check the client's location for a project. Looks up the country of the client's address and answers it where the settings of the project and the event serve it. */
  checkProjectLocation(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<LocationServed["data"], LocationServed>;

  /** Check the client's location for an event. Looks up the country of the client's address and answers it where the settings of the project and the event serve it. */
  checkEventLocation(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
  }, options?: CallOptions): Answer<LocationServed["data"], LocationServed>;
}

/** The area location, for `createClient`. */
export const location: Area<LocationOperations> = {
  rows: {
    checkProjectLocation: "GET /v1/locations/projects/{projectId}/check",
    checkEventLocation: "GET /v1/locations/projects/{projectId}/events/{eventId}/check",
  },
};
