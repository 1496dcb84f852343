/** The show on a big screen, and over the picture of a broadcast. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { until } from "../support/until.ts";
import { field, openShowWorld, pastCachesMs, question, type ShowWorld } from "./_show.ts";
import { assertAccessible } from "./_studio.ts";

const viewport = { width: 1_920, height: 1_080 };

describe("the show on screens", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld({ settings: { show: { address: "https://club.example/live" } } });
  });
  after(() => world.dispose());

  const visit = (query: string) => world.visit(`?event=${world.event}&${query}`, { viewport });
  async function changeEvent(attributes: object): Promise<void> {
    const data = { type: "events", id: world.event, attributes };
    const { status, text } = await world.author("PATCH", `/events/${world.event}`, data);
    assert.equal(status, 204, text);
  }
  async function settle(page: Page): Promise<void> {
    await world.platform.idle();
    world.clock.advance(pastCachesMs);
    await page.clock.runFor(6_000);
  }

  it("leads to the page by a code and in words, counts fans, and follows what is on", async () => {
    await changeEvent({ duration: 7_200 });
    const { page, faults } = await visit("view=screen&count=overall");
    await page
      .getByRole("img", { name: /^QR code of .*\/show\?event=/ })
      .locator("path[d^=M]")
      .waitFor();
    await page.getByText("club.example/live").waitFor();
    const long = { url: "https://shop.example/scarves?from=screen", label: "Scarves" };
    const shop = await world.publish("cta", {
      custom_fields: Object.entries(long).map(pair => field(...pair)),
    });
    await settle(page);
    await page.getByRole("heading", { name: "Scarves" }).waitFor();
    // Nobody types a query.
    assert.equal(await page.locator("aside .address").count(), 0);
    await world.change(shop, { action: "stop" });
    const poll = await world.publish("poll", question("Who wins?", "Home", "Away"));
    const fans = await Promise.all(["Ann", "Ben", "Cem"].map(name => world.fan(name)));
    for (const [index, fan] of fans.entries())
      await fan.act("vote", { elementId: poll, option: index === 0 ? "2" : "1" });
    await settle(page);
    await page.getByRole("heading", { name: "Who wins?" }).waitFor();
    await page.getByText("67%").waitFor();
    await page.getByText("Fans: 3").waitFor();
    const sizes = await page.evaluate(() =>
      [...document.querySelectorAll(".label, h2, .part")].map(each =>
        Number.parseFloat(getComputedStyle(each).fontSize),
      ),
    );
    assert.ok(
      sizes.every(size => size >= 0.04 * 1_080),
      String(sizes),
    );
    assert.equal(await page.locator(".clock").count(), 0, "the end of the show is no deadline");
    const change = async (route: Route): Promise<void> => {
      const headers = { ...route.request().headers(), accept: "application/json" };
      const document = await (await route.fetch({ headers })).json();
      const body = `data: ${JSON.stringify({ ...document, page: "another" })}\n\n`;
      await route.fulfill({ contentType: "text/event-stream", body });
    };
    // Once, as the page that comes then would load itself anew as well.
    await page.route("**/live?*", change, { times: 1 });
    // The stream is lost in silence, and the next one is of another version.
    let isLoaded = false;
    page.once("load", () => {
      isLoaded = true;
    });
    await until("the page has loaded itself anew", async () => {
      await page.clock.runFor(10_000).catch(() => {});
      return isLoaded;
    });
    await page.getByText("67%").waitFor();
    assert.equal(await page.getByRole("button").count(), 0, "nobody touches a screen");
    await assertAccessible(page);
    await page.context().setOffline(true);
    await page.clock.runFor(12_000);
    assert.ok(await page.getByText("67%").isVisible(), "the last frame stays without a network");
    await world.change(poll, { action: "stop" });
    assert.deepEqual(faults, []);
  });

  it("shows nothing of a quiz before it has closed, and its answer after the reveal", async () => {
    const quiz = await world.publish("quiz", { ...question("When?", "1999", "2004"), correct_option: 2 });
    const fan = await world.fan("Dora");
    await fan.act("vote", { elementId: quiz, option: "1" });
    const { page } = await visit(`view=screen&element=${quiz}`);
    await page.getByRole("heading", { name: "When?" }).waitFor();
    await settle(page);
    assert.equal(await page.getByText("%").count(), 0);
    const widths = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>(".bars .bar")].map(each => each.offsetWidth),
    );
    assert.deepEqual(widths, [0, 0]);
    assert.equal(await page.locator('[data-right="true"]').count(), 0);
    await world.change(quiz, { action: "stop" });
    await settle(page);
    await page.getByText("100%").waitFor();
    await world.change(quiz, { action: "reveal_answer" });
    await settle(page);
    await page.locator('[data-right="true"]').filter({ hasText: "2004" }).waitFor();
    await world.change(quiz, { action: "revoke" });
  });

  it("is clear over a picture, keeps its margins, and draws nothing while nothing is on", async () => {
    const { page, faults } = await visit("view=overlay&element=0c000000-0000-4000-8000-00000000ffff");
    await settle(page);
    assert.equal(await page.locator("main").count(), 0);
    const ground = await page.evaluate(() =>
      [document.documentElement, document.body].map(each => getComputedStyle(each).backgroundColor),
    );
    assert.deepEqual(ground, ["rgba(0, 0, 0, 0)", "rgba(0, 0, 0, 0)"]);
    assert.equal(await page.locator('meta[name="color-scheme"]').count(), 0, "it would make a frame opaque");
    const cheer = await world.publish("cheer", { question: { fields: [field("question", "Louder!")] } });
    await page.goto(`${world.url}/show?event=${world.event}&view=overlay&element=${cheer}`);
    await page.getByRole("heading", { name: "Louder!" }).waitFor();
    const box = await page.locator("main").boundingBox();
    assert.ok(box !== null);
    assert.ok(
      box.x >= 0.079 * viewport.width && box.y + box.height <= 0.921 * viewport.height,
      JSON.stringify(box),
    );
    await page.context().setOffline(true);
    await page.clock.runFor(12_000);
    assert.equal(await page.locator("main").textContent(), "Louder!Cheers: 0", "the last frame stays, alone");
    await page.context().setOffline(false);
    assert.deepEqual(faults, []);
    await world.change(cheer, { action: "stop" });
    const known = await world.publish("message", { custom_fields: [field("title", "Still here")] });
    const unknown = await world.publish("hologram", { custom_fields: [field("title", "Ghost")] });
    await page.goto(`${world.url}/show?event=${world.event}&view=overlay`);
    await page.getByRole("heading", { name: "Still here" }).waitFor();
    for (const id of [known, unknown]) await world.change(id, { action: "stop" });
  });

  it("keeps the answers that the team has chosen below what came after, until their element has stopped", async () => {
    const ask = await world.publish("ask", { custom_fields: [field("prompt", "Why?")] });
    const fan = await world.fan("Emil");
    for (const text of ["Because", "For fun"]) await fan.act("ask", { elementId: ask, text });
    const path = `/elements/${ask}/answers`;
    const sent = (await world.author("GET", path)).json.data as readonly { readonly id: string }[];
    const id = sent.at(-1)?.id;
    await world.author("PATCH", path, [{ type: "answers", id, attributes: { shown: true } }]);
    const poll = await world.publish("poll", { ...question("And now?", "Home", "Away"), duration: 3_600 });
    const { page } = await visit("view=screen");
    await page.getByRole("heading", { name: "And now?" }).waitFor();
    await page.locator(".clock").getByText("59:").waitFor();
    await page.getByRole("heading", { name: "Why?" }).waitFor();
    assert.deepEqual(await page.locator(".answers li").allTextContents(), ["Because"]);
    await world.change(ask, { action: "stop" });
    await settle(page);
    await page.getByRole("heading", { name: "Why?" }).waitFor({ state: "detached" });
    await world.change(poll, { action: "stop" });
  });

  it("leaves the picture once it has stopped, unless it has results, and says that the show is over", async () => {
    const poll = await world.publish("poll", question("Who has won?", "Home", "Away"));
    const message = await world.publish("message", { custom_fields: [field("title", "Hello all")] });
    const overlay = (await visit("view=overlay")).page;
    const { page } = await visit("view=screen");
    for (const each of [overlay, page]) await each.getByText("Hello all").waitFor();
    await world.change(poll, { action: "stop" });
    await settle(page);
    await page.getByText("Hello all").waitFor();
    await world.change(message, { action: "stop" });
    for (const each of [overlay, page]) {
      await settle(each);
      await each.getByRole("heading", { name: "Who has won?" }).waitFor();
    }
    await changeEvent({ action: "stop" });
    await settle(page);
    await page.getByText("This show is over").waitFor();
    await settle(overlay);
    await overlay.locator("main").waitFor({ state: "detached" });
    const fan = (await world.visit()).page;
    await fan.getByText("This show is over").waitFor();
    await fan.getByRole("heading", { name: "Who has won?" }).waitFor();
  });
});
