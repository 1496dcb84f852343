/**
 * The same text in one piece of memory. An engine keeps what `JSON.stringify` or joining made as a tree of pieces until
 * somebody looks into it: half as large again, and copied piece by piece by the collector of garbage.
 */
export function flattenString(text: string): string {
  // Looking at a character joins the pieces. The result depends on it, because a look for nothing may be optimised away.
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}
