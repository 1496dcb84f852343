/** Options of the example backends. */

import type { WorkflowOptions } from "../mod.ts";

/** What an example is created with: the options of a workflow but those that make the example. */
export type ExampleOptions = Omit<WorkflowOptions<object>, "name" | "require" | "state">;
