/** Boards in the studio by event and season, and their standings and the results of elements as files. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids, seed } from "../support/platform.ts";
import { assertAccessible, assertFits, openShow, openStudioWorld, type StudioWorld } from "./_studio.ts";

const weekly = { id: "weekly", seasons: { type: "weekly", timeZone: "UTC" } };
const cup = {
  id: "cup",
  seasons: {
    type: "explicit",
    list: [
      { id: "spring", startsAt: "2024-01-01T00:00:00Z", endsAt: "2024-02-01T00:00:00Z" },
      { id: "autumn", startsAt: "2024-09-01T00:00:00Z", endsAt: "2099-01-01T00:00:00Z" },
      { id: "later", startsAt: "2099-01-01T00:00:00Z", endsAt: "2099-02-01T00:00:00Z" },
    ],
  },
  keepSeasons: 400,
};
const week = 7 * 86_400_000;

describe("boards in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    const projects = (seed.projects ?? []).map(project =>
      project.id === ids.project
        ? { ...project, settings: { leaderboards: [weekly, cup], eventLeaderboards: [{ id: "round_1" }] } }
        : project,
    );
    world = await openStudioWorld({ seed: { ...seed, projects } });
  });
  after(() => world.dispose());

  async function score(board: string, userId: string, points: number): Promise<void> {
    const path = `/projects/${ids.project}/${board}/users/${userId}`;
    const { status, text } = await world.call(path, {
      method: "PUT",
      token: world.token,
      body: { score: points },
    });
    assert.equal(status, 200, text);
  }

  async function linesOf(page: Page, name: string): Promise<readonly string[]> {
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name }).click();
    return (await readFile(await (await download).path(), "utf8")).split("\r\n");
  }

  it("shows the seasons of a board that it keeps, and saves its standings", async () => {
    const [ann, bo] = [await world.fan("=Ann"), await world.fan("Bo")];
    await score("leaderboards/weekly", ann.userId, 5);
    world.clock.advance(week);
    await score("leaderboards/weekly", bo.userId, 3);
    await score("leaderboards/cup", bo.userId, 8);
    const { page, faults } = await world.open(`#/projects/${ids.project}/boards`);
    await page.locator(".board li", { hasText: "Bo" }).waitFor();
    const season = page.getByLabel("Season");
    const offered = await season
      .locator("option")
      .evaluateAll(list => list.map(({ textContent }) => textContent));
    assert.equal(offered.length, 14);
    assert.match(offered[1] ?? "", /^\d{4}-W\d\d$/);
    await assertAccessible(page);
    await season.selectOption({ index: 2 });
    await page.locator(".board li", { hasText: "=Ann" }).waitFor();
    assert.equal(await page.locator(".board li").count(), 1);
    assert.deepEqual(await linesOf(page, "CSV"), ["Rank,Name,User,Score", `1,'=Ann,${ann.userId},5`, ""]);
    // The oldest season that is offered is one that the board keeps, also beyond the turn of a year.
    await season.selectOption({ index: 13 });
    await page.getByText("Nobody is on the board yet.").waitFor();
    await page.getByLabel("Leaderboard").selectOption("cup");
    await page.locator(".board li", { hasText: "Bo" }).waitFor();
    assert.deepEqual(
      await season.locator("option").evaluateAll(list => list.map(({ textContent }) => textContent)),
      ["Newest season", "autumn", "spring"],
    );
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("shows the boards of an event from its project, and saves the results of an element", async () => {
    const { event, elements } = await openShow(world, ["Who wins?"]);
    const fan = await world.fan("Cem");
    await score(`events/${event}/leaderboards/round_1`, fan.userId, 7);
    await fan.act("cheer", { elementId: elements[0], option: 2 });
    await world.platform.idle();
    const { page, faults } = await world.open(`#/projects/${ids.project}/boards`);
    await page.getByLabel("Boards of").selectOption("Final");
    await page.locator(".board li", { hasText: "Cem" }).waitFor();
    assert.equal(await page.getByLabel("Season").isHidden(), true, "the board has none");
    await page.goto(`${world.url}/studio#/events/${event}`);
    await page.locator(".monitor .bars").getByText("1 · 100%").waitFor();
    assert.deepEqual(await linesOf(page, "CSV of results"), ["Option,Votes", "Home,0", "Away,1", ""]);
    assert.deepEqual(faults, []);
  });
});
