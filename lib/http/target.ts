/**
 * The path and query of a request, found by index: `new URL` costs more than the rest of the dispatch.
 *
 * @module
 */

/** A request's target, both parts as sent: percent-encoded, without `?` and fragment. */
export interface Target {
  /** Begins with a slash. */
  readonly path: string;
  readonly query: string;
}

/** Splits an absolute URL, or one that begins with its path, into path and query. */
export function splitUrl(url: string): Target {
  const start = url.charCodeAt(0) === 47 ? 0 : pathStart(url);
  const hash = url.indexOf("#", start);
  const end = hash === -1 ? url.length : hash;
  const mark = url.indexOf("?", start);
  if (mark === -1 || mark >= end) return { path: url.slice(start, end) || "/", query: "" };
  return { path: url.slice(start, mark) || "/", query: url.slice(mark + 1, end) };
}

function pathStart(url: string): number {
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const mark = url.indexOf("?", authority);
  if (slash === -1) return mark === -1 ? url.length : mark;
  return mark !== -1 && mark < slash ? mark : slash;
}
