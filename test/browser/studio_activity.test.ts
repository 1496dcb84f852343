/** The trail of changes in the studio. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { personWith } from "../http/_people.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import {
  assertAccessible,
  assertFits,
  openShow,
  openStudioWorld,
  press,
  type StudioWorld,
} from "./_studio.ts";

describe("the activity of a project in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  it("says who changed what and when, by person and kind, page by page", async () => {
    const { event, elements } = await openShow(world, ["Who wins?", "Who scores?"]);
    const [, removed = ""] = elements;
    await world.author("DELETE", `/elements/${removed}`);
    for (let change = 0; change < 130; change++)
      await world.author("PATCH", `/events/${event}`, {
        type: "events",
        id: event,
        attributes: { name: `Final ${change}` },
      });
    const token = await personWith(world, { level: "projects", id: ids.project, role: "creator" });
    const body = { data: { type: "events", id: event, attributes: { name: "Semi-final" } } };
    const headers = { "content-type": "application/vnd.api+json" };
    const changed = await world.call(`/api/v2/events/${event}`, { method: "PATCH", token, headers, body });
    assert.ok(changed.status < 300, changed.text);

    const { page, faults } = await world.open(`#/projects/${ids.project}/activity`, {
      timezoneId: "Asia/Tokyo",
    });
    await page.getByText("Times in Asia/Tokyo").waitFor();
    const rows = page.locator(".list > li");
    assert.match((await rows.first().textContent()) ?? "", /@example\.com.*changed event.*name/);
    assert.match((await rows.nth(1).textContent()) ?? "", /sam@club\.example/);
    assert.equal(await rows.count(), 30);
    await assertAccessible(page);
    await page.getByLabel("Kind").selectOption("elements");
    await page.getByText("0 of 100 that were read").waitFor();
    await press(page.getByRole("button", { name: "Show older" }));
    await rows.filter({ hasText: "added element Who wins?" }).waitFor();
    await rows.filter({ hasText: `removed element Who scores? ${removed}` }).waitFor();
    await page.getByLabel("Kind").selectOption("");
    await page.getByLabel("Person").selectOption({ index: 1 });
    assert.equal(await rows.count(), 1);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });
});
