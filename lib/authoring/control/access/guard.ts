/** The guard of routes for authoring users. */

import { bearerToken } from "../../../auth/mod.ts";
import type { Guard } from "../../../http/mod.ts";
import type { Author } from "./author.ts";
import type { Authors } from "./authors.ts";

const schemes = {
  accessToken: {
    type: "http",
    scheme: "bearer",
    description: "Access token of an authoring user (`gst_…`).",
  },
};

/** Creates a guard that demands the access token of an authoring user. */
export function authorGuard(authors: Authors): Guard<Author> {
  return {
    security: [{ schemes }],
    authenticate({ request }) {
      return authors.verify(bearerToken(request.headers.get("authorization")));
    },
  };
}
