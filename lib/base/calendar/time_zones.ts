/** Names of time zones. */

/** Longest name of a time zone, in characters. */
export const timeZoneCharactersMax = 64;

const nameShape = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/**
 * Returns true if a text names a zone of the IANA time zone database that this runtime knows. Bare offsets such as
 * `+05:30`, which only some runtimes take, are no names.
 */
export function isTimeZone(text: string): boolean {
  if (text.length > timeZoneCharactersMax || !nameShape.test(text)) return false;
  const known = checked.get(text);
  if (known !== undefined) return known;
  if (checked.size >= checkedMax) checked.clear();
  const isKnown = isKnownToIntl(text);
  checked.set(text, isKnown);
  return isKnown;
}

/** Answers for names, as a look at Intl takes longer than a report of an action. */
const checked = new Map<string, boolean>();
const checkedMax = 1_000;

function isKnownToIntl(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}
