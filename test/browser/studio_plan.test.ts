/** A producer plans an event by the keyboard: the table of its elements, what they lack, and their order. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { question } from "./_show.ts";
import { assertAccessible, assertFits, openStudioWorld, type StudioWorld } from "./_studio.ts";

type Attributes = Readonly<Record<string, unknown>>;

describe("the plan of an event in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
    const space = { data: { type: "spaces", id: ids.space } };
    const spec = `${world.url.replace(/:\d+$/, ":8787")}/apps/catalogue/1.0.0/spec.json`;
    const app = await world.author("POST", "/apps", {
      type: "apps",
      attributes: { spec_url: spec },
      relationships: { space },
    });
    const used = { type: "apps", id: app.json.data.id };
    await world.author("PATCH", `/projects/${ids.project}/relationships/app`, used);
    await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes: { locales: ["en", "de"] },
    });
  });
  after(() => world.dispose());

  const to = (type: string, id: string) => ({ data: { type, id } });
  const asked = question("Who wins?", "Home", "Away");
  /** Makes a running event with elements, each of which may name the wrapper that shows it. */
  async function openEvent(
    elements: readonly (Attributes & { readonly name: string; readonly inside?: string })[],
    name = "Final",
  ): Promise<string> {
    const { json } = await world.author("POST", "/events", {
      type: "events",
      attributes: { name, action: "start" },
      relationships: { project: to("projects", ids.project) },
    });
    const event = to("events", json.data.id);
    const made = new Map<string, string>();
    for (const { inside, ...attributes } of elements) {
      const parent = inside === undefined ? {} : { parent: to("elements", made.get(inside) ?? "") };
      const { json: created, text } = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type: "poll", ...attributes },
        relationships: { event, ...parent },
      });
      assert.ok(created.data, text);
      made.set(attributes.name, created.data.id);
    }
    return json.data.id;
  }
  const row = (page: Page, name: string) => page.locator(".elements [data-id]").filter({ hasText: name });
  const namesOf = async (event: string): Promise<string[]> => {
    const { json } = await world.author("GET", `/events/${event}/elements?sort=position`);
    return json.data.map(({ attributes }: { attributes: { name: string } }) => attributes.name);
  };

  it("shows elements with what they lack, moves them by keys and by drag, and opens the editor", async () => {
    const two = { name: "Two", question: { options: asked.question.options } };
    const event = await openEvent([
      { name: "One", action: "publish", ...asked },
      two,
      { ...two, name: "Three" },
    ]);
    const { page, faults } = await world.open(`#/events/${event}`);
    await page.getByRole("link", { name: "Plan", exact: true }).press("Enter");
    await row(page, "Two").getByText("Not yet: 1").waitFor();
    await row(page, "One").getByText("Live").waitFor();
    await row(page, "Two").focus();
    await page.keyboard.press("Alt+ArrowDown");
    await until("Two is the last one", async () => (await namesOf(event)).join() === "One,Three,Two");
    await page.keyboard.press("Control+z");
    await page.locator(".elements tbody tr").nth(1).filter({ hasText: "Two" }).waitFor();
    assert.deepEqual(await namesOf(event), ["One", "Two", "Three"]);
    await row(page, "Three").dragTo(row(page, "Two"));
    await until("Three was dragged", async () => (await namesOf(event)).join() === "One,Three,Two");
    await page.getByText("Ready? 2 of 2 cannot be published yet").press("Enter");
    await page.locator(".lacks").getByText("Expected the field question").first().waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.setViewportSize({ width: 1_200, height: 900 });
    await row(page, "Two").focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Question").fill("Who is second?");
    await page.keyboard.press("Escape");
    await row(page, "Two").getByText("Ready").waitFor();
    assert.equal(await page.getByRole("complementary", { name: "Editor" }).count(), 0);
    assert.deepEqual(faults, []);
  });
});
