/** Longest `Retry-After` that is parsed, in characters. */
export const retryAfterCharactersMax = 64;

/** Parses `Retry-After`, seconds or a date (RFC 9110, 10.2.3), into ms; null where it is absent or malformed. */
export function retryAfterMsOf(value: string | null, now: number): number | null {
  if (value === null || value.length > retryAfterCharactersMax) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  // A date in this form has a weekday; Date.parse alone takes far more for one.
  const at = /^[A-Z][a-z]+, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
