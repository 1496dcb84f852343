/** The places of the page, as its address names them: `#/events/<id>`, `#/projects/<id>/people`, `#/events/<id>/workflows/<workflow>`, `#/operations`. */

import { type Resource, type ScopeType, scopeTypes } from "./api.ts";

/** A place: a view of a scope, or of the platform where the scope is null. */
export interface Place {
  readonly scope: { readonly type: ScopeType; readonly id: string } | null;
  /** Name of the view; null: the first one. */
  readonly view: string | null;
  /** Id of what is open in the view; null: nothing. */
  readonly item: string | null;
}

const id = "[\\w-]{1,100}";
const shape = new RegExp(`^#/(?:(${scopeTypes.join("|")})/(${id})/?)?(?:([a-z]+)(?:/(${id}))?)?$`);

export function placeOf(hash: string): Place {
  const [, type, scopeId = "", view = null, item = null] = shape.exec(hash) ?? [];
  return { scope: type === undefined ? null : { type: type as ScopeType, id: scopeId }, view, item };
}

/** Returns the address of a scope, or of a view of it, or of what is open in the view. */
export function hrefOf({ type, id }: Pick<Resource, "type" | "id">, view?: string, item?: string): string {
  const parts = [type, encodeURIComponent(id), view, item].filter(part => part !== undefined);
  return `#/${parts.join("/")}`;
}
