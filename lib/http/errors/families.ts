import type { Family } from "../routing/route.ts";
import type { ErrorFamily } from "./family.ts";
import { identityFamily } from "./identity.ts";
import { jsonApiFamily } from "./json_api.ts";
import { problemFamily } from "./problem.ts";

/** Every family by its name in the route tables. */
export const families: Readonly<Record<Family, ErrorFamily>> = {
  identity: identityFamily,
  problem: problemFamily,
  jsonApi: jsonApiFamily,
};
