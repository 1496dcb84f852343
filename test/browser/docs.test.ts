/** The documentation in Chromium: on a phone, by keyboard, and without requests to elsewhere. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { createDocs } from "../../lib/pages/docs/mod.ts";
import { serve } from "../../runtime/node.ts";
import { buildDocs } from "../../runtime/services/pages.ts";
import { browserAvailable } from "../support/browser.ts";
import { testSecret } from "../support/platform.ts";
import { openContext } from "./_studio.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** In the dark colours alone are other ones. */
const rules = {
  light: { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] },
  dark: { runOnly: ["color-contrast"], resultTypes: ["violations"] },
};

describe("the documentation in a browser", { skip: browserAvailable() }, () => {
  let platform: Platform;
  let server: Awaited<ReturnType<typeof serve>>;
  before(async () => {
    const content = await buildDocs();
    const docs = createDocs({ content: async () => content });
    platform = await createPlatform({
      store: createMemoryStore(),
      secret: testSecret,
      logger: silentLogger,
      docs,
    });
    server = await serve(platform.fetch, { port: 0 });
  });
  after(async () => {
    await server?.stop();
    await platform?.close();
  });

  it("fits a phone, is accessible in both themes, and leads from the root to an operation by search", async () => {
    const context = await openContext({ viewport: { width: 375, height: 740 } });
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("console", message => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", error => faults.push(String(error)));
    page.on("request", request => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith("data:"))
        faults.push(request.url());
    });
    await page.goto(`${server.url}/`);
    await page.getByRole("link", { name: "Documentation" }).click();
    for (const path of ["/docs", "/docs/guides/run", "/docs/api/loyalty"]) {
      await page.goto(server.url + path);
      const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.equal(content, screen, `${path} scrolls sideways`);
      // The policy of the page keeps scripts of others out, also this one: the protocol of the browser runs it.
      const session = await context.newCDPSession(page);
      await session.send("Runtime.evaluate", { expression: axe });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        const found: { id: string; nodes: number }[] = await page.evaluate(async options => {
          const { axe: tool } = globalThis as unknown as {
            axe: {
              run(root: unknown, o: unknown): Promise<{ violations: { id: string; nodes: unknown[] }[] }>;
            };
          };
          const { violations } = await tool.run(document, options);
          return violations.map(({ id, nodes }) => ({ id, nodes: nodes.length }));
        }, rules[colorScheme]);
        assert.deepEqual(found, [], `${path}, ${colorScheme}`);
      }
    }
    await page.keyboard.press("/");
    await page.keyboard.type("redeem prod");
    await page.getByRole("link", { name: "Redeem a product" }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/api\/audience#/);
    await page.getByRole("heading", { name: "Redeem a product" }).first().waitFor();
    await page.getByRole("searchbox").fill("gdpr delete account");
    await page.getByRole("link", { name: "Delete an account" }).waitFor();
    assert.deepEqual(faults, []);
  });

  it("keeps words whole and cells readable, on a phone and on a desktop", async () => {
    for (const width of [390, 1_280]) {
      const context = await openContext({ viewport: { width, height: 800 } });
      const page = await context.newPage();
      for (const path of ["/docs", "/docs/guides/loyalty", "/docs/api/loyalty", "/docs/api/control"]) {
        await page.goto(server.url + path);
        const { content, screen, narrow, broken } = await page.evaluate(readable);
        assert.equal(content, screen, `${path} scrolls sideways at ${width} pixels`);
        assert.deepEqual(narrow, [], `${path} has narrow cells at ${width} pixels`);
        assert.deepEqual(broken, [], `${path} breaks words at ${width} pixels`);
      }
    }
  });

  it("can be read without script", async () => {
    const context = await openContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${server.url}/docs/guides/loyalty`);
    assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Loyalty");
    assert.equal(await page.getByRole("search").isVisible(), false);
    await page.locator("summary").first().click();
    await page.getByRole("navigation").getByRole("link", { name: "Exports" }).click();
    assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Exports");
  });
});

/** Measures the page: its widths, cells under four ems of width, and short words of tables on two lines. */
function readable(): {
  readonly content: number;
  readonly screen: number;
  readonly narrow: readonly string[];
  readonly broken: readonly string[];
} {
  const broken: string[] = [];
  const narrow: string[] = [];
  for (const cell of document.querySelectorAll("th, td")) {
    if (!cell.checkVisibility()) continue;
    const em = Number.parseFloat(getComputedStyle(cell).fontSize);
    if (cell.getBoundingClientRect().width < 4 * em) narrow.push(cell.textContent);
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      for (const { index, 0: word } of (text.textContent ?? "").matchAll(/[a-z]{2,20}/gi)) {
        const range = document.createRange();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) broken.push(word);
      }
    }
  }
  return { content: document.documentElement.scrollWidth, screen: innerWidth, narrow, broken };
}
