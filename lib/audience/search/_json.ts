/** Values of users as JSON. */

/** Text that JSON writes as it is; the rest costs more. */
const isPlain = /^[ !#-[\]-~]*$/;

/** The JSON of a value; `null` for what has none. */
export function jsonOf(value: unknown): string {
  if (typeof value === "string") return isPlain.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return JSON.stringify(value) ?? "null";
}
