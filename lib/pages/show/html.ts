/** The HTML of the show. */

import { Html, html } from "../shared/mod.ts";
import type { PageData } from "./page_data.ts";

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='%23d6336c'/><path fill='white' d='M6 4.5l6 3.5-6 3.5z'/></svg>";

/** Views for people who look and do not touch. */
export const screenViews = ["screen", "overlay"] as const;

interface PageParts {
  /** Null: the address names no show. */
  readonly data: PageData | null;
  readonly title: string;
  /** Null: the page of a fan. */
  readonly view: (typeof screenViews)[number] | null;
  readonly script: string;
  /** The files that the script imports. */
  readonly imports: readonly string[];
  readonly styles: readonly string[];
}

/** Returns the HTML. Addresses are relative, so that the page works under any prefix of the platform. */
export function pageText({ data, title, view, script, imports, styles }: PageParts): string {
  // The only sign that could end the element early.
  const json = new Html(JSON.stringify(data).replaceAll("<", "\\u003c"));
  const waiting = html`<header class="bar"><h1>${title}</h1></header><main><div class="card skeleton"></div></main>`;
  // A page with a colour scheme is opaque, also where it draws nothing.
  const scheme = html`<meta name="color-scheme" content="light dark">
`;
  return html`<!doctype html>
<html lang="en"${view === null ? null : html` data-view="${view}"`}>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${view === "overlay" ? null : scheme}<title>${title}</title>
<link rel="icon" href="${icon}">
${styles.map(
  name => html`<link rel="stylesheet" href="show/${name}">
`,
)}<script type="module" src="show/${script}"></script>
${imports.map(
  name => html`<link rel="modulepreload" href="show/${name}">
`,
)}<script type="application/json" id="data">${json}</script>
<div id="page">${view === null ? waiting : null}</div>
<noscript>The show needs JavaScript.</noscript>
</html>
`.text;
}
