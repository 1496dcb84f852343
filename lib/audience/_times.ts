/** Times as the audience API writes them. */

/** An instant in Unix ms as ISO 8601 text in UTC, with milliseconds. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** As {@linkcode isoTime}; null stays null. */
export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}
