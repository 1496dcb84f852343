/** The form of the fans' page in the studio: every field, what is refused, and what others changed. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { createShow } from "../../lib/pages/show/mod.ts";
import { buildShow } from "../../runtime/services/pages.ts";
import { AppServer, elements, spec } from "../http/_apps.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { assertAccessible, assertFits, openStudioWorld, press, type StudioWorld } from "./_studio.ts";

describe("the page for fans in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    const files = await buildShow();
    world = await openStudioWorld({ show: createShow({ files: async () => files }) });
  });
  after(() => world.dispose());

  async function store(show: object): Promise<void> {
    const attributes = { name: "Club app", services: { show } };
    const data = { type: "projects", id: ids.project, attributes };
    assert.equal((await world.author("PATCH", `/projects/${ids.project}`, data)).status, 204);
  }

  const stored = async () => (await world.author("GET", `/projects/${ids.project}`)).json.data.attributes;
  it("shares the project's page, says where browsers show it, and lets an admin add an origin", async () => {
    await store({ font: "serif" });
    const { page, faults } = await world.open(`#/projects/${ids.project}/people`);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share the show" });
    const shown = world.url.replace(/:\d+$/, ":8787");
    const address = `${shown}/show?project=${ids.project}`;
    assert.equal(await dialog.getByLabel("Page for fans", { exact: true }).inputValue(), address);
    const snippet = await dialog
      .getByLabel("Embed in your page (grows with its content)", { exact: true })
      .inputValue();
    assert.match(
      snippet,
      new RegExp(
        `^<script type="module" src="${shown}/show/embed.js"></script>.*<grandstand-show project="${ids.project}">`,
        "s",
      ),
    );
    await dialog.getByText("Until you add the origin of your page, browsers refuse").waitFor();
    const field = dialog.getByLabel("Address of your page");
    await field.fill("club");
    await dialog.getByRole("button", { name: "Allow" }).click();
    await dialog.getByText("Enter the address of a page").waitFor();
    await field.fill("https://club.example/shows/final?x=1");
    await field.press("Enter");
    await dialog.getByText("Browsers show it in pages of https://club.example, and refuse").waitFor();
    await assertAccessible(page);
    const { show } = (await stored()).services;
    assert.deepEqual([show.embed, show.font], [{ origins: ["https://club.example"] }, "serif"]);
    assert.deepEqual(faults, []);
  });

  it("shares the page of an app that has one", async t => {
    const server = new AppServer();
    await server.start();
    t.after(() => server.stop());
    const own = await openStudioWorld({ outbound: createOutbound({ networks: ["127.0.0.1"] }) });
    t.after(() => own.dispose());
    const embed_url = "https://club.example/live";
    const attributes = { spec_url: server.publish("club", { ...spec, embed_url }, elements) };
    const space = { data: { type: "spaces", id: ids.space } };
    const app = await own.author("POST", "/apps", { type: "apps", attributes, relationships: { space } });
    const used = { type: "apps", id: app.json.data.id };
    const { status } = await own.author("PATCH", `/projects/${ids.project}/relationships/app`, used);
    assert.equal(status, 204);
    const { page } = await own.open(`#/events/${ids.event}`);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const address = await page.getByLabel("Page for fans", { exact: true }).inputValue();
    assert.equal(address, `${embed_url}?project=${ids.project}&event=${ids.event}`);
  });

  const open = () => world.open(`#/projects/${ids.project}/page`);

  it("changes name, languages, colours, font, boards in order, sign-in, action and origins, with a preview", async () => {
    await store({ actions: { ask: "question" } });
    const { page, faults } = await open();
    await page.getByLabel("Name of the project").fill("Fan app");
    await page.getByLabel("Accent", { exact: true }).fill("#b3123f");
    await page.getByLabel("A ground of your own").check();
    await page.getByLabel("Text", { exact: true }).fill("#bbbbbb");
    await page.getByText("it needs 4.5:1").waitFor();
    await assertAccessible(page);
    await press(page.getByRole("button", { name: /^Use #\w{6}, the nearest/ }));
    await page.getByText("✓ Text has a contrast of 4.").waitFor();
    await page.getByLabel("Rounded").check();
    await page.getByLabel("All public boards").uncheck();
    await page.getByRole("checkbox", { name: "laps" }).uncheck();
    await press(page.getByRole("button", { name: "Move Goals up" }));
    for (const tag of ["de", "fr", "en"]) await page.getByLabel("Add a language").selectOption(tag);
    await press(page.getByRole("button", { name: "Remove French" }));
    await press(page.getByRole("button", { name: "Move English up" }));
    await page.getByLabel("Under a name").check();
    await page.getByLabel("Action of votes").fill("cheer");
    await page.getByLabel("Origins, one a line").fill("https://club.example");
    const frame = page.frameLocator("iframe");
    const heading = frame.getByRole("heading", { name: "Who wins tonight?" });
    await heading.waitFor();
    await press(page.getByRole("button", { name: "Save for fans" }));
    await page.getByText("The page is live.").waitFor({ state: "attached" });
    const { name, locales, services } = await stored();
    assert.deepEqual([name, locales], ["Fan app", ["en", "de"]]);
    const { colours, ...rest } = services.show;
    assert.deepEqual([colours.accent, colours.ground], ["#b3123f", "#ffffff"]);
    assert.deepEqual(rest, {
      font: "rounded",
      boards: ["overall", "goals", "speed", "exacts"],
      signIn: "name",
      actions: { ask: "question", vote: "cheer" },
      embed: { origins: ["https://club.example"] },
    });
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("shows faults of the server beside their fields, and saves nothing", async () => {
    await store({});
    const { page } = await open();
    await page.getByLabel("Address of the logo").fill("http://club.example/logo.svg");
    await page.getByLabel("Origins, one a line").fill("https://club.example/path");
    await press(page.getByRole("button", { name: "Save for fans" }));
    const group = (name: string) => page.getByRole("group", { name });
    await group("Logo").getByText("Expected an https address").waitFor();
    await group("Pages that may show it").getByText("Expected an origin").waitFor();
    await assertAccessible(page);
    assert.deepEqual((await stored()).services.show, {});
  });

  it("never replaces what others changed, and joins it with mine", async () => {
    await store({ font: "serif" });
    const { page } = await open();
    await page.getByLabel("Under a name").check();
    await store({ font: "rounded" });
    await press(page.getByRole("button", { name: "Save for fans" }));
    assert.match((await page.getByRole("alert").textContent()) ?? "", /show › font.*serif.*rounded/);
    assert.deepEqual((await stored()).services.show, { font: "rounded" });
    await press(page.getByRole("button", { name: "Take their changes over into mine" }));
    await press(page.getByRole("button", { name: "Save for fans" }));
    await page.getByText("The page is live.").waitFor({ state: "attached" });
    assert.deepEqual((await stored()).services.show, { font: "rounded", signIn: "name" });
  });
});
