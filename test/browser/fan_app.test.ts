/** The fan's app of the examples in a browser, against the demo: it registers, acts, and sees its rank move. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createFanClient, loyalty } from "../../lib/client/mod.ts";
import { createPlatform, type Platform, seedDemo, silentLogger } from "../../lib/mod.ts";
import { serve } from "../../runtime/node.ts";
import { textOf } from "../repo/files.ts";
import { browserAvailable } from "../support/browser.ts";
import { holdClock, openContext } from "./_studio.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("the fan's app in a browser", { skip: browserAvailable() }, () => {
  let platform: Platform;
  let servers: Awaited<ReturnType<typeof serve>>[];
  let projectId: string;

  before(async () => {
    const store = createMemoryStore();
    const ids = await seedDemo({ store, random: systemRandom, clock: Date.now });
    projectId = ids.projectId;
    const secret = new MasterSecret("a master secret for tests, long enough to be accepted");
    platform = await createPlatform({ store, secret, defaultSpaceId: ids.spaceId, logger: silentLogger });
    const entryPoints = ["lib/client/mod.ts"];
    const { outputFiles } = await build({
      absWorkingDir: root,
      entryPoints,
      bundle: true,
      format: "esm",
      write: false,
    });
    const files: Readonly<Record<string, readonly [type: string, text: string]>> = {
      "/": ["text/html", textOf("test/runtime/examples/fan_app.html")],
      "/client.js": ["text/javascript", outputFiles[0]?.text ?? ""],
    };
    // The app is served from another origin than the platform, as most apps are.
    servers = await Promise.all([
      serve(platform.fetch, { port: 0, graceMsMax: 0 }),
      serve(
        async request => {
          const [type, text] = files[new URL(request.url).pathname] ?? ["text/plain", ""];
          // A sandboxed frame has no origin, so even its own script comes from another one.
          return new Response(text, {
            headers: { "content-type": type, "access-control-allow-origin": "*" },
          });
        },
        { port: 0, graceMsMax: 0 },
      ),
    ]);
  });
  after(async () => {
    for (const server of servers) await server.stop();
    await platform.close();
  });

  it("registers, acts, sees its rank move, is kept over a reload, and leaves in all tabs", async () => {
    const [url = "", app = ""] = servers.map(server => server.url);
    const rival = createFanClient({ url, projectId, areas: { loyalty } });
    await rival.session.register({ provider: "noLogin", username: "<b>Kim</b>" });
    for (let time = 0; time < 3; time++) await rival.loyalty.reportAction({ body: { action: "share" } });
    const context = await openContext();
    const page = await context.newPage();
    const faults: unknown[] = [];
    page.on("pageerror", error => faults.push(error));
    await page.goto(`${app}/?url=${encodeURIComponent(url)}&project=${projectId}`);
    await page.getByLabel("Your name").fill("Sam");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("button", { name: "Share the match" }).click();
    const rank = page.locator("#rank");
    const rows = page.locator("#board li");
    await rows.nth(1).waitFor();
    await rank.getByText("2").waitFor();
    assert.deepEqual(await rows.allTextContents(), ["<b>Kim</b>: 3", "Sam: 1"]);
    await page.getByRole("button", { name: "Predict three matches" }).click();
    await rank.getByText("1").waitFor();
    assert.deepEqual(await rows.allTextContents(), ["Sam: 6", "<b>Kim</b>: 3"]);
    assert.equal(await page.locator("#points").textContent(), "6");
    await page.reload();
    await rank.getByText("1").waitFor();
    assert.equal(await page.getByLabel("Your name").isVisible(), false);
    const board = `${url}/projects/${projectId}/leaderboards/overall`;
    const goOn = (address: string) =>
      fetch(address, { headers: { "last-event-id": "7" } }).then(({ ok }) => ok);
    assert.ok(await page.evaluate(goOn, board), "a live board can go on across origins");
    const tab = await context.newPage();
    await tab.goto(page.url());
    await tab.getByRole("button", { name: "Log out" }).click();
    // The first tab follows the second.
    await page.getByLabel("Your name").waitFor();
    await page.getByLabel("Your name").fill("Pat");
    await page.getByRole("button", { name: "Join" }).click();
    await tab.getByRole("button", { name: "Share the match" }).click();
    await tab.getByText("Pat: 1").waitFor();
    assert.equal(await page.getByRole("alert").textContent(), "");
    assert.deepEqual(faults, []);
  });

  it("keeps its session in memory in a sandboxed frame, which has neither storage nor locks", async () => {
    const [url = "", app = ""] = servers.map(server => server.url);
    const page = await (await openContext()).newPage();
    const faults: unknown[] = [];
    page.on("pageerror", error => faults.push(error));
    const address = `${app}/?url=${encodeURIComponent(url)}&project=${projectId}`;
    await page.setContent(`<iframe sandbox="allow-scripts allow-forms" src="${address}"></iframe>`);
    const frame = page.frameLocator("iframe");
    await frame.getByLabel("Your name").fill("Alex");
    await frame.getByRole("button", { name: "Join" }).click();
    await frame.getByRole("button", { name: "Share the match" }).click();
    await frame.getByText("Alex: 1").waitFor();
    assert.equal(await frame.getByRole("alert").textContent(), "");
    await frame.getByRole("button", { name: "Log out" }).click();
    await frame.getByLabel("Your name").waitFor();
    assert.deepEqual(faults, []);
  });

  it("lets go of the stream while nobody sees the page, and shows the board when somebody does", async () => {
    const [url = "", app = ""] = servers.map(server => server.url);
    const page = await (await openContext()).newPage();
    const turn = (isHidden: boolean): Promise<void> =>
      page.evaluate(value => {
        Object.defineProperty(document, "hidden", { configurable: true, value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await page.goto(`${app}/?url=${encodeURIComponent(url)}&project=${projectId}`);
    await page.locator("#board li").first().waitFor({ state: "attached" });
    const left = page.waitForEvent("requestfailed");
    await turn(true);
    await left;
    const rival = createFanClient({ url, projectId, areas: { loyalty } });
    await rival.session.register({ provider: "noLogin", username: "Toni" });
    await rival.loyalty.reportAction({ body: { action: "share" } });
    await turn(false);
    await page.getByText("Toni: 1").waitFor({ state: "attached" });
  });

  it("shows the board again as soon as the device is online", async t => {
    const serveApi = (port: number) => serve(platform.fetch, { port, graceMsMax: 0 });
    let api = await serveApi(0);
    t.after(() => api.stop());
    const { url } = api;
    const app = servers[1]?.url;
    const context = await openContext();
    const page = await context.newPage();
    await page.clock.install();
    await page.goto(`${app}/?url=${encodeURIComponent(url)}&project=${projectId}`);
    await page.locator("#board li").first().waitFor({ state: "attached" });
    // From here on no timer of the page ends.
    await holdClock(page);
    await context.setOffline(true);
    const lost = page.waitForEvent("requestfailed");
    await api.stop();
    await lost;
    api = await serveApi(Number(new URL(url).port));
    const rival = createFanClient({ url, projectId, areas: { loyalty } });
    await rival.session.register({ provider: "noLogin", username: "Robin" });
    await rival.loyalty.reportAction({ body: { action: "share" } });
    await context.setOffline(false);
    await page.getByText("Robin: 1").waitFor({ state: "attached" });
  });
});
