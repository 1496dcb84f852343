/** The operations of location checks. */

import type { locationRoutes } from "../fans/location/location.ts";
import type { Area } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes = RoutesOf<typeof locationRoutes>;

/** Operations of the area location. */
export interface LocationOperations extends Operations<Routes> {}

/** The area location, for `createClient`. */
export const location: Area<LocationOperations> = {
  rows: {
    checkProjectLocation: "GET /v1/locations/projects/:projectId/check",
    checkEventLocation: "GET /v1/locations/projects/:projectId/events/:eventId/check",
  } satisfies Rows<Routes>,
};
