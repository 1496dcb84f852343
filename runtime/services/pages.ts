/** The contents of the documentation, built from the guides beside the code. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import { AppError } from "../../lib/base/errors/mod.ts";
import { docsContent } from "../../lib/pages/docs/guides.ts";
import { type CreateDocs, createDocs, type DocsContent, type Guide } from "../../lib/pages/docs/mod.ts";
import { html, type PageFile } from "../../lib/pages/shared/mod.ts";
import { type CreateShow, createShow } from "../../lib/pages/show/mod.ts";
import { pageFiles as showFiles } from "../../lib/pages/show/page_files.ts";
import { type CreateStudio, createStudio } from "../../lib/pages/studio/mod.ts";
import { pageFiles } from "../../lib/pages/studio/page_files.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The guides in their order: the name in the address, and the file. */
const guideFiles: Readonly<Record<string, string>> = {
  start: "README.md",
  identity: "lib/fans/identity/README.md",
  loyalty: "lib/fans/loyalty/README.md",
  loyalty_config: "lib/fans/loyalty/config/README.md",
  leaderboards: "lib/fans/leaderboards/README.md",
  audience: "lib/fans/audience/README.md",
  exports: "lib/fans/exports/README.md",
  location: "lib/fans/location/README.md",
  feeds: "lib/authoring/feeds/README.md",
  directory: "lib/fans/directory/README.md",
  control: "lib/authoring/control/README.md",
  workflow: "lib/workflow/README.md",
  conformance: "lib/workflow/conformance/README.md",
  dialogue: "lib/workflow/dialogue/README.md",
  show: "lib/pages/show/README.md",
  studio: "lib/pages/studio/README.md",
  client: "lib/client/README.md",
  testing: "lib/testing/README.md",
  cli: "lib/cli/README.md",
  producers: "lib/cli/PRODUCERS.md",
  pipelines: "lib/cli/PIPELINES.md",
  commands: "lib/cli/REFERENCE.md",
  run: "runtime/README.md",
  capacity: "runtime/CAPACITY.md",
  auth: "lib/auth/README.md",
  http: "lib/http/README.md",
  platform: "lib/platform/README.md",
  express: "lib/platform/hosts/express.md",
  fastify: "lib/platform/hosts/fastify.md",
  hono: "lib/platform/hosts/hono.md",
  next: "lib/platform/hosts/next.md",
  bun: "lib/platform/hosts/bun.md",
  deno: "lib/platform/hosts/deno.md",
  workers: "lib/platform/hosts/workers.md",
  docs: "lib/pages/docs/README.md",
  storage: "lib/storage/README.md",
  expressions: "lib/base/expressions/README.md",
  memory: "adapters/memory/README.md",
  redis: "adapters/redis/README.md",
  postgres: "adapters/postgres/README.md",
  security: ".github/SECURITY.md",
  changelog: ".github/CHANGELOG.md",
};

/** Opens the documentation. In a clone the first request builds its guides from source. */
export function openDocs(): CreateDocs {
  return docsContent === null ? createDocs({ content: buildDocsOnRequest }) : createDocs();
}

async function buildDocsOnRequest(): Promise<DocsContent> {
  try {
    return await buildDocs();
  } catch (error) {
    const message =
      "Cannot show the documentation: its guides are not built, and cannot be built from source";
    throw new AppError("not_found", message, { cause: error });
  }
}

export async function buildDocs(): Promise<DocsContent> {
  const guides = await Promise.all(Object.entries(guideFiles).map(([name, path]) => buildGuide(name, path)));
  return { guides, ...(await bundlePage("pages/docs/page", "search.ts")) };
}

async function buildGuide(name: string, path: string): Promise<Guide> {
  const { Marked, Renderer } = await import("marked");
  const sections: { id: string; title: string; text: string }[] = [];
  const ids = new Set<string>();
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const title = plain(this.parser.parseInline(tokens, this.parser.textRenderer));
        const id = freeId(title, ids);
        sections.push({ id, title, text: "" });
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens);
        const target = addressOf(href, path);
        return target === null ? text : `<a href="${target}">${text}</a>`;
      },
      // The pages have the guides alone, no files beside them.
      image: () => "",
      code({ text }) {
        return `${html`<pre tabindex="0"><code>${text}</code></pre>`.text}\n`;
      },
      table(token) {
        const table = Renderer.prototype.table.call(this, token);
        return `<div class="wide" tabindex="0" role="region" aria-label="Table">${table}</div>\n`;
      },
      html: ({ text }) => html`${text}`.text,
    },
  });
  const source = await readFile(join(root, path), "utf8");
  const tokens = marked.lexer(source);
  const content = marked.parser(tokens);
  const texts: string[] = [];
  for (const { type, raw } of tokens) {
    if (type === "heading") texts.push("");
    else texts.push((texts.pop() ?? "") + raw);
  }
  const title = sections[0]?.title ?? name;
  return {
    name,
    title,
    content,
    sections: sections.map((section, index) => ({ ...section, text: words(texts[index] ?? "") })),
  };
}

