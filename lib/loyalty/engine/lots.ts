import { addDuration, type Duration, endOfPeriod } from "../../calendar/mod.ts";
import type { LotPolicy } from "../config/metrics.ts";
import type { Lot } from "../ledger/mod.ts";
import type { PointDates } from "../user/history.ts";

/** The lot that points are credited to. */
export interface LotChoice {
  readonly lotId: string;
  readonly activatesAt: number;
  readonly expiresAt: number | null;
}

/** When points are to count: by the dates given with them, else by their metric's policy. */
export interface LotOrder extends PointDates {
  readonly policy: LotPolicy;
}

/** What choosing a lot depends on. */
export interface LotContext {
  readonly at: number;
  readonly timeZone: string;
  newId(): string;
}

/**
 * Chooses a lot. Points with the same dates share a lot, and what is said in days or longer ends with a day,
 * so that who earns often has few lots.
 */
export function lotFor(lots: readonly Lot[], order: LotOrder, context: LotContext): LotChoice {
  const { at, timeZone } = context;
  const { expires } = order.policy;
  const from = countsFrom(order, context);
  const activatesAt = from > at ? from : 0;
  const expiresAt =
    order.expiresAt ?? (expires === undefined ? null : expiryOf(expires, Math.max(from, at), timeZone));
  const same = lots.find(lot => lot.activatesAt === activatesAt && lot.expiresAt === expiresAt);
  return { lotId: same?.id ?? context.newId(), activatesAt, expiresAt };
}

/** From when on points count that come now, in Unix ms; perhaps a time that has passed. */
export function countsFrom(
  { policy: { activatesAfter }, availableAt }: LotOrder,
  { at, timeZone }: Pick<LotContext, "at" | "timeZone">,
): number {
  return availableAt ?? (activatesAfter === undefined ? at : after(at, activatesAfter, timeZone));
}

function expiryOf(expires: NonNullable<LotPolicy["expires"]>, from: number, timeZone: string): number {
  return "endOf" in expires
    ? endOfPeriod(expires.endOf, timeZone, from)
    : after(from, expires.after, timeZone);
}

/** Where the duration has neither hours nor minutes: the end of the day in which it is over, unless that is a day's begin. */
function after(from: number, duration: Duration, timeZone: string): number {
  const over = addDuration(from, duration, timeZone);
  const isOfDays = duration.hours === undefined && duration.minutes === undefined;
  return isOfDays ? endOfPeriod("day", timeZone, over - 1) : over;
}
