import { AppError } from "../../lib/base/errors/mod.ts";
import { type CreateStudio, createStudio, type PageFile } from "../../lib/pages/studio/mod.ts";
import { pageFiles } from "../../lib/pages/studio/page_files.ts";
import { bundlePage, digestOf } from "./page_bundle.ts";

const icon =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%233b5bdb' d='M1 10h4v5H1zM6 6h4v9H6zM11 1h4v14h-4z'/></svg>";

/** Opens the studio. In a clone the first request builds its page from source. */
export function openStudio(): CreateStudio {
  return pageFiles === null ? createStudio({ files: buildOnRequest }) : createStudio();
}

async function buildOnRequest(): Promise<readonly PageFile[]> {
  try {
    return await buildPage();
  } catch (error) {
    const message = "Cannot show the studio: its page is not built, and esbuild cannot build it from source";
    throw new AppError("not_found", message, { cause: error });
  }
}

/** Builds the page: one script, one style, and the HTML that names both. */
export async function buildPage(): Promise<readonly PageFile[]> {
  const { script, style } = await bundlePage("pages/studio/page", "main");
  const text = pageText(script.name, style.name);
  return [script, style, { name: "", mediaType: "text/html", text, digest: digestOf(text) }];
}

/** Returns the HTML. Addresses are relative, so that the page works under any prefix of the platform. */
function pageText(script: string, style: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Grandstand Studio</title>
<link rel="icon" href="data:image/svg+xml,${icon}">
<link rel="stylesheet" href="studio/${style}">
<script type="module" src="studio/${script}"></script>
<noscript>The studio needs JavaScript.</noscript>
</html>
`;
}
