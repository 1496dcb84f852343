/** The picture of the README is the studio as it is: `GRANDSTAND_PICTURE=write` takes it anew. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { openShow, openStudioWorld, type StudioWorld } from "./_studio.ts";

const file = new URL("../../lib/pages/studio/studio.png", import.meta.url);
const fans = ["Amara", "Jonas", "Mei", "Tom", "Zoë", "Luis", "Ines", "Oleg"];
/** Fields of a grid over the picture, and the mean difference of their brightness that fonts of another machine may make, of 255. */
const grid = { columns: 48, rows: 32 };
const differenceMax = 12;

describe("the picture of the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  it("shows a show with votes as the page does", async () => {
    const show = await openShow(world, ["Who wins tonight?", "Goal of the season", "Player of the match"]);
    const { page, faults } = await world.open(`?project=${ids.project}&event=${show.event}`, {
      viewport: { width: 1_200, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
    });
    await page.locator(".item").nth(2).waitFor();
    for (const [index, name] of fans.entries()) {
      const fan = await world.fan(name);
      await fan.act("cheer", { elementId: show.elements[0], option: index % 3 === 0 ? "2" : "1" });
      await world.platform.idle();
      world.clock.advance(1_000);
      await world.time.advance(1_000);
      await page.clock.runFor(1_000);
    }
    await page.clock.runFor(20_000);
    await page.getByText("5 · 63%").first().waitFor();
    const taken = await page.screenshot({ animations: "disabled" });
    if (process.env.GRANDSTAND_PICTURE === "write") writeFileSync(file, taken);
    assert.ok(
      (await difference(page, readFileSync(file), taken)) <= differenceMax,
      "GRANDSTAND_PICTURE=write npm test -- test/browser/picture takes it anew",
    );
    assert.deepEqual(faults, []);
  });
});

/** Returns the mean difference of the brightness of two pictures, field by field. */
async function difference(page: Page, one: Uint8Array, other: Uint8Array): Promise<number> {
  const blank = await page.context().newPage();
  const brightness = (picture: Uint8Array): Promise<readonly number[]> =>
    blank.evaluate(
      async ({ base64, columns, rows }) => {
        const image = new Image();
        image.src = `data:image/png;base64,${base64}`;
        await image.decode();
        const canvas = new OffscreenCanvas(columns, rows);
        const context = canvas.getContext("2d");
        context?.drawImage(image, 0, 0, columns, rows);
        const { data = [] } = context?.getImageData(0, 0, columns, rows) ?? {};
        return Array.from({ length: columns * rows }, (_, i) => (data[4 * i] ?? 0) + (data[4 * i + 1] ?? 0));
      },
      { base64: Buffer.from(picture).toString("base64"), ...grid },
    );
  const [first, second] = [await brightness(one), await brightness(other)];
  return (
    first.reduce((sum, value, index) => sum + Math.abs(value - (second[index] ?? 0)) / 2, 0) / first.length
  );
}
