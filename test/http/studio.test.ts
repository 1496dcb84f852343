/** The page of the studio as it is served: its fields, its files, and who may keep them. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { createStudio } from "../../lib/pages/studio/mod.ts";
import { buildPage } from "../../runtime/services/pages.ts";
import { firstLoadBytes, partBytes } from "../support/embed_size.ts";
import { testSecret } from "../support/platform.ts";

/** Most bytes of the page with the script and style that it loads first, compressed. */
const gzipBytesMax = 60 * 1_024;

const files = await buildPage();
const platform = await createPlatform({
  store: createMemoryStore(),
  secret: testSecret,
  logger: silentLogger,
  basePath: "/club",
  studio: createStudio({ files: async () => files }),
});

function get(path: string, init: RequestInit = {}): Promise<Response> {
  return platform.fetch(new Request(`http://localhost/club${path}`, init));
}

describe("the page of the studio", () => {
  it("is HTML that runs no inline code, in no frame, and names its files by digest", async () => {
    const response = await get("/studio?project=1");
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    assert.equal(response.headers.get("referrer-policy"), "no-referrer");
    assert.equal(response.headers.get("x-content-type-options"), "nosniff");
    const policy = new Map(
      (response.headers.get("content-security-policy") ?? "").split("; ").map(directive => {
        const [name = "", ...sources] = directive.split(" ");
        return [name, sources.join(" ")];
      }),
    );
    assert.deepEqual(Object.fromEntries(policy), {
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' https: data: http://127.0.0.1:* http://localhost:*",
      "frame-src": "'self'",
      "connect-src": "'self'",
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
      "require-trusted-types-for": "'script'",
      "trusted-types": "'none'",
    });
    const page = await response.text();
    assert.doesNotMatch(page, /<style|\son\w+=|<script(?![^>]* src=)/);
    for (const [, address = ""] of page.matchAll(/(?:src|href)="(studio\/[^"]+)"/g)) {
      const file = await get(`/${address}`);
      assert.equal(file.status, 200, address);
      assert.equal(file.headers.get("cache-control"), "public, max-age=31536000, immutable");
      assert.match(file.headers.get("content-type") ?? "", /^text\/(javascript|css); charset=utf-8$/);
      assert.ok((await file.text()).length > 100);
    }
  });

  it("shows images of this machine only where the platform is there", async () => {
    for (const [publicUrl, isLocal] of [
      ["http://localhost:3000", true],
      ["http://[::1]:3000/club", true],
      ["https://club.example", false],
      ["http://127.0.0.1.club.example", false],
    ] as const) {
      const own = await createPlatform({
        ...{ store: createMemoryStore(), secret: testSecret, logger: silentLogger, publicUrl },
        studio: createStudio({ files: async () => files }),
      });
      const response = await own.fetch(new Request("http://127.0.0.1/studio"));
      const policy = response.headers.get("content-security-policy") ?? "";
      assert.equal(policy.includes("http://127.0.0.1:*"), isLocal, publicUrl);
      await own.close();
    }
  });

  it("is not sent again to who has it, and HEAD has its length", async () => {
    for (const path of ["/studio", `/studio/${files[0]?.name}`]) {
      const [whole, head] = await Promise.all([get(path), get(path, { method: "HEAD" })]);
      const etag = whole.headers.get("etag") ?? "";
      const again = await get(path, { headers: { "if-none-match": etag } });
      assert.deepEqual([again.status, again.headers.get("etag"), await again.text()], [304, etag, ""]);
      const { length } = new TextEncoder().encode(await whole.text());
      assert.deepEqual(
        [head.status, head.headers.get("etag"), head.headers.get("content-length"), await head.text()],
        [200, etag, String(length), ""],
      );
    }
  });

  it("is compressed for clients that take that, and answers 304 to them, too", async () => {
    for (const path of ["/studio", `/studio/${files[0]?.name}`]) {
      const plain = await get(path);
      for (const refused of ["br", "gzip;q=0", "xgzip"])
        assert.equal(
          (await get(path, { headers: { "accept-encoding": refused } })).headers.get("content-encoding"),
          null,
        );
      const headers = { "accept-encoding": "br;q=1, gzip;q=0.8" };
      const small = await get(path, { headers });
      assert.equal(small.headers.get("content-encoding"), "gzip");
      assert.match(small.headers.get("vary") ?? "", /accept-encoding/);
      const bytes = new Uint8Array(await small.arrayBuffer());
      assert.equal(small.headers.get("content-length"), String(bytes.length));
      assert.equal(gunzipSync(bytes).toString(), await plain.text());
      const tag = small.headers.get("etag") ?? "";
      assert.equal((await get(path, { headers: { ...headers, "if-none-match": tag } })).status, 304);
      const head = await get(path, { method: "HEAD", headers });
      assert.deepEqual(
        [head.headers.get("content-length"), head.headers.get("etag"), await head.text()],
        [String(bytes.length), tag, ""],
      );
    }
  });

  it("has no other files", async () => {
    for (const path of ["/studio/main.ts", "/studio//", "/studio/..%2fmain.ts", "/studio/__proto__"]) {
      assert.equal((await get(path)).status, 404, path);
    }
  });

  it("builds no HTML from strings and runs none", () => {
    const folder = new URL("../../lib/pages/studio/page/", import.meta.url);
    const names = readdirSync(folder, { encoding: "utf8", recursive: true }).filter(name =>
      /\.tsx?$/.test(name),
    );
    assert.ok(names.length > 10);
    assert.doesNotMatch(
      names.map(name => readFileSync(new URL(name, folder), "utf8")).join("\n"),
      /\binnerHTML|dangerouslySet|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/,
    );
  });

  it(`loads at most ${gzipBytesMax} bytes first, compressed`, () => {
    const bytes = firstLoadBytes(files);
    assert.ok(bytes > 1_000 && bytes <= gzipBytesMax, String(bytes));
  });

  it("loads few bytes for each part, compressed", () => {
    for (const [most, ...names] of [
      [50, "run"],
      [13, "analytics"],
      [50, "loyalty", "engine"],
      [17, "people"],
    ] as const) {
      const bytes = partBytes(files, names);
      assert.ok(bytes > 1_000 && bytes <= most * 1_024, `${names}: ${bytes}`);
    }
  });

  it("is served by a platform with the option alone, and says where its files are missing", async () => {
    const options = { store: createMemoryStore(), secret: testSecret, logger: silentLogger };
    const plain = await createPlatform(options);
    assert.equal((await plain.fetch(new Request("http://localhost/studio"))).status, 404);
    const unbuilt = await createPlatform({ ...options, studio: createStudio() });
    const response = await unbuilt.fetch(new Request("http://localhost/studio"));
    assert.equal(response.status, 404);
    assert.match(await response.text(), /its page is not built/);
  });
});
