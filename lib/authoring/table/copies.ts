/** What every way to copy records does to their texts. */

const uuids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi;
/** Annotations that mark one record. */
const markStart = /^(manifest|smoke)\//;

/** Replaces the ids in a text, alone or among other words; undefined leaves one as it is. */
export function replaceIds(text: string, idOf: (id: string) => string | undefined): string {
  return text.replace(uuids, id => idOf(id.toLowerCase()) ?? id);
}

/** Returns attributes without the annotations that mark one record. */
export function withoutMarks(
  attributes: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const annotations = Object.entries((attributes.annotations ?? {}) as Readonly<Record<string, unknown>>);
  const kept = annotations.filter(([key]) => !markStart.test(key));
  return { ...attributes, annotations: Object.fromEntries(kept) };
}
