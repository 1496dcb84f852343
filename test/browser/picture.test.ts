/** The picture of the README is the studio and the show as they are: `GRANDSTAND_PICTURE=write` takes it anew. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { openShowWorld, pastCachesMs, question, type ShowWorld } from "./_show.ts";

const file = new URL("../../lib/pages/studio/studio.png", import.meta.url);
const drafts = [
  ["quiz", "The first title"],
  ["prediction", "Goals in the second half"],
  ["rating", "Player of the match"],
  ["cta", "Fan shop"],
] as const;
const fans = ["Amara", "Jonas", "Mei", "Tom", "Zoë", "Luis", "Ines", "Oleg"];
/** Fields of a grid over the picture, and the mean difference of their brightness that fonts of another machine may make, of 255. */
const grid = { columns: 48, rows: 32 };
const differenceMax = 12;

describe("the picture of the pages", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
  });
  after(() => world.dispose());

  it("shows a show as its producer and as a fan see it", async () => {
    const asked = question("Who wins tonight?", "Home", "Away");
    const poll = await world.publish("poll", { name: "Who wins tonight?", ...asked });
    for (const [type, name] of drafts) await draft(type, name);
    const calm = { colorScheme: "light", reducedMotion: "reduce" } as const;
    const viewport = { width: 1_080, height: 800 };
    const studio = await world.open(`?event=${world.event}`, { viewport, ...calm });
    await studio.page.locator(".item").nth(drafts.length).waitFor();
    for (const [index, name] of fans.entries()) {
      const fan = await world.fan(name);
      await fan.act("vote", { elementId: poll, option: index % 3 === 0 ? "2" : "1" });
      await world.platform.idle();
      world.clock.advance(1_000);
      await world.time.advance(1_000);
      await studio.page.clock.runFor(1_000);
    }
    const phone = await world.visit(undefined, { viewport: { width: 360, height: 720 }, ...calm });
    await phone.page.getByRole("button", { name: "Home" }).click();
    await phone.page.getByText("Counted").waitFor();
    await world.platform.idle();
    world.clock.advance(pastCachesMs);
    await phone.page.clock.runFor(6_000);
    await phone.page.getByText("67%").waitFor();
    await studio.page.clock.runFor(20_000);
    await studio.page.getByText("6 · 67%").first().waitFor();
    const taken = await beside(studio.page, phone.page);
    if (process.env.GRANDSTAND_PICTURE === "write") writeFileSync(file, taken);
    assert.ok(
      (await difference(studio.page, readFileSync(file), taken)) <= differenceMax,
      "GRANDSTAND_PICTURE=write npm test -- test/browser/picture takes it anew",
    );
    assert.deepEqual([...studio.faults, ...phone.faults], []);
  });

  async function draft(type: string, name: string): Promise<void> {
    const event = { data: { type: "events", id: world.event } };
    const attributes = { content_type: type, name };
    const created = await world.author("POST", "/elements", {
      type: "elements",
      attributes,
      relationships: { event },
    });
    assert.equal(created.status, 201, created.text);
  }
});

/** Takes a picture of two pages beside each other. */
async function beside(wide: Page, phone: Page): Promise<Buffer> {
  const [first, second] = [await shotOf(wide), await shotOf(phone)];
  const sheet = await wide.context().newPage();
  await sheet.setViewportSize({ width: 1_540, height: 840 });
  await sheet.setContent(`<body style="margin:0;display:flex;gap:40px;align-items:center;padding:20px 30px;background:#dfe3ea">
    <img style="border-radius:12px" src="${first}"><img style="border-radius:28px;outline:8px solid #171c24" src="${second}">`);
  return await sheet.screenshot();
}

async function shotOf(page: Page): Promise<string> {
  return `data:image/png;base64,${(await page.screenshot({ animations: "disabled" })).toString("base64")}`;
}

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
