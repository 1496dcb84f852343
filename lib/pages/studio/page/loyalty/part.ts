/** What the parts of the loyalty view get, and what they share. */

import { isTimeZone } from "../../../../base/calendar/mod.ts";
import type { FieldError } from "../../../../client/mod.ts";
import type { EditedDocument, Live } from "../documents/saved.ts";
import { ownZone, timeIn } from "../plan/zones.ts";
import type { ViewContext } from "../view.ts";

/** Writes a time in Unix seconds in the zone of the configuration, or that of the user, and names the zone. */
export function timeOf(document: unknown): { readonly zone: string; readonly text: (at: number) => string } {
  const { timeZone } = Object(document) as { readonly timeZone?: unknown };
  const zone = typeof timeZone === "string" && isTimeZone(timeZone) ? timeZone : ownZone;
  return { zone, text: at => timeIn(zone, at) };
}

export interface PartProps {
  readonly context: ViewContext;
  readonly document: EditedDocument<unknown>;
  readonly live: Live<unknown>;
  readonly faults: readonly FieldError[];
}
