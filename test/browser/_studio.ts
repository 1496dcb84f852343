/** The studio of a test platform, behind a real server, and pages of one browser that the files of this folder share. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, afterEach, beforeEach } from "node:test";
import type { Browser, BrowserContext, BrowserContextOptions, Locator, Page } from "playwright-core";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Seed } from "../../lib/fans/directory/mod.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { createStudio } from "../../lib/pages/studio/mod.ts";
import { serve } from "../../runtime/node.ts";
import { buildPage } from "../../runtime/services/pages.ts";
import { launchBrowser } from "../support/browser.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import type { OpenStore } from "../support/stores.ts";
import { createManualTimer, type ManualTimer } from "../support/timer.ts";

type Mail = Parameters<NonNullable<PlatformOptions["mailer"]>["send"]>[0];

let launched: Promise<Browser> | undefined;
let built: ReturnType<typeof buildPage> | undefined;
after(async () => (await launched)?.close());
/** Longest wait for what a page shows, in ms. */
const shownMsMax = 60_000;

/** Contexts that the running test has opened. Those of a suite stay until its world ends. */
let own: BrowserContext[] = [];
beforeEach(() => {
  own = [];
});
// A page that stays open goes on to read and to paint.
afterEach(async () => {
  for (const context of own) await context.close();
});

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page, and what went wrong on it. */
export interface OpenedPage {
  readonly page: Page;
  /** Reports of the policy, errors of scripts, and errors on the console but those of refused requests. */
  readonly faults: readonly string[];
}

/** A studio under test. */
export interface StudioWorld extends TestPlatform {
  readonly url: string;
  readonly mails: readonly Mail[];
  readonly time: ManualTimer;
  /** An operator's token. */
  readonly token: string;
  /** Calls the control API as the operator. */
  author(method: string, path: string, data?: object): Promise<Answer>;
  /** Opens a place, signed in with the token unless it is null. The clock of the page runs, and can be moved on. */
  open(
    place: string,
    options?: BrowserContextOptions & { readonly token?: string | null },
  ): Promise<OpenedPage>;
}

/** Opens a platform with the studio. */
export async function openStudioWorld({
  openStore = async clock => createMemoryStore({ clock }),
  ...options
}: Partial<PlatformOptions> & {
  readonly seed?: Seed;
  readonly openStore?: OpenStore;
} = {}): Promise<StudioWorld> {
  built ??= buildPage();
  const files = await built;
  const mails: Mail[] = [];
  const time = createManualTimer();
  const world = await openPlatform(openStore, {
    studio: createStudio({ files: async () => files }),
    mailer: { send: async mail => void mails.push(mail) },
    timer: time.timer,
    ...options,
  });
  const server = await serve(world.platform.fetch, { port: 0 });
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate("sam@club.example", { name: "Sam", operator: true });
  const { token } = await authors.createToken({ userId, name: "Tests" });
  const mediaType = { "content-type": "application/vnd.api+json" };
  return {
    ...world,
    url: server.url,
    mails,
    time,
    token,
    author: (method, path, data) =>
      world.call(`/api/v2${path}`, { method, token, headers: mediaType, ...(data && { body: { data } }) }),
    open: (place, { token: signedIn = token, ...contextOptions } = {}) =>
      openPage(server.url, { path: `/studio${place}`, token: signedIn, ...contextOptions }),
    async dispose() {
      for (const context of (await launched)?.contexts() ?? []) await context.close();
      await server.stop();
      await world.dispose();
    },
  };
}

/** Opens a context of the browser of this process. It is closed when the test ends. */
export async function openContext(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  launched ??= launchBrowser();
  const context = await (await launched).newContext(options);
  context.setDefaultTimeout(shownMsMax);
  own.push(context);
  return context;
}

/** Lets the clock of a page stand, so that nothing happens by time on a slow machine before the test says so. */
export async function holdClock(page: Page): Promise<void> {
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 5_000));
}

/** Opens a page of a server, with a producer's token unless it is null. */
export async function openPage(
  url: string,
  {
    path,
    token = null,
    ...options
  }: BrowserContextOptions & { readonly path: string; readonly token?: string | null },
): Promise<OpenedPage> {
  // Without motion a place is where it will be, and nothing is drawn for ever.
  const calm = { viewport: { width: 1_200, height: 900 }, reducedMotion: "reduce" } as const;
  const context = await openContext({ ...calm, ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("pageerror", error => faults.push(String(error)));
  page.on("console", message => {
    const isRefusal = /Failed to load resource/.test(message.text());
    if (message.type() === "error" && !isRefusal) faults.push(message.text());
  });
  await page.clock.install({ time: 1_750_000_000_000 });
  if (token !== null) {
    const entry = [`token of ${url}`, token] as const;
    // A sandboxed frame has no storage.
    await page.addInitScript(([key, value]) => {
      if (self.origin !== "null") sessionStorage.setItem(key, value);
    }, entry);
  }
  await page.goto(`${url}${path}`);
  return { page, faults };
}

/** Asserts that axe finds nothing, in the light and in the dark, where colours alone are other ones. */
export async function assertAccessible(page: Page): Promise<void> {
  // Reading it takes as long as a run of it.
  if (!(await page.evaluate("self.axe !== undefined"))) await page.evaluate(axe);
  for (const [colorScheme, options] of [
    ["light", {}],
    ["dark", { runOnly: ["color-contrast"] }],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const settings = JSON.stringify({ ...options, resultTypes: ["violations"] });
    const violations = await page.evaluate(`(async () => {
      const { violations } = await self.axe.run(${settings});
      return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
    })()`);
    assert.deepEqual(violations, [], colorScheme);
  }
}

/** Presses Enter on a button once it can be pressed, which `Locator.press` does not wait for. */
export async function press(button: Locator): Promise<void> {
  await button.and(button.page().locator(':not([aria-disabled="true"])')).press("Enter");
}

/** Asserts that the page is as narrow as its window. */
export async function assertFits(page: Page): Promise<void> {
  const [needed, has] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.equal(needed, has);
}

/** Lets the project use the catalogue, which has a content type of every kind. */
export async function useCatalogue(world: StudioWorld): Promise<void> {
  const app = await world.author("POST", "/apps", {
    type: "apps",
    attributes: { spec_url: `${world.url.replace(/:\d+$/, ":8787")}/apps/catalogue/1.0.0/spec.json` },
    relationships: { space: { data: { type: "spaces", id: ids.space } } },
  });
  assert.equal(app.status, 201, app.text);
  const used = { type: "apps", id: app.json.data.id };
  await world.author("PATCH", `/projects/${ids.project}/relationships/app`, used);
}

/** A show: a running event of the project with polls of two options, of which the first is published. */
export async function openShow(
  world: StudioWorld,
  names: readonly string[],
): Promise<{ event: string; elements: string[] }> {
  const to = (type: string, id: string) => ({ data: { type, id } });
  const field = (key: string, text: string) => ({ key, values: { all: text } });
  const project = to("projects", ids.project);
  const created = await world.author("POST", "/events", {
    type: "events",
    attributes: { name: "Final", action: "start" },
    relationships: { project },
  });
  const event: string = created.json.data.id;
  const elements: string[] = [];
  for (const name of names) {
    const options = ["Home", "Away"].map(text => ({ fields: [field("text", text)] }));
    const isFirst = elements.length === 0;
    const { json } = await world.author("POST", "/elements", {
      type: "elements",
      attributes: {
        content_type: "poll",
        name,
        question: { options },
        ...(isFirst && { action: "publish" }),
      },
      relationships: { event: to("events", event) },
    });
    elements.push(json.data.id);
  }
  return { event, elements };
}
