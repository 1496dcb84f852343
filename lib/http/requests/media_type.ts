/** The media type of JSON:API, in which the control API speaks. */
export const jsonApiMediaType = "application/vnd.api+json";

const charsetShape = /;\s*charset\s*=\s*"?([^\s;"]+)/;
const parameterName = /;\s*([^\s;=]+)\s*=/g;

/**
 * Whether the value of a `Content-Type` names one of the accepted media types, in UTF-8. JSON:API forbids to accept its own
 * type with parameters that are not understood: of those it knows, `profile` may be ignored and `ext` must not be.
 */
export function isAcceptedType(contentType: string, accepted: readonly string[]): boolean {
  const lower = contentType.toLowerCase();
  const [type = ""] = lower.split(";", 1);
  if (!accepted.includes(type.trim())) return false;
  if ((charsetShape.exec(lower)?.[1] ?? "utf-8") !== "utf-8") return false;
  if (type.trim() !== jsonApiMediaType) return true;
  return [...lower.matchAll(parameterName)].every(([, name]) => name === "profile" || name === "charset");
}
