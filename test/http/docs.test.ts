/** The documentation and the root: every link leads somewhere, pages are small, and programs are served too. */

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { json, open, route } from "../../lib/http/mod.ts";
import { createPlatform, type Platform, type PlatformOptions, silentLogger } from "../../lib/mod.ts";
import { createDocs } from "../../lib/pages/docs/mod.ts";
import { createStudio } from "../../lib/pages/studio/mod.ts";
import { buildDocs } from "../../runtime/services/pages.ts";
import { testSecret } from "../support/platform.ts";

/** Largest page, compressed, in bytes. */
const pageBytesMax = 61_440;
const browser = "text/html,application/xhtml+xml,*/*;q=0.8";
const content = buildDocs();

async function opened(options: Partial<PlatformOptions> = {}): Promise<Platform> {
  return await createPlatform({
    ...{ store: createMemoryStore(), secret: testSecret, logger: silentLogger },
    control: createControl,
    docs: createDocs({ content: () => content }),
    ...options,
  });
}

async function get(platform: Platform, path: string, accept = browser): Promise<Response> {
  return await platform.fetch(new Request(`http://localhost${path}`, { headers: { accept } }));
}

describe("the documentation", () => {
  let platform: Platform;
  before(async () => {
    platform = await opened();
  });

  it("has no dead link and no dead anchor, in no page", async () => {
    const pages = new Map<string, string>();
    const waiting = ["/docs"];
    const anchors: [from: string, path: string, anchor: string][] = [];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      if (pages.has(path)) continue;
      const answer = await get(platform, path);
      assert.equal(answer.status, 200, path);
      const page = await answer.text();
      pages.set(path, page);
      if (!answer.headers.get("content-type")?.startsWith("text/html")) continue;
      for (const [, href = ""] of page.matchAll(/<a [^>]*href="([^"]*)"/g)) {
        const url = new URL(href.replaceAll("&amp;", "&"), `http://localhost${path}`);
        if (url.origin !== "http://localhost") continue;
        waiting.push(url.pathname);
        if (url.hash !== "") anchors.push([path, url.pathname, decodeURIComponent(url.hash.slice(1))]);
      }
    }
    assert.ok(pages.size > 40, `${pages.size} pages`);
    for (const [from, path, anchor] of anchors) {
      assert.ok(pages.get(path)?.includes(`id="${anchor}"`), `${from} leads to ${path}#${anchor}`);
    }
  });

  it("describes every operation of the document", async () => {
    const document = await (await get(platform, "/openapi.json", "application/json")).json();
    const index: { href: string }[] = await (await get(platform, "/docs/search")).json();
    const shown = new Set(index.map(({ href }) => href));
    for (const methods of Object.values<Record<string, { operationId: string; tags: string[] }>>(
      document.paths,
    )) {
      for (const { operationId, tags } of Object.values(methods)) {
        assert.ok(shown.has(`api/${tags[0]}#${operationId}`), operationId);
      }
    }
  });

  it("finds guides by their sections", async () => {
    const index: { href: string; text: string }[] = await (await get(platform, "/docs/search")).json();
    const found = index.find(({ href }) => href === "guides/leaderboards#rebuild-a-board");
    assert.match(found?.text ?? "", /\brecomputes\b/);
    // Commands before it have comments, which look like headings.
    const behindComments = index.find(({ href }) => href === "guides/run#containers-and-services");
    assert.match(behindComments?.text ?? "", /\bDockerfile\b/);
  });

  it("sends small pages under a strict policy, and no request to elsewhere", async () => {
    const { guides } = await content;
    const pages = ["/docs", ...guides.map(({ name }) => `/docs/guides/${name}`), "/docs/api/control"];
    for (const path of pages) {
      const answer = await get(platform, path);
      const page = await answer.text();
      const size = gzipSync(page).length;
      assert.ok(size <= pageBytesMax, `${path}: ${size} bytes`);
      assert.match(
        answer.headers.get("content-security-policy") ?? "",
        /^default-src 'none'; script-src 'self'/,
      );
      assert.doesNotMatch(page, /<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?\/\//);
    }
  });

  it("leads from an address with a slash at its end to the page, under any prefix", async () => {
    for (const [path, location] of [
      ["/docs/", "../docs"],
      ["/docs/guides/loyalty/?print=1", "../loyalty?print=1"],
      ["/docs/api/identity/", "../identity"],
    ] as const) {
      const answer = await get(platform, path);
      assert.deepEqual([answer.status, answer.headers.get("location")], [308, location]);
    }
    for (const path of ["/docs//", "/docs/search/", "/openapi.json/", "/docs/guides//"])
      assert.equal((await get(platform, path)).status, 404, path);
  });

  it("escapes what authors of areas write", async () => {
    const routes = [
      route({
        method: "GET",
        path: "/odd",
        operation: "getOdd",
        summary: "Get <script>alert(1)</script>",
        auth: open,
        responses: { 200: { description: "`<b>` & more", schema: v.object({}) } },
        handle: () => json(200, {}),
      }),
    ];
    const own = await opened({ areas: [{ name: "odd", family: "problem", routes }] });
    const page = await (await get(own, "/docs/api/odd")).text();
    assert.match(page, /&#60;script&#62;alert\(1\)/);
    assert.doesNotMatch(page, /<script>alert|<b>/);
  });

  it("leads people back from a page that is not there, and tells programs in JSON", async () => {
    for (const [path, up] of [
      ["/docs/none", "../"],
      ["/docs/guides/none", "../../"],
      ["/docs/api/none", "../../"],
      ["/docs/files/none.js", "../../"],
      ["/docs/guides/run/more/", "../../../../"],
    ] as const) {
      const answer = await get(platform, path);
      assert.equal(answer.status, 404, path);
      assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(answer.headers.get("cache-control"), "no-store");
      const page = await answer.text();
      assert.match(page, /<h1>Not found<\/h1>/);
      const [, style = ""] = /href="([^"]*)files\/[^"]*\.css"/.exec(page) ?? [];
      assert.equal(new URL(`${style}../docs`, `http://x${path}`).pathname, "/docs", path);
      assert.ok(page.includes(`<a href="${up}docs">all guides`), path);
      const program = await get(platform, path, "application/json");
      assert.equal(program.status, 404, path);
      assert.equal((await program.json()).code, "not_found");
    }
    assert.equal((await get(platform, "/none")).headers.get("content-type"), "application/problem+json");
  });

  it("knows no other pages", async () => {
    for (const path of [
      "/docs/guides/none",
      "/docs/api/none",
      "/docs/files/none.js",
      "/docs/guides/constructor",
    ]) {
      assert.equal((await get(platform, path)).status, 404, path);
    }
    const without = await opened({ docs: undefined } as unknown as Partial<PlatformOptions>);
    assert.equal((await get(without, "/docs")).status, 404);
  });
});

