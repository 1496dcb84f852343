/**
 * When points that a back end gives count, which what takes them in and the ledger check alike.
 *
 * @module
 */

/** Dates of points, in Unix ms; what is omitted, their metric's policy decides. */
export interface GivenDates {
  readonly availableAt?: number | undefined;
  /** Exclusive. */
  readonly expiresAt?: number | undefined;
}

/** Longest time from now on until points that are given with dates count or expire: ten years. */
export const givenAheadMsMax: number = 3_653 * 86_400_000;

/** A date that cannot be kept, and why. */
export interface DateFault {
  readonly member: keyof GivenDates;
  readonly detail: string;
}

/** What is wrong with dates at a time (Unix ms); nothing where points expire later than now and than they count. */
export function dateFaults({ availableAt, expiresAt }: GivenDates, now: number): readonly DateFault[] {
  const latest = now + givenAheadMsMax;
  const faults: DateFault[] = [];
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
