/** Longest `Retry-After` that is looked at, in characters. */
export const retryAfterCharactersMax = 64;

/**
 * How long a service asks to be left alone, in ms: seconds or a date (RFC 9110, 10.2.3). Null: it does not, or says it in
 * another way.
 */
export function retryAfterMsOf(value: string | null, now: number): number | null {
  if (value === null || value.length > retryAfterCharactersMax) return null;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  // A date in this form has a weekday; Date.parse alone takes far more for one.
  const at = /^[A-Z][a-z]+, /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
