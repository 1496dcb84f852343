/** The HTML of the documentation's pages. */

import { type Html, html } from "../shared/mod.ts";

interface Page {
  readonly title: string;
  /** Path from the page to the folder of the documentation: "docs/" or "../../". */
  readonly up: string;
  readonly navigation: Html;
  readonly content: Html;
  readonly script: string;
  readonly style: string;
}

/** Returns the text of a page. Addresses are relative, so that it works under any prefix of the platform. */
export function pageText({ title, up, navigation, content, script, style }: Page): string {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Grandstand</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${up}files/${style}">
<script type="module" src="${up}files/${script}"></script>
<header>
<a class="skip" href="#content">Skip to the content</a>
<a class="home" href="${up}../docs">Grandstand</a>
<form role="search" hidden><input type="search" aria-label="Search" placeholder="Search ( / )" autocomplete="off" data-index="${up}search" data-up="${up}" aria-controls="found"></form>
<ol id="found" hidden></ol>
</header>
<div class="sides">
<nav aria-label="Contents"><details><summary>Contents</summary>${navigation}</details></nav>
<main id="content">${content}</main>
</div>
</html>
`.text;
}
