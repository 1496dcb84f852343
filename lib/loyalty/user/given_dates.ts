/**
 * When points that a back end gives count, which what takes them in and the ledger check alike.
 *
 * @module
 */

/** Dates of points, in Unix ms; what is omitted, their metric's policy decides. */
export interface PointDates {
  readonly availableAt?: number | undefined;
  /** Exclusive. */
  readonly expiresAt?: number | undefined;
}

/** Longest time from now on until points that are given with dates count or expire: ten years. */
export const givenAheadMsMax: number = 3_653 * 86_400_000;

/** A date that cannot be kept, and why. */
export interface PointDateError {
  readonly member: keyof PointDates;
  readonly detail: string;
}

/** What is wrong with dates at a time (Unix ms); nothing where points expire later than now and than they count. */
export function pointDateErrors(
  { availableAt, expiresAt }: PointDates,
  now: number,
): readonly PointDateError[] {
  const latest = now + givenAheadMsMax;
  const faults: PointDateError[] = [];
  if (availableAt !== undefined && !(availableAt <= latest)) {
    faults.push({ member: "availableAt", detail: "Expected a time within ten years" });
  }
  const from = Math.max(now, availableAt ?? now);
  if (expiresAt !== undefined && !(expiresAt > from && expiresAt <= latest)) {
    const detail = "Expected a time within ten years, later than now and than availableAt";
    faults.push({ member: "expiresAt", detail });
  }
  return faults;
}
