/** The frame of the studio in a browser: signing in, choosing, watching, and what goes wrong meanwhile. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { type Fan, ids } from "../support/platform.ts";
import {
  assertAccessible,
  assertFits,
  holdClock,
  openShow,
  openStudioWorld,
  type StudioWorld,
} from "./_studio.ts";

/** Markup that must stay text. */
const hostile = '<img src=x onerror="document.title=1"> & <b>bold</b>';

describe("the studio in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  let show: Awaited<ReturnType<typeof openShow>>;
  before(async () => {
    world = await openStudioWorld();
    show = await openShow(world, ["Who wins?", hostile]);
  });
  after(() => world.dispose());

  it("signs in by a mailed code and leads to an event, and back", async () => {
    const { page, faults } = await world.open("", { token: null });
    await page.getByLabel("E-mail address").fill("sam@club.example");
    await assertAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByLabel("Code").fill("0");
    await page.keyboard.press("Enter");
    await page.getByText("the code is wrong").waitFor();
    const { code = "" } = world.mails.at(-1) as { readonly code?: string };
    await page.getByLabel("Code").fill(`${code.slice(0, 4)} ${code.slice(4)}`);
    await page.keyboard.press("Enter");
    for (const name of ["Club", "Club space", "Club app", "Final"]) {
      await page
        .locator("a.card")
        .filter({ hasText: new RegExp(`^${name}(Live|$)`) })
        .click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    }
    assert.equal(page.url(), `${world.url}/studio#/events/${show.event}`);
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByText("sam@club.example").waitFor();
    await assertAccessible(page);
    await page.keyboard.press("Escape");
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "Club app" }).waitFor();
    await assertAccessible(page);
    assert.deepEqual(faults, []);
  });

  it("shows an event at its address, with elements, votes and boards as they move", async () => {
    const { page, faults } = await world.open(`?project=${ids.project}&event=${show.event}`);
    const rows = page.locator(".item");
    await rows.nth(1).waitFor();
    assert.deepEqual(await rows.locator("strong").allTextContents(), ["Who wins?", hostile]);
    assert.equal(await page.getByRole("list", { name: "On air" }).locator(".item").count(), 1);
    const fans = await Promise.all(["Ann", hostile, "Bo"].map(name => world.fan(name)));
    const [first = "", second = ""] = fans.map(({ userId }) => userId);
    await vote(fans[0], show.elements[0], 1);
    await vote(fans[1], show.elements[0], 1);
    await vote(fans[2], show.elements[0], 2);
    await page.clock.runFor(2_000);
    await rows.locator(".bars li").first().getByText("2 · 67%").waitFor();
    const width = await rows
      .locator(".fill")
      .first()
      .evaluate(fill => (fill as SVGElement).style.transform);
    assert.equal(width, "scaleX(0.667)");
    await page.locator(".figure").filter({ hasText: "actions" }).getByText("3", { exact: true }).waitFor();
    // The list of elements is read every 5 s, with its own counts.
    const listed = page.waitForResponse(response => response.url().includes("/elements?"));
    await page.clock.runFor(5_000);
    await listed;
    await page.clock.runFor(100);
    await rows.locator(".bars li").first().getByText("2 · 67%").waitFor();
    await page.reload();
    await rows.locator(".bars li").first().getByText("2 · 67%").waitFor();
    await page.clock.runFor(5_000);
    await page.locator('.spark .line[d^="M"]').waitFor({ state: "attached" });

    await page.getByRole("link", { name: "Boards" }).click();
    await page.getByLabel("Leaderboard").selectOption({ label: "Overall" });
    await score(first, 5);
    await score(second, 3);
    await page.locator(".board li").nth(1).waitFor();
    await page.clock.runFor(1_000);
    await score(second, 9);
    await page.getByRole("img", { name: "up 1 place" }).waitFor();
    const board = await page
      .locator(".board li")
      .evaluateAll(list =>
        list.map(row =>
          [".rank", ".name", ".score", ".change"].map(part => row.querySelector(part)?.textContent),
        ),
      );
    assert.deepEqual(board, [
      ["1", hostile, "9", "▲ 1"],
      ["2", "Ann", "5", "▼ 1"],
    ]);
    for (const place of ["Boards", "Run"]) {
      await page.setViewportSize({ width: 1_200, height: 900 });
      await page.getByRole("link", { name: place }).click();
      await page
        .locator(place === "Run" ? ".item" : ".board li")
        .first()
        .waitFor();
      await assertAccessible(page);
      await page.setViewportSize({ width: 360, height: 800 });
      await assertFits(page);
    }
    assert.deepEqual(faults, []);
  });

  it("asks to sign in again when the token ends, and goes on where it was", async () => {
    const { page, faults } = await world.open(`#/projects/${ids.project}`, { token: "none" });
    await page.getByRole("button", { name: "Use an access token" }).click();
    await page.getByLabel("Access token").fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByText("not valid").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Access token").fill(world.token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Club app" }).waitFor();
    assert.equal(await page.getByRole("dialog").count(), 0);
    assert.equal(await page.evaluate(() => document.activeElement?.localName), "main");
    assert.equal(await page.evaluate(() => localStorage.length + document.cookie.length), 0);
    assert.deepEqual(faults, []);
  });

  it("signs in where the browser refuses storage, and fits a telephone", async () => {
    const { page, faults } = await world.open("", { token: null, viewport: { width: 390, height: 844 } });
    await page.addInitScript(() => {
      Object.defineProperty(window, "sessionStorage", {
        get() {
          throw new DOMException("Storage is blocked", "SecurityError");
        },
      });
    });
    await page.reload();
    await page.getByRole("button", { name: "Use an access token" }).click();
    await page.getByLabel("Access token").fill(world.token);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Organisations" }).waitFor();
    for (const name of ["Club", "Club space", "Club app"]) {
      await page
        .locator("a.card")
        .filter({ hasText: new RegExp(`^${name}$`) })
        .click();
      await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
    }
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("button", { name: "Sign out" }).waitFor();
    await page.keyboard.press("Escape");
    await assertFits(page);
    const [brand, account] = await Promise.all(
      [".brand", ".account"].map(part => page.locator(part).boundingBox()),
    );
    assert.ok(Math.abs((brand?.y ?? 0) - (account?.y ?? 99)) < 20, "brand and account share a line");
    assert.deepEqual(faults, []);
  });

  it("says what is missing, refused or out of reach, and tries again", async () => {
    const { page, faults } = await world.open(`#/projects/${ids.organisation}`);
    await page.getByRole("heading", { level: 2, name: "Not found" }).waitFor();
    await assertAccessible(page);
    let answer = { status: 429, headers: { "retry-after": "2" }, body: "{}" };
    await page.route("**/api/v2/events/**", route => route.fulfill(answer));
    await page.goto(`${world.url}/studio#/events/${show.event}`);
    await page.getByText("Too many requests").waitFor();
    answer = { ...answer, status: 503, body: '{"code": "busy", "detail": "The store is busy."}' };
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("The platform has a problem. The store is busy.").waitFor();
    await page.unroute("**/api/v2/events/**");
    let goOn = (): void => {};
    const asked = new Promise<void>(resolve => (goOn = resolve));
    await page.route("**/elements?*", async route => await asked.then(() => route.continue()));
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".skeleton").waitFor();
    goOn();
    await page.locator(".item").first().waitFor();
    await page.unroute("**/elements?*");
    await page.context().setOffline(true);
    await page.clock.runFor(2_000);
    await page.getByText(/Not live since/).waitFor();
    await page.context().setOffline(false);
    await page.clock.runFor(60_000);
    await page.getByText(/Not live since/).waitFor({ state: "detached" });
    assert.deepEqual(faults, []);
  });

  it("says so where a view has a fault, and shows the other ones", async () => {
    const { page, faults } = await world.open(`#/projects/${ids.project}/roles`);
    await page.getByText("People with a role").waitFor();
    await page.route(/\/projects\/[^/]+\/events\?/, route =>
      route.fulfill({ json: { data: [{}], links: {} } }),
    );
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByText("The page has a fault").waitFor();
    assert.equal(faults.length, 1);
    await page.getByRole("link", { name: "Roles" }).click();
    await page.getByText("People with a role").waitFor();
  });

  it("reads less while nobody sees it, and again at once when somebody does", async () => {
    const { page } = await world.open(`#/events/${show.event}`);
    let reads = 0;
    page.on("request", request => {
      if (request.url().includes("livestats")) reads += 1;
    });
    const turn = (isHidden: boolean): Promise<void> =>
      page.evaluate(value => {
        Object.defineProperty(document, "hidden", { configurable: true, value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    /** Returns how often the statistics are read in 12 s. */
    async function readsIn12Seconds(): Promise<number> {
      reads = 0;
      for (let second = 0; second < 12; second++) {
        await page.clock.runFor(1_000);
        // Time for an answer.
        await page.evaluate(() => fetch("/healthz"));
      }
      return reads;
    }
    await page.locator(".item").first().waitFor();
    await holdClock(page);
    assert.ok((await readsIn12Seconds()) > 6);
    await turn(true);
    assert.ok((await readsIn12Seconds()) <= 2);
    const requests = ["livestats.json", "/elements?"].map(name =>
      page.waitForRequest(request => request.url().includes(name)),
    );
    await turn(false);
    await Promise.all(requests);
  });

  async function vote(fan: Fan | undefined, elementId = "", option = 0): Promise<void> {
    await fan?.act("cheer", { elementId, option: String(option) });
    await world.platform.idle();
    world.clock.advance(1_000);
  }

  async function score(userId: string, points: number) {
    const path = `/projects/${ids.project}/events/${show.event}/leaderboards/overall/users/${userId}`;
    const answer = await world.call(path, { method: "PUT", token: world.token, body: { score: points } });
    assert.equal(answer.status, 200, answer.text);
    await world.time.advance(1_000);
  }
});
