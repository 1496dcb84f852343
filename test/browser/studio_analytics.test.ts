/** The analytics of an event in the studio: figures, plots with their tables, and files. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids, loyalty, seed } from "../support/platform.ts";
import { assertAccessible, assertFits, openShow, openStudioWorld, type StudioWorld } from "./_studio.ts";

const points = [{ type: "metric", metricId: "points", metricQuantity: 2 }];
const votes = {
  ...loyalty,
  actions: [...loyalty.actions, ...["vote", "ask"].map(name => ({ name, clientReportable: true }))],
  rules: [...loyalty.rules, { id: "vote", trigger: { action: "vote" }, effects: points }],
};

describe("the analytics of an event in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld({ seed: { ...seed, loyalty: { [ids.space]: votes } } });
    const services = { show: { timeZone: "Asia/Kolkata" } };
    const set = await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      attributes: { services },
    });
    assert.ok(set.status < 300, set.text);
  });
  after(() => world.dispose());

  async function csvOf(page: Page, name: string): Promise<readonly string[]> {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    return (await readFile(await (await download).path(), "utf8")).split("\r\n");
  }

  it("shows reach, people, votes, points and who comes back in the project's zone, as plots, tables and files", async () => {
    world.clock.advance(60_000 - (world.clock.now() % 60_000));
    const { event, elements } = await openShow(world, ['=HYPERLINK("http://x")']);
    const [ann, bo] = [await world.fan("Ann"), await world.fan("Bo")];
    await ann.act("vote", { elementId: elements[0], option: 1 });
    await bo.act("vote", { elementId: elements[0], option: 2 });
    await world.platform.idle();
    world.clock.advance(120_000);
    await ann.act("cheer", { eventId: event });
    await world.platform.idle();

    const { page, faults } = await world.open(`#/events/${event}/analytics`, { timezoneId: "Asia/Tokyo" });
    const figure = (title: string) =>
      page.locator(".summary > div").filter({ hasText: title }).locator("dd").first();
    await figure("Reach").waitFor();
    assert.equal(await figure("Reach").textContent(), "2");
    assert.equal(await figure("Actions").textContent(), "3");
    assert.equal(await figure("Points").textContent(), "4");
    await page.getByText(/As of .*, Asia\/Kolkata/).waitFor();
    const plot = page.locator(".plot").filter({ has: page.getByRole("heading", { name: "People" }) });
    await plot.getByText("The last step is not over.").waitFor();
    assert.equal(await plot.locator(".line.open").count(), 1);
    await plot.getByText("Table").press("Enter");
    assert.deepEqual(await plot.locator("tbody td").allTextContents(), ["2", "0", "1"]);
    await assertAccessible(page);

    const [header, first] = await csvOf(page, "CSV of People");
    assert.equal(header, "Time (Asia/Kolkata),People");
    assert.match(first ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\+05:30,2$/);
    assert.equal(Date.parse(first?.split(",")[0] ?? "") % 60_000, 0);
    assert.deepEqual((await csvOf(page, "CSV of votes")).slice(0, 2), [
      "Element,Option,Votes,Mean",
      `"'=HYPERLINK(""http://x"")",Home,1,`,
    ]);
    assert.deepEqual((await csvOf(page, "CSV of Who comes back")).slice(1, 4), ["0,100", "1,0", "2,50"]);

    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.context().setOffline(true);
    await page.clock.runFor(20_000);
    await page.getByText(/Not up to date: from/).waitFor();
    assert.equal(await figure("Reach").textContent(), "2");
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText(/Not up to date/).waitFor({ state: "detached" });
    assert.deepEqual(faults, []);
  });

  it("shows the mean of a rating, and how many answers there are and are shown, also where the show runs", async () => {
    const { event } = await openShow(world, []);
    const publish = async (content_type: string): Promise<string> => {
      const { json } = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type, name: `The ${content_type}`, action: "publish" },
        relationships: { event: { data: { type: "events", id: event } } },
      });
      return json.data.id;
    };
    const [rating, asked] = [await publish("rating"), await publish("ask")];
    const fans = [await world.fan("Cem"), await world.fan("Dora")];
    for (const [index, fan] of fans.entries()) {
      await fan.act("vote", { elementId: rating, option: 4 + index });
      await fan.act("ask", { elementId: asked, text: `Why ${index}?` });
    }
    await world.platform.idle();
    const path = `/elements/${asked}/answers`;
    const { id } = (await world.author("GET", path)).json.data[0];
    await world.author("PATCH", path, [{ type: "answers", id, attributes: { shown: true } }]);
    world.clock.advance(5_000);
    const { page, faults } = await world.open(`#/events/${event}/analytics`);
    await page.getByText("Mean: 4.5, Votes: 2, people: 2").waitFor();
    assert.deepEqual((await csvOf(page, "CSV of votes")).slice(4, 6), [
      "The rating,4,1,4.5",
      "The rating,5,1,4.5",
    ]);
    const written = page.getByRole("row", { name: "The ask" });
    assert.deepEqual(await written.locator("td").allTextContents(), ["2", "1", "2"]);
    assert.equal((await csvOf(page, "CSV of answers"))[1], "The ask,2,1,2");
    await page.goto(`${world.url}/studio#/events/${event}/run`);
    await page.locator(".item").filter({ hasText: "The rating" }).getByText("4.5 of 5 on average").waitFor();
    assert.deepEqual(faults, []);
  });

  it("says that no show has run", async () => {
    const { event } = await openShow(world, []);
    const { page } = await world.open(`#/events/${event}/analytics`);
    await page.getByText("No show has run.").waitFor();
    await assertAccessible(page);
  });
});
