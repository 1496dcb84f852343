const timeShape = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/**
 * Tells whether a text is a time as in RFC 3339. Runtimes differ in what `Date.parse` takes beyond that, and some turn 30
 * February into 2 March.
 */
export function isTime(text: string): boolean {
  const day = timeShape.exec(text)?.[1];
  if (day === undefined || !Number.isFinite(Date.parse(text))) return false;
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
