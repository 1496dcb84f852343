/**
 * Where a request goes. Its path and query are found by index: `new URL` costs more than the rest of the dispatch.
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

/**
 * The host that a request is addressed to, as sent; empty where it names none, as HTTP/1.0 allows. A Request that was made by
 * hand has its host in the URL alone, and one without a host may have no more than its target there.
 */
export function hostOf({ headers, url }: Pick<Request, "headers" | "url">): string {
  return headers.get("host") ?? (URL.canParse(url) ? new URL(url).host : "");
}

function pathStart(url: string): number {
  const authority = url.indexOf("://") + 3;
  const slash = url.indexOf("/", authority);
  const mark = url.indexOf("?", authority);
  if (slash === -1) return mark === -1 ? url.length : mark;
  return mark !== -1 && mark < slash ? mark : slash;
}
