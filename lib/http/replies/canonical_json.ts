/**
 * The canonical form of a JSON value (RFC 8785): members ordered by their UTF-16 units, and nothing between the tokens.
 * Numbers and texts are what ECMAScript writes anyway. Equal values have equal forms however they were laid out.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}
