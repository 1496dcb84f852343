/** Assets in the studio: uploaded, described, tagged, found, and deleted unless they are in use. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { assertAccessible, assertFits, openStudioWorld, press, type StudioWorld } from "./_studio.ts";

describe("assets in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  const place = `#/projects/${ids.project}/assets`;
  const drawing = (width: number) => ({
    name: `logo-${width}.svg`,
    mimeType: "image/svg+xml",
    buffer: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="8"/>`),
  });
  const listed = async () =>
    (await world.author("GET", `/spaces/${ids.space}/assets?include=tags`)).json.data as {
      readonly id: string;
      readonly attributes: { readonly name: string; readonly alt_text: string };
      readonly relationships: { readonly tags: { readonly data: readonly object[] } };
    }[];

  it("are uploaded, described and tagged, and found by their tag", async () => {
    const { page } = await world.open(place);
    await page.getByText("There are no files yet").waitFor();
    await page.getByLabel("Files to upload").setInputFiles([drawing(8), drawing(9)]);
    await press(page.getByRole("button", { name: /^logo-8/ }));
    const dialog = page.getByRole("dialog", { name: "logo-8.svg" });
    await dialog.getByLabel("What it shows").fill("The crest");
    await dialog.getByLabel("New tag").fill("Logos");
    await press(dialog.getByRole("button", { name: "Add tag" }));
    await dialog.getByLabel("Logos").waitFor();
    await assertAccessible(page);
    await press(dialog.getByRole("button", { name: "Save" }));
    await dialog.waitFor({ state: "detached" });
    const [asset] = (await listed()).filter(({ attributes }) => attributes.name === "logo-8.svg");
    assert.equal(asset?.attributes.alt_text, "The crest");
    assert.equal(asset?.relationships.tags.data.length, 1);
    await page.getByLabel("Tag", { exact: true }).selectOption({ label: "Logos" });
    await page.getByText("1 file", { exact: true }).waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.getByLabel("Files to upload").setInputFiles([drawing(8)]);
    await page.getByText("logo-8.svg is here already.").first().waitFor();
  });

  it("are deleted after a question, but not while something shows them", async () => {
    const { page } = await world.open(place);
    await page.getByLabel("Files to upload").setInputFiles([drawing(20), drawing(21)]);
    await page.getByRole("button", { name: /^logo-21/ }).waitFor();
    const used = (await listed()).find(({ attributes }) => attributes.name === "logo-20.svg");
    const attributes = { settings: [{ key: "picture", values: { all: used?.id } }] };
    await world.author("PATCH", `/events/${ids.event}`, { type: "events", id: ids.event, attributes });
    await press(page.getByRole("button", { name: /^logo-20/ }));
    await page.getByText("Event “").waitFor();
    const remove = (name: string) =>
      page.getByRole("dialog", { name }).getByRole("button", { name: "Delete…" });
    assert.equal(await remove("logo-20.svg").getAttribute("aria-disabled"), "true");
    await page.keyboard.press("Escape");
    await press(page.getByRole("button", { name: /^logo-21/ }));
    await press(remove("logo-21.svg"));
    const question = page.getByRole("dialog", { name: "Delete logo-21.svg?" });
    await press(question.getByRole("button", { name: "Delete" }));
    await page.getByRole("button", { name: /^logo-21/ }).waitFor({ state: "detached" });
    assert.ok(!(await listed()).some(({ attributes: { name } }) => name === "logo-21.svg"));
  });
});
