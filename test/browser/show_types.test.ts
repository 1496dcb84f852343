/** The types of elements in Chromium: what fans do with each, while it is open and after. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import {
  field,
  openShowWorld,
  pastCachesMs,
  picture,
  question,
  type ShowWorld,
  setHidden,
  waitForFigure,
} from "./_show.ts";
import { assertAccessible, assertFits, holdClock, openPage } from "./_studio.ts";

/** Passes requests on, and keeps every byte of the answers. */
async function openRecorder(target: string) {
  const texts: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const { host: _, connection: __, ...headers } = request.headers;
    const answer = await fetch(target + request.url, {
      method: request.method ?? "GET",
      headers: { ...(headers as Record<string, string>), "accept-encoding": "identity" },
      ...(parts.length > 0 && { body: Buffer.concat(parts) }),
    });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) return void response.end();
    const body = Readable.fromWeb(answer.body as never);
    response.on("close", () => body.destroy());
    body.on("data", data => texts.push(Buffer.from(data).toString())).on("error", () => {});
    body.pipe(response);
  });
  await new Promise<void>(resolve => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://localhost:${port}`,
    heard: () => texts.join(""),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("the types of the show", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
  });
  after(() => world.dispose());

  it("lets a fan choose as many options as a poll takes, with keys, and shows the results then", async () => {
    const poll = await world.publish("poll", {
      ...question("Which colours?", "Red", "Green", "Blue", "White"),
      min_options_per_vote: 2,
      max_options_per_vote: 3,
    });
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "Which colours?" });
    const vote = card.getByRole("button", { name: "Vote", exact: true });
    await card.getByText("Choose 2 to 3").waitFor();
    await card.getByRole("button", { name: "Red" }).focus();
    await page.keyboard.press("1");
    assert.equal(await vote.isDisabled(), true);
    await page.keyboard.press("3");
    await page.keyboard.press("4");
    assert.equal(await card.getByRole("button", { name: "Green" }).getAttribute("aria-disabled"), "true");
    await vote.click();
    await card.getByText("Counted").waitFor();
    await waitForFigure(world, card.getByText("33%").first());
    assert.equal(await card.getByText("your vote").count(), 3);
    await picture(page, "poll");
    // A question with a time of its own closes on the page without another word of the server.
    const { page: other } = await world.visit();
    await world.publish("poll", { ...question("Quick?", "Yes", "No"), duration: 600 });
    const quick = other.getByRole("article", { name: "Quick?" });
    const timer = quick.getByRole("timer");
    await timer.getByText(/^9:\d\d$/).waitFor();
    await quick.locator(".clock").click();
    await other
      .getByRole("status")
      .getByText(/^9:\d\d left$/)
      .waitFor();
    await other.clock.fastForward(601_000);
    await timer.getByText("Closed").waitFor();
    await world.change(poll, { action: "stop" });
    await card.getByText("Closed").waitFor();
    assert.equal(await vote.count(), 0);
    assert.deepEqual(faults, []);
  });

  it("keeps the votes of others back until the own one, unless the fan asks for them", async () => {
    const prediction = await world.publish("prediction", {
      ...question("Who will win?", "Home", "Away"),
      correct_option: 1,
    });
    const { page: early } = await world.visit();
    const other = early.getByRole("article", { name: "Who will win?" });
    await other.getByRole("button", { name: "Home" }).click();
    await other.getByText("Counted").waitFor();
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "Who will win?" });
    await waitForFigure(world, card.getByRole("button", { name: "See results without voting" }));
    assert.equal(await card.getByText("100%").count(), 0);
    await card.getByRole("button", { name: "See results without voting" }).click();
    await card.getByText("100%").waitFor();
    await card.getByRole("button", { name: "Away" }).click();
    await card.getByText("Counted").waitFor();
    await waitForFigure(world, card.getByText("50%").first());
    await world.change(prediction, { action: "stop" });
    await world.change(prediction, { action: "reveal_answer" });
    await card.getByText("right answer").waitFor();
    await card.getByText("Not this time").waitFor();
    assert.deepEqual(faults, []);
  });

  it("tells the answer of a quiz in no byte before its reveal, and what it won then", async () => {
    const recorder = await openRecorder(world.url);
    const quiz = await world.publish("quiz", {
      ...question("Which river?", "Rhine", "Elbe"),
      correct_option: 2,
      custom_fields: [field("points", 20), field("explanation", "It flows through Hamburg.")],
    });
    const { page, faults } = await openPage(recorder.url, { path: `/show?event=${world.event}` });
    const card = page.getByRole("article", { name: "Which river?" });
    await card.getByText("Worth 20 points").waitFor();
    await card.getByRole("button", { name: "Elbe" }).click();
    await card.getByText("Counted").waitFor();
    await card.getByText("your answer").waitFor();
    assert.equal(await card.getByRole("button", { name: "Rhine" }).getAttribute("aria-disabled"), "true");
    const own = recorder.heard().slice(recorder.heard().indexOf("Which river?"));
    assert.doesNotMatch(own, /correct_option":2|isRight|Hamburg/);
    assert.equal(await card.getByText(/Right!|Not this time/).count(), 0);
    await world.change(quiz, { action: "reveal_answer" });
    await card.getByText("Right!").waitFor();
    await card.getByText("+20 points").waitFor();
    await card.getByText("It flows through Hamburg.").waitFor();
    await page.getByRole("status").getByText("Which river?: the right answer is Elbe").waitFor();
    assert.match(recorder.heard(), /Hamburg/);
    await picture(page, "quiz");
    assert.deepEqual(faults, []);
    recorder.close();
  });

  it("says once that an element is new, has results or has closed, and what a vote won", async () => {
    const polls = ["Extra time?", "A goal?"].map(text => question(text, "Yes", "No"));
    const first = await world.publish("poll", { ...polls[0], reveal_results_mode: "manual" });
    const { page, faults } = await world.visit();
    const card = (name: string) => page.getByRole("article", { name });
    await card("Extra time?").getByRole("button", { name: "Yes" }).click();
    await card("Extra time?").getByText("Counted").waitFor();
    // What the first vote won may be said or not: points may be known before it or with it.
    await page.reload();
    await page.getByRole("link", { name: "Me" }).click();
    await page.locator("dd").getByText("5", { exact: true }).first().waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await page.evaluate(() => {
      const said: (string | null)[] = [];
      const line = document.querySelector("[role=status]") as Element;
      new MutationObserver(() => said.push(line.textContent)).observe(line, {
        characterData: true,
        childList: true,
        subtree: true,
      });
      Object.assign(globalThis, { said });
    });
    const said = page.getByRole("status");
    await world.change(first, { action: "reveal_results" });
    await waitForFigure(world, said.getByText("Results: Extra time?"));
    await world.change(first, { action: "stop" });
    await waitForFigure(world, said.getByText("Closed: Extra time?"));
    await world.publish("poll", polls[1] ?? {});
    await card("A goal?").getByRole("button", { name: "Yes" }).click();
    await said.getByText("+5 points").waitFor();
    const heard = await page.evaluate(() => (globalThis as { readonly said?: readonly string[] }).said);
    assert.deepEqual(heard?.filter(Boolean), [
      "Results: Extra time?",
      "Closed: Extra time?",
      "New: A goal?",
      "+5 points",
    ]);
    assert.deepEqual(faults, []);
  });

  it("rates by radio buttons with labels, and shows the mean", async () => {
    await world.publish("rating", {
      question: { fields: [field("question", "How was it?")] },
      custom_fields: [field("scale", 5), field("labels", ["awful", "poor", "fine", "good", "great"])],
    });
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "How was it?" });
    await card.getByRole("radio", { name: "3, fine" }).focus();
    await page.keyboard.press("Space");
    await page.keyboard.press("ArrowRight");
    assert.equal(await card.getByRole("radio", { name: "4, good" }).isChecked(), true);
    await card.getByRole("button", { name: "Vote" }).click();
    await card.getByText("Counted").waitFor();
    await waitForFigure(world, card.getByText("4 of 5 on average"));
    await card.getByText("Votes: 1").waitFor();
    await assertFits(page);
    await assertAccessible(page);
    await picture(page, "rating");
    assert.deepEqual(faults, []);
  });

  it("sends a text to the team, and shows the texts that the team has chosen", async () => {
    const ask = await world.publish("ask", {
      custom_fields: [field("prompt", "What do you want to know?"), field("max_length", 20)],
    });
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "What do you want to know?" });
    const text = card.getByRole("textbox");
    await text.fill("<b>Why?</b>");
    await card.getByText("11 of 20").waitFor();
    assert.equal(await text.getAttribute("maxlength"), "20");
    await card.getByRole("button", { name: "Send" }).click();
    await card.getByText("Sent. The team reads it first.").waitFor();
    assert.equal(await card.getByRole("listitem").count(), 0);
    const path = `/elements/${ask}/answers`;
    const { json } = await world.author("GET", path);
    assert.deepEqual(json.data[0].attributes.text, "<b>Why?</b>");
    await world.author("PATCH", path, [
      { type: "answers", id: json.data[0].id, attributes: { shown: true } },
    ]);
    world.clock.advance(pastCachesMs);
    await card.getByRole("listitem").getByText("<b>Why?</b>").waitFor();
    await assertAccessible(page);
    await picture(page, "ask");
    assert.deepEqual(faults, []);
  });

  it("gathers the taps of a cheer, one report a second", async () => {
    await world.publish("cheer", {
      custom_fields: [field("prompt", "Louder!")],
      max_votes_per_user: 0,
      max_votes_per_option: 0,
    });
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "Louder!" });
    const reports: number[] = [];
    let profiles = 0;
    page.on("request", request => {
      if (request.url().endsWith("/action")) reports.push(Date.now());
      if (request.url().endsWith("/loyalty/profile")) profiles++;
    });
    const cheer = card.getByRole("button", { name: "Cheer" });
    await cheer.evaluate(button => {
      for (let tap = 0; tap < 8; tap++) (button as HTMLElement).click();
    });
    await page.clock.runFor(2_500);
    await waitForFigure(world, card.getByText("Cheers: 2"));
    assert.equal(reports.length, 2);
    const read = page.waitForRequest("**/loyalty/profile");
    await page.clock.runFor(6_000);
    await read;
    assert.equal(profiles, 2, "as the guest comes, and after both cheers");
    assert.deepEqual(faults, []);
  });

  it("counts down by the server's clock, also on a device that is three hours wrong or has slept", async () => {
    const target = new Date(world.clock.now() + 600_000).toISOString();
    await world.publish("countdown", {
      custom_fields: [field("title", "Kick-off"), field("target", target)],
    });
    const { page, faults } = await world.visit();
    const timer = page.getByRole("article", { name: "Kick-off" }).getByRole("timer");
    const left = async (): Promise<number> => {
      const [minutes = 0, seconds = 0] = ((await timer.textContent()) ?? "").split(":").map(Number);
      return minutes * 60 + seconds;
    };
    await page.clock.setSystemTime(1_750_000_000_000 - 3 * 3_600_000);
    const reloadedAt = performance.now();
    await page.reload();
    await timer.waitFor();
    const first = await left();
    const late = 600 - pastCachesMs / 1_000 - first;
    assert.ok(late >= -1 && late <= 3 + (performance.now() - reloadedAt) / 1_000, `${first} s`);
    // Asleep: the clock goes on, the timer of the page does not.
    const sleptAt = performance.now();
    const before = await left();
    world.clock.advance(300_000);
    const now = await page.evaluate("Date.now()");
    await page.clock.setSystemTime(Number(now) + 300_000);
    await page.clock.runFor(250);
    const slept = before - (await left());
    assert.ok(slept >= 299 && slept <= 303 + (performance.now() - sleptAt) / 1_000, `${slept} s`);
    world.clock.advance(300_000);
    await page.clock.setSystemTime(Number(now) + 600_000);
    await page.clock.runFor(250);
    await timer.getByText("Now").waitFor();

    // Awake: a slow connection is given its time.
    await page.getByRole("heading", { name: "Kick-off" }).waitFor();
    let streams = 0;
    let connect = (): void => {};
    const connected = new Promise<void>(resolve => {
      connect = resolve;
    });
    await page.route("**/live?*", async route => {
      streams++;
      await connected;
      await route.continue().catch(() => {});
    });
    world.clock.advance(300_000);
    await page.clock.setSystemTime(Number(now) + 900_000);
    const asked = page.waitForRequest("**/live?*");
    await page.clock.runFor(5_000);
    await asked;
    connect();
    await world.publish("message", { custom_fields: [field("title", "Awake"), field("body", "x")] });
    await page.getByRole("heading", { name: "Awake" }).waitFor();
    assert.equal(streams, 1, "once for each sleep");
    assert.deepEqual(faults, []);
  });

  it("plays media when asked, with captions, and shows what else fans read", async () => {
    const asset = (name: string) => `https://cdn.example/${name}`;
    await world.publish("media", {
      custom_fields: [
        field("asset", asset("goal.mp4")),
        field("caption", "The goal"),
        field("captions", asset("goal.vtt")),
      ],
    });
    await world.publish("message", {
      custom_fields: [field("body", "<strong>Rain</strong> is coming"), field("severity", "warning")],
    });
    await world.publish("cta", {
      custom_fields: [field("label", "Fan shop"), field("url", "https://shop.example/")],
    });
    await world.publish("cta", {
      custom_fields: [field("label", "Evil"), field("url", "javascript:alert(1)")],
    });
    const upload = await world.call(`/api/v2/spaces/${ids.space}/assets?name=crest.svg`, {
      body: `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="8"/>`,
      token: world.token,
    });
    const crest = upload.json.data.id;
    const described = { type: "assets", id: crest, attributes: { alt_text: "A crest" } };
    await world.author("PATCH", `/assets/${crest}`, described);
    await world.publish("message", {
      custom_fields: [field("title", "Pictured"), field("body", "Look"), field("image_url", crest)],
    });
    await world.publish("poll", {
      question: { options: [{ fields: [field("text", "Home"), field("image", crest)] }] },
    });
    const gone = crest.replace(/.{12}$/, "000000000000");
    await world.publish("message", {
      custom_fields: [field("title", "Bare"), field("body", "x"), field("image", gone)],
    });
    await world.publish("hologram", { custom_fields: [field("title", "Ghost")] });
    const { page, faults } = await world.visit();
    const video = page.locator("video");
    await video.waitFor();
    assert.equal(await video.getAttribute("autoplay"), null);
    assert.equal(await video.getAttribute("preload"), "none");
    assert.equal(await page.locator("track[kind=captions]").getAttribute("src"), asset("goal.vtt"));
    await page.getByText("Attention").first().waitFor();
    assert.equal(await page.locator("strong", { hasText: "Rain" }).count(), 1);
    const link = page.getByRole("link", { name: /shop.example/ });
    assert.deepEqual(
      [await link.getAttribute("target"), await link.getAttribute("rel")],
      ["_blank", "noopener noreferrer"],
    );
    assert.equal(await page.getByRole("article", { name: "Evil" }).getByRole("link").count(), 0);
    const pictured = page.getByRole("article", { name: "Pictured" }).getByRole("img", { name: "A crest" });
    await pictured.waitFor({ state: "attached" });
    assert.match((await pictured.getAttribute("src")) ?? "", /\/assets\/.*\/crest.svg$/);
    await page.getByRole("button", { name: /A crest.*Home/ }).waitFor();
    const bare = page.getByRole("article", { name: "Bare" });
    await bare.waitFor();
    assert.equal(await bare.locator("img").count(), 0, "the file is gone");
    await page.getByText("This app cannot show “hologram”.").waitFor();
    await picture(page, "still");
    assert.deepEqual(faults, []);
  });

  it("collects a reward once, and tells of it in a toast and a dialog", async () => {
    await world.publish("reward", {
      custom_fields: [
        field("title", "Welcome gift"),
        field("metric_id", "points"),
        field("amount", 50),
        field("action", "collect"),
      ],
    });
    await world.publish("poll", question("Enough?", "Yes", "No"));
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "Welcome gift" });
    await card.getByRole("button", { name: "Collect" }).click();
    await card.getByRole("button", { name: "Collected" }).waitFor();
    await page.getByText("You climb.").waitFor();
    await page.getByRole("status").getByText("Silver!").waitFor();
    assert.equal(await page.locator(".toasts:popover-open").count(), 1, "they lie above dialogs");
    await picture(page, "toast");
    await page.locator(".toast").getByRole("button", { name: "Close" }).click();
    await page.getByText("You climb.").waitFor({ state: "hidden" });
    await page.getByRole("article", { name: "Enough?" }).getByRole("button", { name: "Yes" }).click();
    const dialog = page.getByRole("dialog", { name: "Gold!" });
    await dialog.waitFor();
    await dialog.getByRole("button", { name: "Shop" }).waitFor();
    await picture(page, "modal");
    const read = page.waitForResponse(/\/read$/);
    await dialog.getByRole("button", { name: "Close" }).click();
    await read;
    await page.reload();
    await card.getByRole("button", { name: "Collected" }).waitFor();
    await page.getByRole("link", { name: "Me" }).click();
    await page.locator("dd").getByText("55").first().waitFor();
    await page.getByText("Reached: Silver").waitFor();
    await picture(page, "me");
    assert.deepEqual(faults, []);
  });

  it("shows two toasts at once, each for the 5 s in which it is seen, and says how many come", async () => {
    await world.publish("poll", question("Toasts?", "Yes", "No"));
    const { page, faults } = await world.visit();
    const data = ["One", "Two", "Three"].map(title => ({
      id: title,
      timestamp: 1,
      type: "rewardGranted",
      display: "toast",
      title: `Toast ${title}`,
      message: "",
      payload: { metricChanges: {}, inventoryChanges: { received: [], lost: [] }, milestoneChanges: {} },
    }));
    await page.route("**/loyalty/notifications*", route => route.fulfill({ json: { data } }));
    const toast = (name: string) => page.locator(".toast").getByText(`Toast ${name}`);
    const option = page.getByRole("article", { name: "Toasts?" }).getByRole("button", { name: "Yes" });
    await option.waitFor();
    await setHidden(page, true);
    await option.click();
    await toast("Two").waitFor();
    await page.getByText("+1 more").waitFor();
    assert.equal(await toast("Three").count(), 0);
    await holdClock(page);
    await page.clock.runFor(6_000);
    assert.equal(await toast("One").count(), 1, "nobody has seen it");
    await setHidden(page, false);
    await page.clock.runFor(4_000);
    assert.equal(await toast("One").count(), 1);
    await page.clock.runFor(1_500);
    await toast("One").waitFor({ state: "detached" });
    await toast("Three").waitFor();
    assert.equal(await toast("Two").count(), 0);
    await page.clock.runFor(6_000);
    await toast("Three").waitFor({ state: "detached" });
    assert.deepEqual(faults, []);
  });

  it("shows a group one at a time, and the board of a round of the event", async () => {
    const group = await world.publish("group", {
      custom_fields: [field("title", "Tonight"), field("layout", "sequence")],
    });
    const parent = { parent: { data: { type: "elements", id: group } } };
    await world.publish("message", { custom_fields: [field("title", "One"), field("body", "1")] }, parent);
    await world.publish("message", { custom_fields: [field("title", "Two"), field("body", "2")] }, parent);
    await world.publish("leaderboard", {
      custom_fields: [field("leaderboard_id", "overall"), field("round", 3)],
    });
    const board = (id: string) =>
      world.publish("leaderboard", { custom_fields: [field("leaderboard_id", id)] });
    await board("event:overall");
    const { page, faults } = await world.visit();
    const shown = page.getByRole("region", { name: "Tonight" });
    await shown.getByText("1 / 2").waitFor();
    await shown.getByRole("button", { name: "Next" }).click();
    await shown.getByRole("heading", { name: "Two" }).waitFor();
    assert.equal(await shown.getByRole("heading", { name: "One" }).count(), 0);
    await page.getByRole("link", { name: "Round 3" }).click();
    await page.locator("section.board").getByText("Nobody yet. Be the first.").waitFor();
    await picture(page, "round");
    await page.getByRole("link", { name: "Now" }).click();
    await page.locator(".timeline").getByRole("link", { name: "Overall" }).waitFor();
    await board("event:nobody");
    await world.publish("message", { custom_fields: [field("title", "Three"), field("body", "3")] });
    // A board that nobody has declared does not end the show.
    await page.getByRole("heading", { name: "Three" }).waitFor();
    await page.getByText("There is no board").waitFor();
    assert.deepEqual(faults, []);
  });
});
