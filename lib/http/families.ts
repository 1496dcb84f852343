import type { ErrorFamily } from "./family.ts";
import { identityFamily } from "./family_identity.ts";
import { jsonApiFamily } from "./family_json_api.ts";
import { problemFamily } from "./family_problem.ts";
import type { Family } from "./route.ts";

/** Every family by its name in the route tables. */
export const families: Readonly<Record<Family, ErrorFamily>> = {
  identity: identityFamily,
  problem: problemFamily,
  jsonApi: jsonApiFamily,
};
