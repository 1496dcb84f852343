/**
 * The HTML of the show.
 *
 * @module
 */

import { Html, html } from "../shared/mod.ts";
import type { PageData } from "./page_data.ts";

const icon =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='%23d6336c'/><path fill='white' d='M6 4.5l6 3.5-6 3.5z'/></svg>";

interface PageParts {
  /** Null: the address names no show. */
  readonly data: PageData | null;
  readonly title: string;
  readonly script: string;
  /** The files that the script imports. */
  readonly imports: readonly string[];
  readonly style: string;
}

/** Returns the HTML. Addresses are relative, so that the page works under any prefix of the platform. */
export function pageText({ data, title, script, imports, style }: PageParts): string {
  // The only sign that could end the element early.
  const json = new Html(JSON.stringify(data).replaceAll("<", "\\u003c"));
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="show/${style}">
<script type="module" src="show/${script}"></script>
${imports.map(
  name => html`<link rel="modulepreload" href="show/${name}">
`,
)}<script type="application/json" id="data">${json}</script>
<div id="page"><header class="bar"><h1>${title}</h1></header><main><div class="card skeleton"></div></main></div>
<noscript>The show needs JavaScript.</noscript>
</html>
`.text;
}
