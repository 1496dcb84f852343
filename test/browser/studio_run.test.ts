/** A producer runs a show by the keyboard: cue and take, stop and reveal, what is refused, what is lost, and what others do. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import {
  assertAccessible,
  assertFits,
  holdClock,
  openShow,
  openStudioWorld,
  press,
  type StudioWorld,
} from "./_studio.ts";

describe("running a show in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  const row = (page: Page, name: string) => page.locator(".item").filter({ hasText: name });
  const zone = (page: Page, name: string) => page.getByRole("list", { name, exact: true });
  const stateOf = async (id = ""): Promise<string> =>
    (await world.author("GET", `/elements/${id}`)).json.data.attributes.state;
  /** Counts the batches that a page sends. */
  function batches(page: Page): unknown[][] {
    const sent: unknown[][] = [];
    page.on("request", request => {
      if (request.url().endsWith("/operations")) sent.push(request.postDataJSON()["atomic:operations"]);
    });
    return sent;
  }

  it("cues and takes by keys, once however long a key is held, and never at once", async () => {
    const show = await openShow(world, ["One", "Two", "Three"]);
    const { page, faults } = await world.open(`#/events/${show.event}`);
    const sent = batches(page);
    await row(page, "Two").waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("ArrowDown");
    await page.locator("[data-id]:focus").waitFor();
    await row(page, "Two").focus();
    // The clock of the page stands, so that the cue is just now on a slow machine, too.
    await holdClock(page);
    const cue = row(page, "Two").getByRole("button", { name: "Cue" });
    const place = await cue.boundingBox();
    await page.keyboard.press("c");
    await page.clock.runFor(100);
    await row(page, "Two").getByRole("button", { name: "Take", exact: true }).waitFor();
    assert.deepEqual(await cue.boundingBox(), place, "Take comes beside it");
    await page.keyboard.press("t");
    assert.equal(sent.length, 0, "dead right after the cue");
    await page.clock.runFor(600);
    await page.getByText("Not taken, as the last press was a moment ago").waitFor({ state: "attached" });
    await page.keyboard.down("t");
    await page.keyboard.down("t");
    await page.keyboard.down("t");
    await zone(page, "On air").getByText("Two").waitFor();
    await page.getByRole("status").getByText("On air: Two").waitFor({ state: "attached" });
    await page.keyboard.up("t");
    assert.equal(sent.length, 1);
    assert.equal(await stateOf(show.elements[1]), "current");
    await until("the next row has the focus", () =>
      page.evaluate(() => document.activeElement?.textContent?.includes("Three") === true),
    );
    // The next Stop slides under the pointer of the first one.
    const stop = await row(page, "One").getByRole("button", { name: "Stop", exact: true }).boundingBox();
    const [x, y] = [(stop?.x ?? 0) + 9, (stop?.y ?? 0) + 9];
    await page.mouse.click(x, y);
    await page.clock.runFor(10);
    await zone(page, "Done").getByText("One").waitFor();
    await page.mouse.click(x, y);
    await page.getByText("Not done, as the rows have just moved.").waitFor({ state: "attached" });
    assert.equal(await stateOf(show.elements[1]), "current");
    await page.clock.resume();
    assert.equal(
      await row(page, "Two")
        .getByRole("button", { name: /revoke/i })
        .count(),
      0,
      "E16",
    );
    await row(page, "Two")
      .getByText(/on air 0:/)
      .waitFor();
    await page.keyboard.press("s");
    await zone(page, "Done").getByText("Two").waitFor();
    assert.equal(await stateOf(show.elements[1]), "past");
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("acts by no single key outside the timeline, in a field, or once they are switched off", async () => {
    const show = await openShow(world, ["One", "Two"]);
    const { page } = await world.open(`#/events/${show.event}`);
    await row(page, "Two").waitFor();
    await page.keyboard.press("c");
    assert.equal(await row(page, "Two").getAttribute("data-cued"), "false");
    await page.getByRole("switch", { name: "Keys: on" }).click();
    await row(page, "Two").focus();
    await page.keyboard.press("c");
    assert.equal(await row(page, "Two").getAttribute("data-cued"), "false");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("cue");
    await assertAccessible(page);
    await page.keyboard.press("Enter");
    await page.locator('.item[data-cued="true"]').filter({ hasText: "Two" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Take what is cued").waitFor();
    await page.keyboard.press("Escape");
    // The event holds publishes, and the clock stands until the take is cancelled.
    await page.getByRole("switch", { name: "Wait 3 s before a take: off" }).press("Enter");
    const { page: other } = await world.open(`#/events/${show.event}`);
    for (const each of [page, other]) await each.getByRole("switch", { name: "take: on" }).waitFor();
    const take = row(page, "Two").getByRole("button", { name: "Take", exact: true });
    await holdClock(page);
    await press(take);
    await page.getByText("On air in 3 s: Two").first().waitFor();
    await page.clock.runFor(2_900);
    await page.getByRole("button", { name: "Cancel Esc" }).press("Enter");
    await page.getByText("Not taken: Two").waitFor({ state: "attached" });
    await page.clock.runFor(600);
    assert.equal(await stateOf(show.elements[1]), "non_scheduled");
    await page.clock.resume();
    await press(take);
    await zone(page, "On air").getByText("Two").waitFor();
  });

  it("asks for the right option of a quiz, and names the votes that a revocation loses", async () => {
    const show = await openShow(world, ["One"]);
    const fan = await world.fan("Ann");
    await fan.act("cheer", { elementId: show.elements[0], option: "1" });
    const options = ["Yes", "No"].map(all => ({ fields: [{ key: "text", values: { all } }] }));
    await world.author("POST", "/elements", {
      type: "elements",
      attributes: {
        content_type: "quiz",
        name: "Asked",
        action: "publish",
        correct_option: 1,
        question: { options },
      },
      relationships: { event: { data: { type: "events", id: show.event } } },
    });
    await world.platform.idle();
    const { page, faults } = await world.open(`#/events/${show.event}`);
    const [answer, stop] = ["Answer", "Stop"].map(name =>
      row(page, "Asked").getByRole("button", { name, exact: true }),
    ) as [Locator, Locator];
    const place = await stop.boundingBox();
    await press(answer);
    await row(page, "Asked").getByText("answer revealed").waitFor();
    assert.equal(await answer.getAttribute("aria-disabled"), "true");
    assert.equal((await stop.boundingBox())?.x, place?.x, "no button takes the place of another one");
    await row(page, "One").focus();
    await page.keyboard.press("a");
    const dialog = page.getByRole("dialog");
    await assertAccessible(page);
    await dialog.getByRole("button", { name: "Away" }).click();
    await row(page, "One").getByText("✓ right").waitFor();
    await row(page, "One").getByText("answer revealed").waitFor();
    const { attributes } = (await world.author("GET", `/elements/${show.elements[0]}`)).json.data;
    assert.equal(attributes.correct_option, 2);
    assert.notEqual(attributes.answer_revealed_at_iso, null);
    await row(page, "One").getByRole("button", { name: "More for One" }).click();
    await page.getByRole("button", { name: "Revoke…" }).click();
    await dialog.getByText("with 1 vote of fans").waitFor();
    await page.keyboard.press("Escape");
    assert.equal(await stateOf(show.elements[0]), "current");
    await row(page, "One").getByRole("button", { name: "More for One" }).click();
    await page.getByRole("button", { name: "Revoke…" }).click();
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await zone(page, "Done").getByText("One").waitFor();
    assert.equal(await stateOf(show.elements[0]), "revoked");
    assert.deepEqual(faults, []);
  });

  it("publishes what is inside a group before the group, in one batch", async () => {
    const show = await openShow(world, ["One"]);
    const to = (type: string, id: string) => ({ data: { type, id } });
    const add = async (attributes: object, parent?: string): Promise<string> => {
      const relationships = {
        event: to("events", show.event),
        ...(parent && { parent: to("elements", parent) }),
      };
      return (await world.author("POST", "/elements", { type: "elements", attributes, relationships })).json
        .data.id;
    };
    const group = await add({ content_type: "group", name: "Tonight" });
    const inside = await add({ content_type: "poll", name: "Inside", question: { options: [] } }, group);
    const timed = { start_mode: "timecode", start_offset: 3_600 };
    await add({ content_type: "poll", name: "Hello", question: { options: [] }, ...timed });
    const { page } = await world.open(`#/events/${show.event}`);
    await row(page, "Tonight").getByText("1 inside").waitFor();
    await page.getByText(/Next by the clock: Hello in \d+:\d\d/).waitFor();
    assert.match((await zone(page, "Next").locator(".item").first().textContent()) ?? "", /Hello/);
    await row(page, "Hello").focus();
    await page.keyboard.press("Alt+ArrowDown");
    await page.getByText("its time decides its place").waitFor({ state: "attached" });
    await row(page, "Hello").getByRole("button", { name: "More for Hello" }).press("Enter");
    await page.getByRole("button", { name: "Shift times from here…" }).press("Enter");
    const by = page.getByLabel("By minutes and seconds");
    await by.fill("+1:30");
    await page.keyboard.press("Enter");
    await row(page, "Hello").getByText("at +1:01:30").waitFor();
    // The stream may be faster than the answer, with which the dialog closes and gives the focus back.
    await by.waitFor({ state: "detached" });
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("shift times");
    await page.getByRole("option", { name: "Shift all times to come…" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("combobox").waitFor({ state: "detached" });
    const sent = batches(page);
    await row(page, "Tonight").focus();
    await page.keyboard.press("c");
    await page.clock.runFor(600);
    await page.keyboard.press("t");
    await zone(page, "On air").getByText("Tonight").waitFor();
    assert.deepEqual(
      sent.map(batch => batch.map(each => (each as { readonly data: { readonly id: string } }).data.id)),
      [[inside, group]],
    );
  });

  it("asks before it takes what may be old, and queues nothing", async () => {
    const show = await openShow(world, ["One", "Two"]);
    const { page } = await world.open(`#/events/${show.event}`);
    await row(page, "Two").focus();
    await page.keyboard.press("c");
    await page.context().setOffline(true);
    await page.clock.runFor(2_000);
    await page.getByText(/Not live since/).waitFor();
    await page.keyboard.press("t");
    await page.getByRole("dialog").getByText("Not live. Take it anyway?").waitFor();
    await page.getByRole("button", { name: "Take", exact: true }).last().click();
    await row(page, "Two").getByText("The platform cannot be reached.").waitFor();
    await page.context().setOffline(false);
    await page.clock.runFor(60_000);
    await page.getByText(/Not live since/).waitFor({ state: "detached" });
    assert.equal(await stateOf(show.elements[1]), "non_scheduled");
  });

  it("says in the row why the platform refused, and moves and deletes with a way back", async () => {
    const show = await openShow(world, ["One", "Two", "Three"]);
    const { page } = await world.open(`#/events/${show.event}`);
    await row(page, "Three").focus();
    await page.keyboard.press("Control+z");
    await page.getByText("Nothing to take back. Undo covers").waitFor({ state: "attached" });
    await page.keyboard.press("Alt+ArrowUp");
    const order = async (): Promise<readonly string[]> =>
      (await world.author("GET", `/events/${show.event}/elements?sort=position`)).json.data.map(
        ({ attributes }: { attributes: { name: string } }) => attributes.name,
      );
    const expectOrder = (names: readonly string[]) =>
      until(`the order is ${names}`, async () => String(await order()) === String(names));
    await expectOrder(["One", "Three", "Two"]);
    assert.equal(
      await page.evaluate(() => document.activeElement?.querySelector("strong")?.textContent),
      "Three",
    );
    await page.keyboard.press("Control+z");
    await expectOrder(["One", "Two", "Three"]);
    await page.getByRole("button", { name: "Redo" }).click();
    await expectOrder(["One", "Three", "Two"]);
    await page.getByRole("button", { name: "Undo" }).click();
    await expectOrder(["One", "Two", "Three"]);
    await row(page, "Two").focus();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await row(page, "Two").waitFor({ state: "detached" });
    await page.keyboard.press("Control+z");
    await expectOrder(["One", "Three", "Two"]);
    // Somebody puts an element into a group, and the page has not heard of it yet.
    const add = async (attributes: object, parent?: string): Promise<string> => {
      const to = (type: string, id: string) => ({ data: { type, id } });
      const inside = parent === undefined ? {} : { parent: to("elements", parent) };
      const relationships = { event: to("events", show.event), ...inside };
      return (await world.author("POST", "/elements", { type: "elements", attributes, relationships })).json
        .data.id;
    };
    const group = await add({ content_type: "group", name: "Rail" });
    await row(page, "Rail").focus();
    let isCut = true;
    await page.route(/elements\?.*page/, route => (isCut ? route.abort() : route.continue()));
    page.on("request", request => {
      isCut &&= !request.url().endsWith("/operations");
    });
    const { question } = (await world.author("GET", `/elements/${show.elements[0]}`)).json.data.attributes;
    const inside = await add({ content_type: "poll", name: "Inside", question }, group);
    await page.keyboard.press("c");
    await page.clock.runFor(600);
    await page.keyboard.press("t");
    await row(page, "Rail").getByText("before its children: publish “Inside” first").waitFor();
    assert.equal(await stateOf(group), "non_scheduled");
    await page.locator(".item strong", { hasText: "Inside" }).waitFor();
    await row(page, "Rail").first().focus();
    await page.keyboard.press("c");
    await page.clock.runFor(600);
    await page.keyboard.press("t");
    await zone(page, "On air").getByText("Inside").waitFor();
    assert.equal(await stateOf(inside), "current");
  });

  it("keeps the buttons of the show where they are when it begins, and extends it", async () => {
    const { json } = await world.author("POST", "/events", {
      type: "events",
      attributes: { name: "Semi-final" },
      relationships: { project: { data: { type: "projects", id: ids.project } } },
    });
    const { page, faults } = await world.open(`#/events/${json.data.id}`);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    const places = () =>
      Promise.all(["Start the show", "Extra time", "Stop the show…"].map(name => button(name).boundingBox()));
    await button("Start the show").waitFor();
    await page.locator(".figure", { hasText: "connected" }).waitFor();
    const before = await places();
    await press(button("Start the show"));
    await page.getByRole("timer").waitFor();
    assert.deepEqual(await places(), before);
    assert.equal(await button("Start the show").getAttribute("aria-disabled"), "true");
    const times = async () => {
      const { attributes } = (await world.author("GET", `/events/${json.data.id}`)).json.data;
      return [attributes.extra_time_duration, attributes.on_demand_duration];
    };
    const onDemand = page.getByLabel(/^Minutes that it stays open/);
    const extend = async (minutes: string, extra: number): Promise<void> => {
      await page.getByLabel("Minutes more").fill(minutes);
      await button("Extend the show").press("Enter");
      await until("the times are stored", async () => (await times())[0] === extra);
      assert.deepEqual(await times(), [extra, 1_800]);
    };
    await press(button("Extra time"));
    await onDemand.fill("30");
    await extend("10", 600);
    await press(button("Extra time"));
    await until("the page has read the event", async () => (await onDemand.inputValue()) === "30");
    await extend("5", 900);
    assert.deepEqual(faults, []);
  });

  it("shows a dash in place of a figure that it has not heard", async () => {
    const show = await openShow(world, ["One"]);
    const { page } = await world.open(`#/events/${show.event}`);
    const figure = (label: string, value: string) =>
      page.locator(".figure").filter({ hasText: label }).getByText(value, { exact: true });
    await figure("actions", "0").waitFor();
    let answer: (() => void) | undefined;
    const held = new Promise<void>(resolve => {
      answer = resolve;
    });
    await page.route("**/livestats.json", route => held.then(() => route.continue()));
    await page.reload();
    for (const label of ["actions", "per second"]) await figure(label, "–").waitFor();
    await figure("–", "connecting").waitFor();
    answer?.();
    for (const label of ["actions", "per second"]) await figure(label, "0").waitFor();
  });

  /** Returns the token of somebody who may watch. */
  async function viewer(): Promise<string> {
    const { id: userId } = await world.platform.authors.findOrCreate("vi@club.example");
    await world.author("POST", `/projects/${ids.project}/roles`, {
      type: "scope_roles",
      attributes: { email: "vi@club.example", role: "viewer" },
    });
    return (await world.platform.authors.createToken({ userId, name: "Tests" })).token;
  }

  it("shows a viewer everything and why nothing can be pressed", async () => {
    const show = await openShow(world, ["One", "Two"]);
    const token = await viewer();
    const { page } = await world.open(`#/events/${show.event}`, { token });
    await page.getByText("Needs the role creator.").first().waitFor();
    const cue = row(page, "Two").getByRole("button", { name: "Cue" });
    assert.equal(await cue.getAttribute("aria-disabled"), "true");
    await cue.focus();
    await page.keyboard.press("Enter");
    assert.equal(await row(page, "Two").getAttribute("data-cued"), "false");
    await page.getByRole("status").getByText("Needs the role creator.").waitFor();
  });

  it("shows what others have cued and what they edit", async () => {
    const show = await openShow(world, ["One", "Two"]);
    const { page } = await world.open(`#/events/${show.event}`);
    const { page: other } = await world.open(`#/events/${show.event}`, { token: await viewer() });
    await row(page, "Two").focus();
    await page.keyboard.press("c");
    await until("the other page shows it", async () => {
      await world.time.advance(1_000);
      await other.clock.runFor(1_000);
      return (await row(other, "Two").getByText("has cued it").count()) === 1;
    });
    await other.locator(".figure", { hasText: "also here" }).getByText("Sam", { exact: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("complementary", { name: "Editor" }).waitFor();
    await until("the other page says who edits it", async () => {
      await world.time.advance(1_000);
      await other.clock.runFor(1_000);
      return (await row(other, "Two").getByText("Sam is here").count()) === 1;
    });
    assert.equal(await page.getByText("Sam is here").count(), 0, "not to Sam");
  });

  it("shows 60 rows of a long show, and grows by scrolling, in Run and in Plan", async () => {
    const { event } = await openShow(world, []);
    const relationships = { event: { data: { type: "events", id: event } } };
    const additions = Array.from({ length: 65 }, (_, index) => ({
      op: "add",
      data: { type: "elements", attributes: { content_type: "poll", name: `No. ${index}` }, relationships },
    }));
    const { status, text } = await world.call("/api/v2/operations", {
      token: world.token,
      headers: { "content-type": 'application/vnd.api+json; ext="https://jsonapi.org/ext/atomic"' },
      body: { "atomic:operations": additions },
    });
    assert.equal(status, 200, text);
    for (const view of ["run", "plan"]) {
      const { page } = await world.open(`#/events/${event}/${view}`);
      const rows = page.locator("[data-id]");
      await rows.nth(59).waitFor({ state: "attached" });
      await page.getByText("5 more", { exact: true }).waitFor({ state: "attached" });
      assert.equal(await rows.count(), 60);
      await page.getByText("5 more", { exact: true }).scrollIntoViewIfNeeded();
      await rows.nth(64).waitFor({ state: "attached" });
      assert.equal(await page.getByText("5 more", { exact: true }).count(), 0);
    }
  });

  it("shares the addresses of a show, with a code that cameras read", async () => {
    const show = await openShow(world, ["One"]);
    const { page, faults } = await world.open(`#/events/${show.event}`);
    await page.getByRole("button", { name: "Share", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Share the show" });
    const address = `${world.url.replace(/:\d+$/, ":8787")}/show?event=${show.event}`;
    assert.equal(await dialog.getByLabel("Page for fans", { exact: true }).inputValue(), address);
    await dialog.getByText("Only this machine can open these addresses").waitFor();
    assert.equal(
      await dialog.getByLabel("Big screen", { exact: true }).inputValue(),
      `${address}&view=screen`,
    );
    await dialog
      .getByRole("img", { name: `QR code of ${address}` })
      .locator("path[d^=M]")
      .waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await dialog.getByRole("button", { name: "Copy: Embed in your page as a plain frame" }).click();
    // What the page says lies above the dialog.
    await page.locator(".said:popover-open", { hasText: "Copied: " }).waitFor();
    await dialog.getByText("Copied", { exact: true }).waitFor();
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^<iframe src="http/);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await assertFits(page);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    const { event } = show;
    const stop = { type: "events", id: event, attributes: { action: "stop" } };
    await world.author("PATCH", `/events/${event}`, stop);
    const again = page.getByRole("button", { name: "Use this event again…" });
    await until("the page knows that the show is over", async () => {
      await world.time.advance(1_000);
      await page.clock.runFor(1_000);
      return (await again.count()) === 1;
    });
    await again.press("Enter");
    await page.getByLabel("Name of the new event").fill("Rerun");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Rerun" }).waitFor();
    await page.locator(".elements").getByText("One").waitFor();
    assert.deepEqual(faults, []);
  });
});
