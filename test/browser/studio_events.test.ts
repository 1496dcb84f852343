/** The events of a project in a browser: when they are, which overlap, and new ones. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { assertAccessible, assertFits, openStudioWorld, type StudioWorld } from "./_studio.ts";

describe("the events of a project in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  it("makes one by the clock of the project, clones it, and marks what overlaps", async () => {
    await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes: { services: { show: { timeZone: "Asia/Tokyo" } } },
    });
    const { page, faults } = await world.open(`#/projects/${ids.project}`);
    for (const [name, from] of [
      ["Final", "An empty event"],
      ["Rerun", "Clone of Final"],
    ] as const) {
      await page.getByRole("button", { name: "New event" }).click();
      await page.getByLabel("Name").fill(name);
      await page.getByLabel("Start from").selectOption({ label: from });
      await page.getByLabel("Begins (Asia/Tokyo)").fill("2100-01-02T09:00");
      await page.getByLabel("Begins again after its end").check();
      await page.getByLabel("Minutes until it begins again").fill(name === "Final" ? "15" : "30");
      await assertAccessible(page);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await page.getByRole("link", { name: "Club app" }).click();
      await page.locator("a.card", { hasText: name }).first().waitFor();
    }
    const { data } = (await world.author("GET", `/projects/${ids.project}/events`)).json;
    const begin = Date.UTC(2100, 0, 2) / 1_000;
    const timesByName = data
      .slice(0, 2)
      .map(({ attributes }: { attributes: Record<string, unknown> }) => [
        attributes.name,
        [attributes.start_at, attributes.repeat, attributes.repeat_in],
      ]);
    assert.deepEqual(Object.fromEntries(timesByName), {
      Final: [begin, true, 15],
      Rerun: [begin, true, 30],
    });
    await page.locator("a.card", { hasText: "Final" }).getByText("Overlaps Rerun").waitFor();

    // Pages of one event stand for a project with many.
    await page.route(/sort=-start_time/, route =>
      route.continue({ url: route.request().url().replace("page%5Bcount%5D=100", "page%5Bcount%5D=1") }),
    );
    await page.reload();
    await page.getByRole("button", { name: "New event" }).click();
    const options = page.getByRole("dialog").getByRole("option", { name: /^Clone of / });
    await options.first().waitFor({ state: "attached" });
    assert.equal(await options.count(), 1);
    await page.getByRole("dialog").getByRole("button", { name: "Show older events" }).click();
    await options.nth(1).waitFor({ state: "attached" });
    await page.keyboard.press("Escape");

    await page.goto(`${world.url}/studio#/projects/${ids.project}/week`);
    await page.locator(".week [aria-current]").getByText("today").waitFor();
    await page.goto(`${world.url}/studio#/projects/${ids.project}/week/2099-12-27`);
    await page.getByRole("link", { name: "Week after" }).press("Enter");
    const saturday = page.locator(".week > li").filter({ hasText: /Jan 2|2 Jan/ });
    await saturday.getByRole("link", { name: /^Final.*9:00.*Overlaps Rerun/ }).waitFor();
    assert.equal(await page.locator(".week > li").count(), 7);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });
});
