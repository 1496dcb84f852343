/** The states of the show in Chromium: empty, loading, offline, refused, over; and what devices and producers do to it. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
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
import { assertAccessible, assertFits, holdClock } from "./_studio.ts";

describe("the states of the show", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
    await world.publish("poll", question("Who wins?", "Home", "Away"));
  });
  after(() => world.dispose());

  const poll = (page: Page) => page.getByRole("article", { name: "Who wins?" });
  /** Returns how many votes of the fan of a page the server has. */
  async function votesOf(page: Page): Promise<number> {
    const token = await page.waitForFunction(
      key => JSON.parse(localStorage.getItem(key) ?? "{}").session?.space?.token as string | undefined,
      `grandstand:${ids.project}`,
    );
    const answer = await world.call(`/api/loyalty/votes?event_id=${world.event}`, {
      token: (await token.jsonValue()) ?? "",
    });
    return answer.json.data.length;
  }
  /** Signs a new account in. */
  async function enter(page: Page, email: string): Promise<void> {
    await page.getByText("Keep your points").click();
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password").fill("a long and good password");
    await page.getByRole("button", { name: "Create an account" }).click();
    // Guests can sign out, too; the form stays until they have the account.
    await page.getByLabel("E-mail").waitFor({ state: "hidden" });
  }

  it("keeps a vote through 30 s without a network, says so, and goes on with a press", async () => {
    const { page, faults } = await world.visit();
    await poll(page).waitFor();
    const context = page.context();
    await context.setOffline(true);
    await page.route("**/live?*", route => route.abort());
    await poll(page).getByRole("button", { name: "Home" }).click();
    await poll(page).getByText("Kept.").waitFor();
    // Silence ends the stream, wherever the browser keeps it open.
    await page.clock.fastForward(50_000);
    await page.clock.runFor(12_000);
    await page.getByText("No connection.").waitFor();
    await page.getByText("Votes kept for later: 1").waitFor();
    await page.getByText(/As of \d/).waitFor();
    await assertAccessible(page);
    await picture(page, "offline");
    // From here on the press alone asks again.
    await holdClock(page);
    const asked = page.waitForRequest("**/live?*");
    await page.getByRole("button", { name: "Try again" }).click();
    await asked;
    await page.unroute("**/live?*");
    await page.clock.resume();
    await context.setOffline(false);
    await page.getByText("No connection.").waitFor({ state: "hidden" });
    await poll(page).getByText("Counted").waitFor();
    assert.equal(await votesOf(page), 1);
    assert.deepEqual(faults, []);
  });

  it("keeps the vote of a fan whose session ends, and never sends it for another one", async () => {
    const { page, faults } = await world.visit(`?event=${world.event}#/me`);
    await enter(page, "ann@fans.example");
    await page.getByRole("link", { name: "Now" }).click();
    const stored = await page.evaluate(() => Object.values(localStorage).join(" "));
    const userId = /userId":"([^"]+)/.exec(stored)?.[1];
    const issued = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Operators",
      permissions: ["users:write"],
    });
    const headers = { "x-api-key": issued.key, "x-api-secret": issued.secret };
    const path = `/internal/identity/projects/${ids.project}/users/${userId}/sessions`;
    assert.equal((await world.call(path, { method: "DELETE", headers })).status, 200);
    world.clock.advance(5_000);
    await poll(page).getByRole("button", { name: "Away" }).click();
    const dialog = page.getByRole("dialog", { name: "Please sign in again" });
    await dialog.getByLabel("Password").waitFor();
    await picture(page, "session-ended");
    await dialog.getByRole("button", { name: "Go on as a guest" }).click();
    await poll(page).getByText("Sign in again to send it").waitFor();
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByLabel("Your name").fill("Ben");
    await page.getByRole("button", { name: "Join with a name" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.reload();
    await page.getByRole("link", { name: "Now" }).click();
    assert.equal(await poll(page).getByRole("button", { pressed: true }).count(), 0);
    assert.equal(await votesOf(page), 0);
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("Keep your points").click();
    await page.getByLabel("E-mail").fill("ann@fans.example");
    await page.getByLabel("Password").fill("a long and good password");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await poll(page).getByText("Counted").waitFor();
    assert.equal(await votesOf(page), 1);
    assert.deepEqual(faults, []);
  });

  it("takes a guest's points along to an account, and deletes the account when asked", async () => {
    const { page, faults } = await world.visit();
    await poll(page).getByRole("button", { name: "Home" }).click();
    await poll(page).getByText("Counted").waitFor();
    await page.getByRole("link", { name: "Me" }).click();
    await page.getByText("You take part as a guest").waitFor();
    await enter(page, "guest@fans.example");
    await page.locator("dd").getByText("5", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Delete my account" }).click();
    const dialog = page.getByRole("dialog", { name: "Delete my account" });
    await picture(page, "delete");
    await dialog.getByRole("button", { name: "Delete my account" }).click();
    await page.getByLabel("Your name").waitFor();
    await page.getByText("How to earn points").waitFor();
    await page.getByText("Oracle").waitFor();
    await picture(page, "me-empty");
    assert.deepEqual(faults, []);
  });

  it("tells a fan that the server is full, and sends the vote when there is room", async () => {
    const { page } = await world.visit(`?event=${world.event}#/me`);
    await page.getByLabel("Your name").waitFor();
    let refused = 0;
    await page.route("**/v1/user", route => {
      refused += 1;
      return route.fulfill({ status: 429, headers: { "retry-after": "40" }, body: "{}" });
    });
    // A fan who is at Me is made no guest.
    await page.clock.fastForward(61_000);
    await page.getByRole("link", { name: "Now" }).click();
    await poll(page).getByRole("button", { name: "Home" }).click();
    await poll(page)
      .getByText(/Many people are joining.* [1-4]?\d s/)
      .waitFor();
    assert.equal(refused, 1);
    await picture(page, "crowded");
    await page.unroute("**/v1/user");
    await page.clock.fastForward(41_000);
    await poll(page).getByText("Counted").waitFor();
  });

  it("shows a skeleton while it waits, and says so where the server is busy", async () => {
    const { page } = await world.visit(`?event=${world.event}`);
    await page.route("**/live?*", route =>
      route.fulfill({ status: 503, headers: { "retry-after": "30" }, body: "{}" }),
    );
    await page.reload();
    await page.getByText("Busy. You keep your place").waitFor();
    assert.equal(await page.locator(".skeleton").count(), 1);
    await picture(page, "busy");
    await page.goto(`${world.url}/show?event=${world.event}#/board`);
    await page.locator(".row-skeleton").first().waitFor();
    await picture(page, "board-loading");
  });

  it("shows what is next where nothing runs, and what there was where an event has gone", async () => {
    const to = { data: { type: "projects", id: ids.project } };
    const add = async (name: string, attributes: object): Promise<string> => {
      const relationships = { project: to };
      const event = { type: "events", attributes: { name, ...attributes }, relationships };
      const { json } = await world.author("POST", "/events", event);
      world.clock.advance(pastCachesMs);
      return json.data.id;
    };
    const running = await world.visit(`?event=${await add("Empty", { action: "start" })}`);
    await running.page.getByText("The show has begun").waitFor();
    await picture(running.page, "empty");
    const tomorrow = Math.floor(world.clock.now() / 1_000) + 86_400;
    const later = await add("Later", { start_mode: "clock", start_at: tomorrow });
    await running.page.goto(`${world.url}/show?event=${later}`);
    await running.page.getByText(/^Begins /).waitFor();
    await running.page
      .getByRole("timer")
      .getByText(/^23:59:\d\d$/)
      .waitFor();
    const encore = await add("Encore", { action: "start", on_demand_duration: 86_400 });
    const stopped = { type: "events", id: encore, attributes: { action: "stop" } };
    assert.equal((await world.author("PATCH", `/events/${encore}`, stopped)).status, 204);
    world.clock.advance(pastCachesMs);
    await running.page.goto(`${world.url}/show?event=${later}&locale=en#/events`);
    await running.page.getByRole("link", { name: /Encore/ }).waitFor();
    const states = await running.page.locator(".events [data-state]").allTextContents();
    assert.deepEqual(states.slice(-2), ["Planned", "Have a look"], "below those that run and come");
    const id = await add("Gone", {});
    const { page, faults } = await world.visit(`?event=${id}`);
    await page.getByText("Starts when the host is ready").waitFor();
    assert.equal((await world.author("DELETE", `/events/${id}`)).status, 204);
    world.clock.advance(pastCachesMs);
    await page.getByText("This show has moved or ended").waitFor();
    await page.getByRole("link", { name: "Final" }).waitFor();
    await page.clock.runFor(12_000);
    assert.equal(await page.getByText("No connection.").count(), 0, "it is gone, and asked for no more");
    await picture(page, "moved");
    await page.goto(`${world.url}/show?project=${ids.project}&theme=dark&locale=en`);
    const link = page.getByRole("link", { name: /Go to / });
    assert.match((await link.getAttribute("href")) ?? "", /^\?event=[\w-]+&locale=en&theme=dark$/);
    await picture(page, "next");
    const root = page.locator("html");
    assert.equal(await root.evaluate(each => getComputedStyle(each).colorScheme), "dark");
    const dress = (show: object) =>
      world.author("PATCH", `/projects/${ids.project}`, {
        type: "projects",
        id: ids.project,
        attributes: { services: { show } },
      });
    await dress({ colours: { accent: "#0b6e4f", ground: "#fffaf5", ink: "#231815" } });
    world.clock.advance(pastCachesMs);
    await page.reload();
    await link.waitFor();
    const ground = await root.evaluate(each => getComputedStyle(each).getPropertyValue("--ground"));
    assert.equal(ground.trim(), "#fffaf5");
    const scheme = await root.evaluate(each => getComputedStyle(each).colorScheme);
    assert.equal(scheme, "light", "that of the ground, whatever the address says");
    await dress({});
    world.clock.advance(pastCachesMs);
    assert.deepEqual(faults, []);
  });

  it("says once that no show is planned, at Now and under Events", async () => {
    const { page, faults } = await world.visit(`?project=${ids.otherProject}`);
    await page.getByText("No show is planned").waitFor();
    await assertAccessible(page);
    await picture(page, "no-show");
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByRole("link", { name: "Events" }).and(page.locator("[aria-current]")).waitFor();
    await page.getByText("No show is planned").waitFor();
    assert.deepEqual(faults, []);
  });

  it("lists no hidden board, also not one that is hidden meanwhile, and lists it once it is shown again", async () => {
    const boards = (hidden: readonly string[]) =>
      ["overall", "goals", "laps"].map(id => ({ id, ...(hidden.includes(id) && { visibility: "hidden" }) }));
    const other = await openShowWorld({ settings: { leaderboards: boards(["laps"]) } });
    const ofEvent = field("leaderboard_id", "event:nobody");
    await other.publish("leaderboard", { custom_fields: [ofEvent] });
    await other.publish("leaderboard", { custom_fields: [field("leaderboard_id", "goals")] });
    const { page, faults } = await other.visit(`?event=${other.event}#/board/laps`);
    const tabs = page.locator(".tabs a");
    await page.getByText("Nobody yet. Be the first.").waitFor();
    assert.deepEqual(await tabs.allTextContents(), ["Overall", "Goals"]);
    await page.goto(`${other.url}/show?event=${other.event}#/`);
    // Nobody has declared the board of the first element.
    await page.getByText("There is no board").waitFor();
    await page.getByRole("link", { name: "Goals" }).waitFor();
    await page.goto(`${other.url}/show?event=${other.event}#/board/goals`);
    await page.getByText("Nobody yet. Be the first.").waitFor();
    let streams = 0;
    page.on("request", request => {
      if (/\/live\?/.test(request.url())) streams++;
    });
    async function hide(...hidden: readonly string[]): Promise<void> {
      const attributes = { services: { leaderboards: boards(hidden) } };
      const project = { type: "projects", id: ids.project, attributes };
      assert.equal((await other.author("PATCH", `/projects/${ids.project}`, project)).status, 204);
      other.clock.advance(pastCachesMs);
    }
    await hide("goals", "laps");
    await tabs.getByText("Goals").waitFor({ state: "detached" });
    await hide("laps");
    await tabs.getByText("Goals").waitFor();
    await page.getByText("Nobody yet. Be the first.").waitFor();
    await hide("goals", "laps");
    await tabs.getByText("Goals").waitFor({ state: "detached" });
    assert.equal(streams, 0, "the stream that it had has said so");
    await page.getByRole("heading", { name: "Final" }).waitFor();
    for (const [name, score] of [
      ["Ann", 5],
      ["Ben", 9],
    ] as const) {
      const { userId } = await other.fan(name);
      const place = `/projects/${ids.project}/leaderboards/overall/users/${userId}`;
      const written = await other.call(place, { method: "PUT", token: other.token, body: { score } });
      assert.equal(written.status, 200);
      await waitForFigure(other, page.getByText(name));
    }
    await page.getByRole("listitem").filter({ hasText: "Ann" }).getByText("Places: -1").waitFor();
    await assertAccessible(page);
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByText("There is no board").nth(1).waitFor();
    await overtake(other, page);
    assert.deepEqual(faults, []);
    await other.dispose();
  });

  /** Lets somebody overtake the fan of a page far below the leaders, where no list of them changes. */
  async function overtake({ call, publish, platform, token, clock, url, event }: ShowWorld, page: Page) {
    async function score(userId: string, points: number): Promise<void> {
      const place = `/projects/${ids.project}/leaderboards/overall/users/${userId}`;
      const written = await call(place, { method: "PUT", token, body: { score: points } });
      assert.equal(written.status, 200, written.text);
    }
    for (let index = 0; index < 51; index++) await score(`leader-${index}`, 100 + index);
    await score("rival", 1);
    for (let index = 0; index < 60; index++) await score(`tail-${index}`, 0);
    await publish("leaderboard", {
      custom_fields: [field("leaderboard_id", "overall"), field("limit", 2)],
    });
    // A fragment may be anything.
    await page.goto(`${url}/show?event=${event}#/me/50%`);
    await page.getByLabel("Your name").fill("Cem");
    await page.getByRole("button", { name: "Join with a name" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    const { userId } = await page.evaluate(
      key => JSON.parse(localStorage.getItem(key) ?? "{}").session,
      `grandstand:${ids.project}`,
    );
    await score(userId, 2);
    await platform.idle();
    clock.advance(pastCachesMs);
    await page.getByRole("link", { name: "Board" }).click();
    const mine = page.locator("li[data-mine=true]");
    await mine.locator(".rank").getByText("54").waitFor();
    await page.getByRole("heading", { name: /^You Top 4\d%$/ }).waitFor();
    await score("rival", 3);
    await platform.idle();
    clock.advance(pastCachesMs);
    await page.clock.fastForward(20_000);
    await mine.locator(".rank").getByText("55").waitFor();
    await mine.getByText("Places: -1").waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await page.locator(".element li[data-mine=true] .rank").getByText("55").waitFor();
    assert.equal(await page.locator(".element:has([data-mine=true]) .rows li").count(), 3);
  }

  it("makes a guest at a random moment of the first minute in which a running show is seen", async () => {
    const event = { name: "Soon" };
    const { json } = await world.author("POST", "/events", {
      type: "events",
      attributes: event,
      relationships: { project: { data: { type: "projects", id: ids.project } } },
    });
    const { id } = json.data;
    world.clock.advance(pastCachesMs);
    const { page, faults } = await world.visit(`?event=${id}`);
    let guests = 0;
    page.on("request", request => {
      if (request.method() === "POST" && request.url().endsWith("/v1/user")) guests++;
    });
    await page.getByText("Starts when the host is ready").waitFor();
    await page.clock.runFor(61_000);
    assert.equal(guests, 0, "nothing runs");
    const started = { type: "events", id, attributes: { action: "start" } };
    assert.equal((await world.author("PATCH", `/events/${id}`, started)).status, 204);
    world.clock.advance(pastCachesMs);
    await page.getByText("The show has begun").waitFor();
    await setHidden(page, true);
    await page.clock.runFor(61_000);
    assert.equal(guests, 0, "nobody sees it");
    const asked = page.waitForRequest("**/v1/user");
    await setHidden(page, false);
    await page.clock.runFor(61_000);
    await asked;
    assert.deepEqual(faults, []);
  });

  it("offers another try where a part of the page is not there, as after an update", async () => {
    const { page } = await world.visit();
    await poll(page).waitFor();
    const part = /\/show\/more-/;
    await page.route(part, route => route.fulfill({ status: 404, body: "" }));
    await page.getByRole("link", { name: "Board" }).click();
    await page.getByText("That did not work: Board").waitFor();
    await page.getByRole("link", { name: "Now" }).click();
    await poll(page).waitFor();
    await page.goto(`${world.url}/show?event=${world.event}&locale=en#/me`);
    await page.getByText("That did not work: Me").waitFor();
    await page.unroute(part);
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByLabel("Your name").waitFor();
  });

  it("offers to sign in as the project says: with an account, a name alone, or not at all", async () => {
    const { page, faults } = await world.visit(`?event=${world.event}#/me`);
    const [name, mail] = [page.getByLabel("Your name"), page.getByText("Keep your points")];
    await name.waitFor();
    assert.equal(await mail.count(), 1);
    for (const [signIn, names] of [
      ["name", 1],
      ["none", 0],
    ] as const) {
      const attributes = { services: { show: { signIn } } };
      const project = { type: "projects", id: ids.project, attributes };
      assert.equal((await world.author("PATCH", `/projects/${ids.project}`, project)).status, 204);
      world.clock.advance(pastCachesMs);
      await page.reload();
      await page.getByText("How to earn points").waitFor();
      assert.deepEqual([await name.count(), await mail.count()], [names, 0], signIn);
    }
    await page.getByRole("link", { name: "Now" }).click();
    await poll(page).getByRole("button", { name: "Home" }).click();
    await poll(page).getByText("Counted").waitFor();
    const project = { type: "projects", id: ids.project, attributes: { services: { show: {} } } };
    assert.equal((await world.author("PATCH", `/projects/${ids.project}`, project)).status, 204);
    world.clock.advance(pastCachesMs);
    assert.deepEqual(faults, []);
  });

  it("shows thirty elements, and more further down", async () => {
    const other = await openShowWorld();
    for (let index = 1; index <= 32; index++)
      await other.publish("message", {
        custom_fields: [field("title", `Word ${index}`), field("body", "x")],
      });
    const { page, faults } = await other.visit();
    await page.getByRole("heading", { name: "Word 32" }).waitFor();
    const elements = page.getByRole("article");
    assert.equal(await elements.count(), 30);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.getByRole("heading", { name: "Word 1", exact: true }).waitFor();
    assert.equal(await elements.count(), 32);
    assert.deepEqual(faults, []);
    await other.dispose();
  });

  it("refuses a country that the project does not serve", async () => {
    const other = await openShowWorld({ settings: { location: { allow: ["DE"] } } });
    const { page, faults } = await other.visit();
    await page.getByText("not available where you are").waitFor();
    assert.equal(await page.getByRole("article").count(), 0);
    await picture(page, "refused");
    assert.deepEqual(faults, []);
    await other.dispose();
  });

  it("counts votes where the browser refuses storage, and where it is full", async () => {
    const refuses = () =>
      Object.defineProperty(globalThis, "localStorage", {
        get() {
          throw new DOMException("refused", "SecurityError");
        },
      });
    const isFull = () => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    };
    for (const script of [refuses, isFull]) {
      const { page, faults } = await world.visit();
      await page.addInitScript(script);
      await page.reload();
      await poll(page).getByRole("button", { name: "Home" }).click();
      await poll(page).getByText("Counted").waitFor();
      assert.deepEqual(faults, []);
    }
  });

  it("fits long options at 360 px and at 400 %, in forced colours and with reduced motion", async () => {
    const options = Array.from({ length: 8 }, (_, index) =>
      `Donaudampfschifffahrtsgesellschaft ${index} ${"wide ".repeat(40)}`.slice(0, 200),
    );
    await world.publish("poll", question("Long?", ...options));
    const { page, faults } = await world.visit();
    const card = page.getByRole("article", { name: "Long?" });
    await card.getByRole("button").nth(7).waitFor();
    await assertFits(page);
    await picture(page, "long");
    await page.setViewportSize({ width: 320, height: 256 });
    await assertFits(page);
    await page.emulateMedia({ forcedColors: "active", reducedMotion: "reduce" });
    await card.getByRole("button", { name: /^Donau\S+ 0/ }).click();
    await card.getByText("Counted").waitFor();
    assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
    await picture(page, "forced");
    assert.deepEqual(faults, []);
  });

  it("loads no stream and no image before a tap on a device that saves data", async () => {
    await world.publish("message", {
      custom_fields: [field("title", "Look"), field("body", "x"), field("image", "/nowhere.png")],
    });
    const { page } = await world.visit();
    await page.addInitScript(() => {
      Object.defineProperty(navigator, "connection", { value: { saveData: true } });
    });
    const accepts: (string | undefined)[] = [];
    page.on("request", request => {
      if (request.url().includes("/live?")) accepts.push(request.headers().accept);
    });
    await page.reload();
    const card = page.getByRole("article", { name: "Look" });
    await card.getByRole("button", { name: "Show image" }).waitFor();
    assert.ok(accepts.length > 0 && accepts.every(accept => accept !== "text/event-stream"));
    assert.equal(await card.locator("img").count(), 0);
    await card.getByRole("button", { name: "Show image" }).click();
    await card.locator("img").waitFor({ state: "attached" });
  });

  it("speaks six languages", async () => {
    const boards = { es: "Clasificación", fr: "Classement", pt: "Classificação", ar: "الترتيب" };
    const { page, faults } = await world.visit();
    for (const [locale, name] of Object.entries(boards)) {
      await page.goto(`${world.url}/show?event=${world.event}&locale=${locale}`);
      await page.getByRole("link", { name, exact: true }).waitFor();
    }
    assert.equal(await page.locator("html").getAttribute("dir"), "rtl");
    await poll(page).waitFor();
    await assertFits(page);
    await picture(page, "arabic");
    assert.deepEqual(faults, []);
  });
});
