/** The studio on a telephone of 360 px: every view fits, and what is pressed is large enough. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { createMetrics } from "../../lib/platform/metrics/mod.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { openShowWorld, picture, question, type ShowWorld } from "./_show.ts";
import { assertFits, useCatalogue } from "./_studio.ts";

const viewport = { width: 360, height: 640 };
const long = "Donaudampfschifffahrtsgesellschaftskapitän";

/** Names what can be pressed and is under 24 px wide or high, or reaches beyond its label or the page. */
function misfits(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const pressed = "a[href], button, input, select, textarea, summary";
    return [...document.querySelectorAll<HTMLElement>(pressed)].flatMap(each => {
      if (!each.checkVisibility({ visibilityProperty: true })) return [];
      const { width, height, left, right } = (each.closest("label") ?? each).getBoundingClientRect();
      const isCut = each.getBoundingClientRect().right > right + 1;
      // A link in a sentence is as high as its line.
      const isText = getComputedStyle(each).display === "inline" && each.matches("a");
      const isSmall = !isText && Math.min(width, height) < 24;
      // Tabs scroll, and the current one is always shown.
      const isOut = (left < 0 || right > innerWidth) && !each.matches(".tabs a:not([aria-current])");
      return isSmall || isOut || isCut
        ? [`${each.outerHTML.slice(0, 80)}: ${width} x ${height} at ${left}`]
        : [];
    });
  });
}

describe("the studio on a telephone", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  let [poll, next] = ["", ""];
  before(async () => {
    world = await openShowWorld({ metrics: createMetrics({ clock: Date.now }) });
    await useCatalogue(world);
    poll = await world.publish("poll", question(`${long}?`, long, "Away"));
    for (const name of ["Next", long])
      next = await world.publish("quiz", { name, action: undefined, ...question(long, long, long) });
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
      await assertThisFits(page, name);
    }
    assert.deepEqual(faults, []);
  }

  async function assertThisFits(page: Page, name: string): Promise<void> {
    await picture(page, `studio-${name}`);
    await assertFits(page);
    assert.deepEqual(await misfits(page), [], name);
  }

  it("fits in operations, in dialogs, and in the editor of an element", async () => {
    const { page, faults } = await world.open("#/operations", { viewport });
    await page.locator(".tiles .card").first().waitFor();
    await assertThisFits(page, "operations");
    const run = `/events/${world.event}/run`;
    for (const [place, ...commands] of [
      [run, "", "share the show", "extra time", "shift all times", "stop the show"],
      [`/events/${world.event}/plan`, "paste"],
      [`/projects/${ids.project}`, "new event", "share"],
    ] as const) {
      await page.goto(`${world.url}/studio#${place}`);
      await page.locator("main[data-view] > *").first().waitFor();
      await page.locator("main").getByText("Loading…").waitFor({ state: "detached" });
      for (const command of commands) {
        const opened = page.locator("dialog[open]");
        const palette = page.locator(".palette[open]");
        await page.keyboard.press("Control+k");
        await palette.getByRole("combobox").fill(command);
        if (command !== "") {
          await page.keyboard.press("Enter");
          await palette.waitFor({ state: "detached" });
        }
        await opened.locator("button, [role=option]").first().waitFor();
        await assertThisFits(page, `dialog ${command}`);
        await page.keyboard.press("Escape");
        await opened.waitFor({ state: "detached" });
      }
    }
    for (const id of [poll, next]) {
      await page.goto(`${world.url}/studio#${run}/${id}`);
      await page.getByRole("complementary", { name: "Editor" }).getByLabel("Question").waitFor();
      await assertThisFits(page, `editor ${id === poll}`);
    }
    assert.deepEqual(faults, []);
  });

  it("fits in all views of a show", () => assertAllFit(`/events/${world.event}`));
  it("fits in all views of a project", () => assertAllFit(`/projects/${ids.project}`));
  it("fits in all views of a space", () => assertAllFit(`/spaces/${ids.space}`));
  it("fits in all views of an organisation", () => assertAllFit(`/organisations/${ids.organisation}`));
});
