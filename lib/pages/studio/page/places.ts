/** The places of the page, as its address names them: `#/events/<id>`, `#/events/<id>/run/<workflow>`, `#/operations`. */

import { type Api, type Resource, type ScopeType, scopeTypes } from "./api.ts";

/** A place: a scope, or a workflow that runs there; without a scope the list of organisations. */
export interface Place {
  readonly scope: { readonly type: ScopeType; readonly id: string } | null;
  readonly workflowId: string | null;
  readonly isOperations: boolean;
}

export const operationsHref = "#/operations";

export interface ViewContext {
  readonly api: Api;
  readonly place: Place;
  /** The scope of the place and what is above it, the scope last; empty for the list of organisations. */
  readonly chain: readonly Resource[];
  readonly root: HTMLElement;
  readonly signal: AbortSignal;
  /** Sets the question whether leaving the view would lose something; the user is asked then. */
  readonly guard: (isUnsaved: () => boolean) => void;
}

const shape = new RegExp(`^#/(${scopeTypes.join("|")})/([\\w-]{1,100})(?:/run/([\\w-]{1,100}))?$`);

export function placeOf(hash: string): Place {
  const [, type, id = "", workflowId = null] = shape.exec(hash) ?? [];
  const scope = type === undefined ? null : { type: type as ScopeType, id };
  return { scope, workflowId, isOperations: hash === operationsHref };
}

export function hrefOf({ type, id }: Pick<Resource, "type" | "id">): string {
  return `#/${type}/${encodeURIComponent(id)}`;
}
