/** What the parts of the loyalty view get. */

import type { FieldError } from "../../../../client/mod.ts";
import type { EditedDocument, Live } from "../documents/saved.ts";
import type { ViewContext } from "../view.ts";

export interface PartProps {
  readonly context: ViewContext;
  readonly document: EditedDocument<unknown>;
  readonly live: Live<unknown>;
  readonly faults: readonly FieldError[];
}
