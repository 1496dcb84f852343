/**
 * Operations of the area workflow. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions, List } from "../area.ts";
import type { IncludedResource } from "./shared.ts";

/** `ChangedWorkflows` of the OpenAPI document. */
export interface ChangedWorkflows {
  /** Resource object to change, of the type `workflows`; absent members stay */
  readonly data: {
    readonly type: "workflows";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      /** Address that takes the requests: https, or http in networks that the deployment allows */
      readonly endpoint_url?: string;
      /** Scopes where it can be started */
      readonly availability?: readonly ("organisation" | "space" | "project" | "event")[];
      /** True if it can be started */
      readonly enabled?: boolean;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `NewWorkflows` of the OpenAPI document. */
export interface NewWorkflows {
  /** Resource object to create, of the type `workflows` */
  readonly data: {
    readonly type: "workflows";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      /** Address that takes the requests: https, or http in networks that the deployment allows */
      readonly endpoint_url: string;
      /** Scopes where it can be started */
      readonly availability: readonly ("organisation" | "space" | "project" | "event")[];
      /** True if it can be started */
      readonly enabled?: boolean;
    };
  };
}

/** `WorkflowDispatch` of the OpenAPI document. */
export interface WorkflowDispatch {
  /** What the workflow runs on */
  readonly scope: {
    /** Where the workflow runs, which must be among its `availability` */
    readonly type: "organisations" | "spaces" | "projects" | "events";
    /** Id of the organisation, space, project or event */
    readonly id: string;
  };
  /** What the person did, which the backend gets */
  readonly request: {
    /** The pressed button */
    readonly action?: string;
    /** The running task */
    readonly taskId?: string;
    /** Texts, and files in Base64 */
    readonly inputs?: Readonly<Record<string, string>>;
    /** The payload of the last answer, untouched */
    readonly payload?: Readonly<Record<string, unknown>>;
  };
}

/** `WorkflowView` of the OpenAPI document. */
export type WorkflowView = Readonly<Record<string, unknown>>;

/** `Workflows` of the OpenAPI document. */
export interface Workflows {
  readonly type: "workflows";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** Address that takes the requests: https, or http in networks that the deployment allows */
    readonly endpoint_url?: string;
    /** Scopes where it can be started */
    readonly availability?: readonly ("organisation" | "space" | "project" | "event")[];
    /** True if it can be started */
    readonly enabled?: boolean;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: Readonly<Record<string, never>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `WorkflowsDocument` of the OpenAPI document. */
export interface WorkflowsDocument {
  readonly data: Workflows;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `WorkflowsList` of the OpenAPI document. */
export interface WorkflowsList {
  readonly data: readonly Workflows[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** Operations of the area workflow. */
export interface WorkflowOperations {
  /** List the workflows that you may see. A registered workflow backend. Needs the role viewer. */
  listWorkflows(input?: {
    /** Names of the shown attributes and relationships of workflows */
    readonly "fields[workflows]"?: string;
    /** One of name; with `-` in front the highest first */
    readonly sort?: string;
    /** Only workflows with this scope */
    readonly "filter[scope]"?: "organisation" | "space" | "project" | "event";
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Workflows, WorkflowsList>;

  /** Create a workflow. A registered workflow backend. Creating one needs the role operator. */
  createWorkflow(input: {
    /** Names of the shown attributes and relationships of workflows */
    readonly "fields[workflows]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewWorkflows;
  }, options?: CallOptions): Answer<Workflows, WorkflowsDocument>;

  /** Read a workflow. A registered workflow backend. Needs the role viewer. */
  readWorkflow(input: {
    /** Id of the workflow */
    readonly workflowId: string;
    /** Names of the shown attributes and relationships of workflows */
    readonly "fields[workflows]"?: string;
  }, options?: CallOptions): Answer<Workflows, WorkflowsDocument>;

  /** Change a workflow. Changes what the body names and leaves the rest. Needs the role operator. Answers 204, or 200 with the workflow where `Accept` names application/vnd.api+json. */
  changeWorkflow(input: {
    /** Id of the workflow */
    readonly workflowId: string;
    /** Names of the shown attributes and relationships of workflows */
    readonly "fields[workflows]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedWorkflows;
  }, options?: CallOptions): Answer<Workflows | undefined, WorkflowsDocument>;

  /** Remove a workflow. Needs the role operator. */
  removeWorkflow(input: {
    /** Id of the workflow */
    readonly workflowId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Send a request to the backend of a workflow. Fills in the context from the scope, and sends the request to the backend with a token of its own: for ten minutes at most, for that scope and backend alone, and for the caller's role there. The caller's token is never sent. The answer of the backend is answered as it is. An `Idempotency-Key` is sent on: the backend recognises repetitions, and nothing is sent twice by itself. Needs a role in the scope. */
  dispatchWorkflow(input: {
    /** Id of the workflow */
    readonly workflowId: string;
    readonly body: WorkflowDispatch;
  }, options?: CallOptions): Answer<WorkflowView>;
}

/** The area workflow, for `createClient`. */
export const workflow: Area<WorkflowOperations> = {
  rows: {
    listWorkflows: "GET /api/v2/workflows a",
    createWorkflow: "POST /api/v2/workflows ai",
    readWorkflow: "GET /api/v2/workflows/{workflowId} a",
    changeWorkflow: "PATCH /api/v2/workflows/{workflowId} ai",
    removeWorkflow: "DELETE /api/v2/workflows/{workflowId} a",
    dispatchWorkflow: "POST /api/v2/workflows/{workflowId}/dispatch a",
  },
};
