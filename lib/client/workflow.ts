/** The operations of workflow. */

import type { ControlRoute } from "../authoring/control/mod.ts";
import type { Area } from "./area.ts";
import type { Operations, Rows } from "./operations.ts";

type Routes = Extract<ControlRoute, { readonly path: `/api/v2/workflows${string}` }>;

/** Operations of the area workflow. */
export interface WorkflowOperations extends Operations<Routes> {}

/** The area workflow, for `createClient`. */
export const workflow: Area<WorkflowOperations> = {
  rows: {
    listWorkflows: "GET /api/v2/workflows a",
    createWorkflow: "POST /api/v2/workflows ai",
    readWorkflow: "GET /api/v2/workflows/:workflowId a",
    changeWorkflow: "PATCH /api/v2/workflows/:workflowId ai",
    removeWorkflow: "DELETE /api/v2/workflows/:workflowId a",
    dispatchWorkflow: "POST /api/v2/workflows/:workflowId/dispatch a",
  } satisfies Rows<Routes>,
};
