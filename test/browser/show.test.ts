/** The show in Chromium: what fans see and do. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { field, openShowWorld, pastCachesMs, question, type ShowWorld } from "./_show.ts";
import { assertAccessible, assertFits } from "./_studio.ts";

describe("the show", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
  });
  after(() => world.dispose());

  it("takes a vote, says when it counts, pays points, and knows it after a reload", async () => {
    await world.publish("poll", question("Who wins tonight?", "Home", "Away"));
    const { page, faults } = await world.visit();
    const poll = page.getByRole("article", { name: "Who wins tonight?" });
    await poll.getByRole("button", { name: "Home" }).click();
    await poll.getByText("Counted").waitFor();
    await page.reload();
    await poll.getByText("Counted").waitFor();
    assert.equal(await poll.getByRole("button", { name: "Home" }).getAttribute("aria-pressed"), "true");
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByText("Points").first().waitFor();
    await page.locator("dd").getByText("5").first().waitFor();
    await assertFits(page);
    await assertAccessible(page);
    assert.deepEqual(faults, []);
  });

  it("shows no answer of a quiz before its reveal, and then whether the fan was right", async () => {
    const quiz = await world.publish("quiz", {
      ...question("In which year did it begin?", "1999", "2004"),
      correct_option: 2,
      max_votes_per_user: 1,
      custom_fields: [field("explanation", "It was <strong>May</strong> <script>alert(1)</script>")],
    });
    const { page, faults } = await world.visit();
    const bodies: string[] = [];
    page.on(
      "response",
      response =>
        void response.text().then(
          text => bodies.push(text),
          () => {},
        ),
    );
    const card = page.getByRole("article", { name: "In which year did it begin?" });
    await card.getByRole("button", { name: "2004" }).click();
    await card.getByText("Counted").waitFor();
    assert.equal(await card.getByText("right answer").count(), 0);
    assert.ok(bodies.every(text => !/correct_option":2|isRight/.test(text)));
    await world.change(quiz, { action: "reveal_answer" });
    await page.reload();
    await card.getByText("Right!").waitFor();
    assert.equal(await card.locator("strong", { hasText: "May" }).count(), 1);
    await card.getByText("<script>alert(1)</script>").waitFor();
    await world.publish("quiz", {
      ...question("And when did it end?", "2010", "2014"),
      correct_option: 1,
      reveal_answer_on_vote: true,
    });
    const second = page.getByRole("article", { name: "And when did it end?" });
    await second.getByRole("button", { name: "2014" }).click();
    await second.getByText("Not this time").waitFor();
    await page.reload();
    await second.getByText("Not this time").waitFor();
    assert.deepEqual(faults, []);
  });

  it("keeps a vote that has no network, also over a reload, and counts it once", async () => {
    await world.publish("poll", question("Who scores first?", "Ann", "Ben"));
    const { page } = await world.visit();
    const card = page.getByRole("article", { name: "Who scores first?" });
    await card.waitFor();
    await page.route("**/api/loyalty/action", route => route.abort());
    await card.getByRole("button", { name: "Ben" }).click();
    await card.getByText("Kept.").waitFor();
    await page.unroute("**/api/loyalty/action");
    await page.reload();
    await card.getByText("Counted").waitFor();
    await page.reload();
    await card.getByText("Counted").waitFor();
    assert.equal(await card.getByRole("button", { name: "Ben" }).getAttribute("aria-pressed"), "true");
    await page.getByRole("link", { name: "Me" }).click();
    // One vote earns five points.
    await page.locator("dd").getByText("5", { exact: true }).first().waitFor();
  });

  it("says that a vote came too late, and never that it counted", async () => {
    const poll = await world.publish("poll", question("Is it over?", "Yes", "No"));
    const { page } = await world.visit();
    const card = page.getByRole("article", { name: "Is it over?" });
    await card.waitFor();
    let release = (): void => {};
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    await page.route("**/api/loyalty/action", async route => {
      await held;
      await route.continue();
    });
    await card.getByRole("button", { name: "Yes" }).click();
    await card.getByText("Sending").waitFor();
    await world.change(poll, { action: "stop" });
    release();
    await card.getByText("Too late").waitFor();
    assert.equal(await card.getByText("Counted").count(), 0);
  });

  it("draws hostile content as text, and drops links that are none of the web", async () => {
    const body = `<img src=x onerror=alert(1)> ${"x".repeat(500)} \u202Egnol`;
    await world.publish("message", { custom_fields: [field("title", "<b>Hello</b>"), field("body", body)] });
    const { page, faults } = await world.visit();
    await page.getByRole("heading", { name: "<b>Hello</b>" }).waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("speaks German, and lays out Arabic from right to left", async () => {
    const german = await world.visit(`?event=${world.event}&locale=de`);
    await german.page.getByRole("link", { name: "Rangliste" }).waitFor();
    assert.equal(await german.page.locator("html").getAttribute("lang"), "de");
    await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes: { locales: ["en", "ar"] },
    });
    const texts = { key: "question", values: { en: "Who sings?", ar: "من يغني؟" } };
    await world.publish("poll", { question: { ...question("", "Ann").question, fields: [texts] } });
    world.clock.advance(pastCachesMs);
    await german.page.reload();
    await german.page.getByRole("heading", { name: "Who sings?" }).waitFor();
    const arabic = await world.visit(`?event=${world.event}&locale=ar`);
    await arabic.page.getByRole("article").first().waitFor();
    assert.equal(await arabic.page.locator("html").getAttribute("dir"), "rtl");
    await assertFits(arabic.page);
  });

  it("shows boards, the shop and events, and signs out", async () => {
    const { page, faults } = await world.visit(`?event=${world.event}#/me`);
    const password = page.getByLabel("Password");
    assert.equal(await password.getAttribute("type"), "password");
    assert.equal(await password.getAttribute("autocomplete"), "current-password");
    await page.getByLabel("Your name").fill("Çağla");
    // A part that cannot be read is read again.
    await page.route("**/audience/challenges*", route => route.fulfill({ status: 400, json: {} }));
    await page.getByRole("button", { name: "Join with a name" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("heading", { name: "History" }).waitFor();
    await page.getByRole("heading", { name: "Çağla" }).waitFor();
    await page.getByText("Nothing yet. Vote").waitFor();
    await page.unroute("**/audience/challenges*");
    await page.clock.fastForward(11_000);
    await page.getByRole("heading", { name: "Challenges" }).waitFor();
    await page.getByText("5 days left").waitFor();
    await page.getByText("+50 › Silver").waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await page.locator("article[data-type=poll][data-state=current] button.option").first().click();
    await page.getByText("Counted").first().waitFor();
    world.clock.advance(pastCachesMs);
    await page.getByRole("link", { name: "Board" }).click();
    await page.reload();
    await page.locator("li[data-mine=true]").getByText("Çağla").first().waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByRole("link", { name: "Shop" }).click();
    const product = (title: string): Locator => page.locator("li.product", { hasText: title });
    const redeem = (title: string): Locator => product(title).getByRole("button", { name: "Redeem" });
    // Somebody is faster.
    await redeem("The last cap").waitFor();
    const ben = await world.fan("Ben");
    assert.equal((await ben.act("collect")).status, 200);
    const bought = await world.call("/v1/api/audience/products/cap/redeem", {
      token: ben.token,
      headers: { "x-platform-org-id": ids.organisation },
      body: { quantity: 1 },
    });
    assert.equal(bought.status, 201, bought.text);
    await redeem("The last cap").click();
    await page.locator(".shop > .card").getByText("Sold out").waitFor();
    await product("The last cap").getByText("Sold out").waitFor();
    assert.equal(await redeem("The last cap").getAttribute("aria-disabled"), "true");
    await redeem("A poster").click();
    await page.getByText("On its way: A poster").first().waitFor();
    await redeem("A snack").click();
    await page.locator(".shop > .card").getByText("NUTS").waitFor();
    await redeem("A scarf").click();
    for (const [title, reason] of [
      ["A scarf", "You have had as many as there are for each fan"],
      ["A ticket", "Not available now"],
      ["A car", "Not enough points"],
    ] as const) {
      await product(title).getByText(reason).waitFor();
      assert.equal(await redeem(title).getAttribute("aria-disabled"), "true", title);
    }
    await assertAccessible(page);
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByText("Snack at the bar").waitFor();
    await page.getByText("NUTS").waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "A poster" }).waitFor();
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByRole("link", { name: "Final" }).waitFor();

    await page.goBack();
    await page.getByRole("heading", { name: "A poster" }).waitFor();
    await page.context().setOffline(true);
    await page.route("**/live?*", route => route.abort());
    await page.clock.fastForward(50_000);
    await page.clock.runFor(12_000);
    await page.getByText("Possible again with a connection").first().waitFor();
    await page.getByRole("link", { name: "Board" }).click();
    await page.locator('[data-old="true"] li[data-mine=true]').getByText("Çağla").first().waitFor();
    await page.getByRole("link", { name: "Me" }).click();
    const leave = page.getByRole("button", { name: "Sign out" });
    await leave.and(page.locator('[aria-disabled="true"]')).waitFor();
    await page.getByText("Possible again with a connection").waitFor();
    await page.unroute("**/live?*");
    await page.context().setOffline(false);
    const token: string = await page.evaluate(
      project => JSON.parse(localStorage.getItem(`grandstand:${project}`) ?? "{}").session.space.token,
      ids.project,
    );
    const body = { action: "prediction", data: { outcome: "exact" } };
    assert.equal((await world.call("/api/loyalty/action", { token, body })).status, 200);
    const { points } = (await world.call("/api/loyalty/profile", { token })).json.data.metrics;
    await page.getByRole("link", { name: "Me" }).click();
    const total = page.locator(".balances dd", { hasText: new RegExp(`^${points}$`) });
    await total.first().waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Your name").waitFor();
    assert.deepEqual(faults, []);
  });
});
