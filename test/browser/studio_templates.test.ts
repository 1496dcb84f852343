/** Templates in the studio: made from an event, used for a new one, deleted after a question. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
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

describe("templates in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  it("are made from an event, used for a new one, and deleted after a question", async () => {
    await openShow(world, ["Who wins?", "By how much?"]);
    const { page, faults } = await world.open(`#/projects/${ids.project}/templates`);
    await page.getByText("There are no templates yet").waitFor();
    await press(page.getByRole("button", { name: "New from an event…" }));
    const dialog = page.getByRole("dialog", { name: "New template" });
    await dialog.getByLabel("Event").selectOption({ label: "Final" });
    await dialog.getByLabel("Name of the template").fill("Match evening");
    await assertAccessible(page);
    await press(dialog.getByRole("button", { name: "Make the template" }));
    await page.getByText("2 elements").waitFor();
    await page.getByText("Elements", { exact: true }).press("Enter");
    await page.getByText("By how much?").waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await press(page.getByRole("button", { name: "New event from Match evening…" }));
    await page.getByLabel("Name of the event").fill("Semi-final");
    await press(page.getByRole("button", { name: "Make the event" }));
    await page.getByRole("heading", { level: 1, name: "Semi-final" }).waitFor();
    const id = page.url().split("/").at(-1);
    const { json } = await world.author("GET", `/events/${id}/elements`);
    assert.deepEqual(
      json.data.map(({ attributes }: { attributes: { name: string; state: string } }) => attributes.name),
      ["Who wins?", "By how much?"],
    );
    await page.goBack();
    await press(page.getByRole("button", { name: "Delete Match evening…" }));
    await press(page.getByRole("dialog").getByRole("button", { name: "Delete" }));
    await page.getByText("There are no templates yet").waitFor();
    assert.deepEqual(faults, []);
  });
});
