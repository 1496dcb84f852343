import { addDuration, endOfPeriod } from "../../calendar/mod.ts";
import type { LotPolicy } from "../config.ts";
import type { Lot } from "../ledger/mod.ts";

/** The lot that points are credited to. */
export interface LotChoice {
  readonly lotId: string;
  readonly activatesAt: number;
  readonly expiresAt: number | null;
}

/** What choosing a lot depends on. */
export interface LotContext {
  readonly at: number;
  readonly timeZone: string;
  newId(): string;
}

/** Chooses by a metric's policy. Points with the same dates share a lot, so that who earns often has few of them. */
export function lotFor(lots: readonly Lot[], policy: LotPolicy, context: LotContext): LotChoice {
  const { at, timeZone } = context;
  const { activatesAfter, expires } = policy;
  const from = activatesAfter === undefined ? at : addDuration(at, activatesAfter, timeZone);
  const activatesAt = from > at ? from : 0;
  const expiresAt = expires === undefined ? null : expiryOf(expires, from, timeZone);
  const same = lots.find(lot => lot.activatesAt === activatesAt && lot.expiresAt === expiresAt);
  return { lotId: same?.id ?? context.newId(), activatesAt, expiresAt };
}

function expiryOf(expires: NonNullable<LotPolicy["expires"]>, from: number, timeZone: string): number {
  return "endOf" in expires
    ? endOfPeriod(expires.endOf, timeZone, from)
    : addDuration(from, expires.after, timeZone);
}
