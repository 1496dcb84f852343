/** The studio on a telephone of 360 px: every view fits, and what is pressed is large enough. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { openShowWorld, picture, question, type ShowWorld } from "./_show.ts";
import { assertFits, useCatalogue } from "./_studio.ts";

const viewport = { width: 360, height: 740 };
const long = "Donaudampfschifffahrtsgesellschaftskapitän";

/** Names what can be pressed and is under 24 px wide or high, or reaches beyond the page. */
function misfits(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const pressed = "a[href], button, input, select, textarea, summary";
    return [...document.querySelectorAll<HTMLElement>(pressed)].flatMap(each => {
      if (!each.checkVisibility({ visibilityProperty: true })) return [];
      const { width, height, left, right } = (each.closest("label") ?? each).getBoundingClientRect();
      // A link in a sentence is as high as its line.
      const isText = getComputedStyle(each).display === "inline" && each.matches("a");
      const isSmall = !isText && Math.min(width, height) < 24;
      // Tabs scroll, and the current one is always shown.
      const isOut = (left < 0 || right > innerWidth) && !each.matches(".tabs a:not([aria-current])");
      return isSmall || isOut ? [`${each.outerHTML.slice(0, 80)}: ${width} x ${height} at ${left}`] : [];
    });
  });
}

describe("the studio on a telephone", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
    await useCatalogue(world);
    await world.publish("poll", question(`${long}?`, long, "Away"));
    for (const name of ["Next", long]) await world.publish("quiz", { name, action: undefined });
  });
  after(() => world.dispose());

  /** Opens each view that a place has a tab for. */
  async function assertAllFit(place: string): Promise<void> {
    const { page, faults } = await world.open(`#${place}`, { viewport });
    const tabs = page.locator(".tabs a");
    await tabs.first().waitFor();
    const names = await tabs.allTextContents();
    for (const name of names) {
      const tab = tabs.getByText(name, { exact: true });
      await tab.press("Enter");
      await tab.and(page.locator("[aria-current]")).waitFor();
      await page.locator("main > *").first().waitFor();
      await page.locator("main").getByText("Loading…").waitFor({ state: "detached" });
      await page.locator(".skeleton").waitFor({ state: "detached" });
      await picture(page, `studio-${name}`);
      await assertFits(page);
      assert.deepEqual(await misfits(page), [], name);
    }
    assert.deepEqual(faults, []);
  }

  it("fits in all views of a show", () => assertAllFit(`/events/${world.event}`));
  it("fits in all views of a project", () => assertAllFit(`/projects/${ids.project}`));
  it("fits in all views of a space", () => assertAllFit(`/spaces/${ids.space}`));
  it("fits in all views of an organisation", () => assertAllFit(`/organisations/${ids.organisation}`));
});
