/**
 * Fields of the pages that a platform serves, and of their files, and who gets a page.
 *
 * @module
 */

/** Fields of everything that belongs to a page. */
export const ownPageFields = {
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
} as const;

/** Fields of a file whose name has a digest of its contents. */
export const pageFileFields = {
  ...ownPageFields,
  "cache-control": "public, max-age=31536000, immutable",
} as const;

/**
 * Returns the fields of a page that runs its own script and style, talks to its own platform, and is shown in no frame.
 *
 * @param images Sources of images, as in `Content-Security-Policy`.
 */
export function pageFields(images: string): Readonly<Record<string, string>> {
  const policy =
    `default-src 'none'; script-src 'self'; style-src 'self'; img-src ${images}; connect-src 'self'; base-uri 'none'; ` +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
  return {
    ...ownPageFields,
    "content-security-policy": policy,
    "content-type": "text/html; charset=utf-8",
    "cross-origin-opener-policy": "same-origin",
  };
}

/** Returns true for browsers, which ask for HTML before anything else. */
export function prefersHtml(request: Request): boolean {
  const accepted = (request.headers.get("accept") ?? "")
    .toLowerCase()
    .split(",")
    .filter(part => !/;\s*q=0(\.0*)?\s*$/.test(part));
  const types = accepted.map(part => part.split(";", 1)[0]?.trim());
  return (
    types.includes("text/html") && !types.slice(0, types.indexOf("text/html")).includes("application/json")
  );
}