describe("the root", () => {
  it("answers browsers with links, and programs with JSON, to what is served", async () => {
    const platform = await opened({ studio: createStudio(), basePath: "/club" });
    const page = await get(platform, "/club");
    assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(page.headers.get("vary")?.toLowerCase().includes("accept"), true);
    const text = await page.text();
    for (const path of ["/club/docs", "/club/studio", "/club/healthz"])
      assert.ok(text.includes(`href="${path}"`));
    for (const accept of ["*/*", "application/json", "application/json, text/html", "text/html;q=0, */*"]) {
      const answer = await get(platform, "/club", accept);
      const { name, links } = await answer.json();
      assert.equal(name, "Grandstand");
      assert.deepEqual(Object.keys(links), ["documentation", "studio", "openapi", "health", "readiness"]);
      assert.equal(links.documentation, "/club/docs");
    }
    assert.equal((await get(platform, "/club/")).headers.get("location"), "../club");
    assert.equal((await get(platform, "/club/studio/?event=1")).headers.get("location"), "../studio?event=1");
    const mounted = await opened({ publicUrl: "https://club.example/fans" });
    assert.equal((await (await get(mounted, "/", "*/*")).json()).links.documentation, "/fans/docs");
    const bare = await createPlatform({
      store: createMemoryStore(),
      secret: testSecret,
      logger: silentLogger,
    });
    const { links } = await (await get(bare, "/", "*/*")).json();
    assert.deepEqual(Object.keys(links), ["openapi", "health", "readiness"]);
    assert.equal((await bare.fetch(new Request("http://localhost/", { method: "HEAD" }))).status, 200);
    assert.equal((await bare.fetch(new Request("http://localhost/", { method: "POST" }))).status, 405);
  });

  it("gives way to a route or an area of an embedder", async () => {
    const platform = await opened();
    platform.router.get("/", () => new Response("our own"));
    assert.equal(await (await get(platform, "/")).text(), "our own");
    const handle = () => json(200, { own: true });
    const responses = { 200: { description: "Ours", schema: v.object({ own: v.boolean() }) } };
    const root = route({
      method: "GET",
      path: "/",
      operation: "ours",
      summary: "Ours",
      auth: open,
      responses,
      handle,
    });
    const area = await opened({ areas: [{ name: "own", family: "problem", routes: [root] }] });
    assert.deepEqual(await (await get(area, "/")).json(), { own: true });
  });
});