/** Returns where a link of a guide leads among the pages; null: nowhere, as it names a file of the source. */
function addressOf(href: string, path: string): string | null {
  if (/^(https?:|mailto:|#)/.test(href)) return href;
  const [file = "", anchor] = href.split("#");
  const target = normalize(join(dirname(path), file)).replace(/\/$/, "");
  const found = Object.entries(guideFiles).find(
    ([, guide]) => guide === target || guide === `${target}/README.md`,
  );
  if (found === undefined) return null;
  return `${found[0]}${anchor === undefined ? "" : `#${anchor}`}`;
}

/** Makes the id of a heading as GitHub does, so that links between guides hold in both places. */
function freeId(title: string, ids: Set<string>): string {
  const base = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");
  let id = base;
  for (let count = 1; ids.has(id); count++) id = `${base}-${count}`;
  ids.add(id);
  return id;
}

function words(markdown: string): string {
  return [...new Set(markdown.match(/[\p{L}\p{N}_.-]{2,40}/gu) ?? [])].join(" ");
}

function plain(text: string): string {
  const characters: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };
  return text
    .replace(/<[^>]*>/g, "")
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => characters[name] ?? "");
}

const icon =
  "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%233b5bdb' d='M1 10h4v5H1zM6 6h4v9H6zM11 1h4v14h-4z'/></svg>";

/** Opens the studio. In a clone the first request builds its page from source. */
export function openStudio(): CreateStudio {
  return pageFiles === null ? createStudio({ files: onRequest("studio", buildPage) }) : createStudio();
}

/** Opens the show. In a clone the first request builds its page from source. */
export function openShow(): CreateShow {
  return showFiles === null ? createShow({ files: onRequest("show", buildShow) }) : createShow();
}

function onRequest(name: string, build: () => Promise<readonly PageFile[]>) {
  return async (): Promise<readonly PageFile[]> => {
    try {
      return await build();
    } catch (error) {
      const message = `Cannot show the ${name}: its page is not built, and esbuild cannot build it from source`;
      throw new AppError("not_found", message, { cause: error });
    }
  };
}

/** Builds the files of the show: its script with the parts that load when they are needed, its style, and the script of other pages. */
export async function buildShow(): Promise<readonly PageFile[]> {
  const folder = "pages/show/page";
  const [files, embed] = await Promise.all([
    bundleFiles(folder, ["main.tsx", "style.css", "screen.css"], { plugins: [textsWithoutKeys] }),
    bundleFiles(folder, ["embed.ts"]),
  ]);
  return [...files, ...embed.map(file => ({ ...file, name: "embed.js" }))];
}

/** Makes lists of the texts of other languages: the script has their keys with the English ones, in the same order. */
const textsWithoutKeys: Plugin = {
  name: "texts",
  setup(build) {
    build.onLoad({ filter: /texts_\w+\.ts$/ }, async ({ path }) => {
      if (path.endsWith("texts_en.ts")) return null;
      const source = await readFile(path, "utf8");
      const list = source.replace(/^ {2}\w+: /gm, "").replace(/ = \{(.*)\};/s, " = [$1];");
      return { contents: list, loader: "ts" };
    });
  },
};

/** Builds the studio: its HTML, which names what is loaded first, and the parts that load when they are needed. */
export async function buildPage(): Promise<readonly PageFile[]> {
  const { formSchemas } = await import("./form_schemas.ts");
  const files = await bundleFiles("pages/studio/page", ["main.tsx", "style.css"], {
    define: { FORM_SCHEMAS: JSON.stringify(formSchemas()) },
  });
  const nameOf = (start: string): string => files.find(({ name }) => name.startsWith(start))?.name ?? "";
  const script = files.find(({ name }) => name === nameOf("main-"))?.text ?? "";
  const imports = [...script.matchAll(/\bfrom"\.\/(chunk-[^"]+)"/g)].map(([, name = ""]) => name);
  const text = pageText({ script: nameOf("main-"), style: nameOf("style-"), imports });
  return [...files, { name: "", mediaType: "text/html", text, digest: digestOf(text) }];
}

interface PageParts {
  readonly script: string;
  readonly style: string;
  readonly imports: readonly string[];
}

/** Returns the HTML. Addresses are relative, so that the page works under any prefix of the platform. */
function pageText({ script, style, imports }: PageParts): string {
  const preloads = imports.map(name => `<link rel="modulepreload" href="studio/${name}">\n`);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Grandstand Studio</title>
<link rel="icon" href="data:image/svg+xml,${icon}">
<link rel="stylesheet" href="studio/${style}">
<script type="module" src="studio/${script}"></script>
${preloads.join("")}<noscript>The studio needs JavaScript.</noscript>
</html>
`;
}

async function bundlePage(
  folder: string,
  entry: string,
): Promise<{ readonly script: PageFile; readonly style: PageFile }> {
  const files = await bundleFiles(folder, [entry, "style.css"]);
  const fileOf = (mediaType: string): PageFile => {
    const file = files.find(each => each.mediaType === mediaType);
    if (file === undefined) throw new Error(`The page of ${folder} has no ${mediaType}`);
    return file;
  };
  return { script: fileOf("text/javascript"), style: fileOf("text/css") };
}

interface BundleOptions {
  /** Constants of the scripts, as JSON. */
  readonly define?: Record<string, string>;
  readonly plugins?: Plugin[];
}

async function bundleFiles(
  folder: string,
  entries: readonly string[],
  options: BundleOptions = {},
): Promise<readonly PageFile[]> {
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL(`../../lib/${folder}`, import.meta.url)),
    entryPoints: [...entries],
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    outdir: "out",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["es2023", "chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    charset: "utf8",
    ...options,
    write: false,
    logLevel: "silent",
  });
  return outputFiles.map(({ path, text }) => ({
    name: basename(path),
    mediaType: path.endsWith(".css") ? "text/css" : "text/javascript",
    text,
    digest: digestOf(text),
  }));
}

/** Returns a digest of a text, 32 digits. */
function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}
