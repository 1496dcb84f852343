/** What the parts of the loyalty view get, and what they share. */

import type { FieldError } from "../../../../client/mod.ts";
import { type Zone, zoneNamed } from "../answers.tsx";
import type { EditedDocument, Live } from "../documents/saved.ts";
import { ownZone } from "../plan/zones.ts";
import type { ViewContext } from "../view.ts";

/** Returns the zone of a configuration, or that of the user. */
export function zoneOf(document: unknown): Zone {
  return zoneNamed(String(Object(document).timeZone ?? ownZone));
}

export interface PartProps {
  readonly context: ViewContext;
  readonly document: EditedDocument<unknown>;
  readonly live: Live<unknown>;
  readonly faults: readonly FieldError[];
}
