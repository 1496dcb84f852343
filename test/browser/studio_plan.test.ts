/** A producer plans an event by the keyboard: the table of its elements, what they lack, and their order. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page, Route } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { question } from "./_show.ts";
import {
  assertAccessible,
  assertFits,
  openStudioWorld,
  press,
  type StudioWorld,
  useCatalogue,
} from "./_studio.ts";

type Attributes = Readonly<Record<string, unknown>>;

describe("the plan of an event in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
    await useCatalogue(world);
    await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes: { locales: ["en", "de"] },
    });
  });
  after(() => world.dispose());

  const to = (type: string, id: string) => ({ data: { type, id } });
  const asked = question("Who wins?", "Home", "Away");
  /** Makes a running event with elements, each of which may name the wrapper that shows it. */
  async function openEvent(
    elements: readonly (Attributes & { readonly name: string; readonly inside?: string })[],
    name = "Final",
  ): Promise<string> {
    const { json } = await world.author("POST", "/events", {
      type: "events",
      attributes: { name, action: "start" },
      relationships: { project: to("projects", ids.project) },
    });
    const event = to("events", json.data.id);
    const made = new Map<string, string>();
    for (const { inside, ...attributes } of elements) {
      const parent = inside === undefined ? {} : { parent: to("elements", made.get(inside) ?? "") };
      const { json: created, text } = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type: "poll", ...attributes },
        relationships: { event, ...parent },
      });
      assert.ok(created.data, text);
      made.set(attributes.name, created.data.id);
    }
    return json.data.id;
  }
  const row = (page: Page, name: string) => page.locator(".elements [data-id]").filter({ hasText: name });
  interface Stored extends Attributes {
    readonly id: string;
    readonly name: string;
    readonly parent: string | undefined;
  }
  const elementsOf = async (event: string): Promise<readonly Stored[]> => {
    const { json } = await world.author("GET", `/events/${event}/elements?sort=position&page[count]=100`);
    return json.data.map(
      ({
        id,
        attributes,
        relationships,
      }: {
        id: string;
        attributes: Attributes;
        relationships: { parent?: { data: { id: string } | null } };
      }) => ({
        ...attributes,
        id,
        parent: relationships.parent?.data?.id,
      }),
    );
  };
  const namesOf = async (event: string): Promise<string[]> =>
    (await elementsOf(event)).map(({ name }) => name);
  /** Counts the batches that a page sends. */
  function countBatches(page: Page): unknown[] {
    const sent: unknown[] = [];
    page.on("request", request => {
      if (request.url().endsWith("/operations")) sent.push(request.postDataJSON()["atomic:operations"]);
    });
    return sent;
  }

  it("shows elements with what they lack, moves them by keys and by drag, and opens the editor", async () => {
    const two = { name: "Two", question: { options: asked.question.options } };
    const event = await openEvent([
      { name: "One", action: "publish", ...asked },
      two,
      { ...two, name: "Three" },
    ]);
    const { page, faults } = await world.open(`#/events/${event}`);
    await page.getByRole("link", { name: "Plan", exact: true }).press("Enter");
    await row(page, "Two").getByText("Not yet: 1").waitFor();
    await row(page, "One").getByText("Live").waitFor();
    await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    await page.keyboard.press("ArrowDown");
    await page.locator("[data-id]:focus").waitFor();
    await row(page, "Two").focus();
    await page.keyboard.press("Alt+ArrowDown");
    await until("Two is the last one", async () => (await namesOf(event)).join() === "One,Three,Two");
    await page.keyboard.press("Control+z");
    await page.locator(".elements tbody tr").nth(1).filter({ hasText: "Two" }).waitFor();
    assert.deepEqual(await namesOf(event), ["One", "Two", "Three"]);
    await row(page, "Three").dragTo(row(page, "Two"));
    await until("Three was dragged", async () => (await namesOf(event)).join() === "One,Three,Two");
    await page.getByText("Ready? 2 of 2 cannot be published yet").press("Enter");
    await page.locator(".lacks").getByText("Expected the field question").first().waitFor();
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.setViewportSize({ width: 1_200, height: 900 });
    await row(page, "Two").focus();
    await page.keyboard.press("Enter");
    await page.getByLabel("Question").fill("Who is second?");
    assert.equal(await page.getByRole("columnheader", { name: "Type" }).count(), 0, "beside the editor");
    await page.keyboard.press("Escape");
    await row(page, "Two").getByText("Ready").waitFor();
    assert.equal(await page.getByRole("complementary", { name: "Editor" }).count(), 0);
    assert.deepEqual(faults, []);
  });

  it("shifts, copies and deletes many at once, each in one batch and with one way back", async () => {
    const timed = (name: string, start_offset: number) => ({
      name,
      start_mode: "timecode",
      start_offset,
      ...asked,
    });
    const target = await openEvent([], "Second show");
    world.clock.advance(5_000);
    const event = await openEvent([
      { name: "First", ...asked },
      { name: "Rail", content_type: "group" },
      { name: "Inside", inside: "Rail", ...asked },
      timed("Early", 3_000),
      timed("Late", 3_600),
    ]);
    world.clock.advance(5_000);
    const { page, faults } = await world.open(`#/events/${event}/plan`);
    const batches = countBatches(page);
    const dialog = page.getByRole("dialog");
    const offsets = async (): Promise<unknown[]> => (await elementsOf(event)).map(each => each.start_offset);
    await row(page, "Early").getByText("+50:00").waitFor();
    await row(page, "Early").focus();
    await page.keyboard.press("a");
    await page.getByText("5 chosen").waitFor();
    await press(page.getByRole("button", { name: "Shift times…" }));
    await dialog.getByText("2 with a time. 3 without one stay as they are.").waitFor();
    await dialog.getByLabel("By minutes and seconds").fill("-50:01");
    await page.keyboard.press("Enter");
    await dialog.getByText("The first one is at +50:00").waitFor();
    await assertAccessible(page);
    await dialog.getByLabel("By minutes and seconds").fill("+1:30");
    await page.keyboard.press("Enter");
    await row(page, "Late").getByText("+1:01:30").waitFor();
    assert.deepEqual(await offsets(), [0, 0, 0, 3_090, 3_690]);
    await press(page.getByRole("button", { name: "Shift times…" }));
    await dialog.getByLabel("By minutes and seconds").fill("-51:29");
    await dialog.getByText("1 would come to a time that has passed: taken by hand instead.").waitFor();
    await page.keyboard.press("Enter");
    await row(page, "Late").getByText("+10:01").waitFor();
    const [early] = (await elementsOf(event)).filter(({ name }) => name === "Early");
    assert.deepEqual([early?.state, early?.start_mode], ["non_scheduled", "manual"], "nobody sees it");
    await page.keyboard.press("Control+z");
    await row(page, "Early").getByText("+51:30").waitFor();
    await page.keyboard.press("Control+z");
    await row(page, "Early").getByText("+50:00").waitFor();
    await page.keyboard.press("Control+y");
    await row(page, "Early").getByText("+51:30").waitFor();
    await page.keyboard.press("Control+z");
    await row(page, "Early").getByText("+50:00").waitFor();

    // Pages of one event stand for a project with many.
    await page.route(/page%5Bcount%5D=100.*sort=-start_time|sort=-start_time.*page%5Bcount%5D=100/, route =>
      route.continue({ url: route.request().url().replace("page%5Bcount%5D=100", "page%5Bcount%5D=1") }),
    );
    await press(page.getByRole("button", { name: "Copy to…" }));
    const options = dialog.getByRole("option");
    const older = dialog.getByRole("button", { name: "Show older shows" });
    await older.waitFor();
    for (let count = 0; (await options.getByText("Second show").count()) === 0; count++) {
      assert.ok(count < 10, "it is on some page");
      const answered = page.waitForResponse(/page%5Bcursor%5D/);
      await press(older);
      await answered;
    }
    await dialog.getByLabel("Show").selectOption({ label: "Second show" });
    await press(dialog.getByRole("button", { name: "Copy" }));
    await page.getByText("Copied to Second show: 5").waitFor();
    assert.deepEqual(await namesOf(target), ["First", "Rail", "Inside", "Early", "Late"]);
    const copies = await elementsOf(target);
    assert.equal(copies.find(({ name }) => name === "Inside")?.parent, copies[1]?.id);
    assert.deepEqual(
      copies.map(({ state }) => state),
      Array(5).fill("non_scheduled"),
      "that show runs",
    );
    await page.keyboard.press("Control+z");
    await until("the copies are gone", async () => (await namesOf(target)).length === 0);
    await page.keyboard.press("Control+Shift+z");
    await until("they are there again", async () => (await namesOf(target)).length === 5);
    await page.keyboard.press("Control+z");
    await until("they are gone again", async () => (await namesOf(target)).length === 0);

    await press(page.getByRole("button", { name: "Choose none" }));
    for (const name of ["First", "Rail"]) {
      await row(page, name).focus();
      await page.keyboard.press("Space");
    }
    await page.keyboard.press("Delete");
    await dialog.getByText("Delete 2 elements?").waitFor();
    // Undo is pressed while the answer to the deletion is on its way.
    let arrive = (): void => {};
    const arrived = new Promise<void>(resolve => {
      arrive = resolve;
    });
    const hold = async (route: Route): Promise<void> => {
      const response = await route.fetch();
      await arrived;
      await route.fulfill({ response });
    };
    await page.route("**/operations", hold, { times: 1 });
    await press(dialog.getByRole("button", { name: "Delete" }));
    await until("they are gone", async () => (await namesOf(event)).join() === "Inside,Early,Late");
    await page.keyboard.press("Control+z");
    arrive();
    await until(
      "they are back",
      async () => (await namesOf(event)).join() === "First,Rail,Inside,Early,Late",
    );
    const names = async () => (await namesOf(event)).join();
    await page.keyboard.press("Control+Shift+z");
    await until("they are deleted again", async () => (await names()) === "Inside,Early,Late");
    await page.keyboard.press("Control+z");
    await until("they are back once more", async () => (await names()) === "First,Rail,Inside,Early,Late");
    const back = await elementsOf(event);
    assert.equal(back[2]?.parent, back[1]?.id, "what was inside is inside again");
    assert.equal(batches.length, 14);

    await row(page, "Late").focus();
    await page.keyboard.press("Space");
    await press(page.getByRole("button", { name: "Shift times…" }));
    await dialog.getByLabel("By minutes and seconds").fill("+1:30");
    await page.keyboard.press("Enter");
    await row(page, "Late").getByText("+1:01:30").waitFor();
    await page.clock.fastForward(3_700_000);
    await page.keyboard.press("Control+z");
    await page.getByText("By hand now, as its time has passed: 1.").waitFor();
    assert.equal((await elementsOf(event)).at(-1)?.start_mode, "manual");
    assert.deepEqual(faults, []);
  });

  it("pastes elements after a preview, in one batch, and nothing where a row has a fault", async () => {
    const event = await openEvent([{ name: "First", ...asked }]);
    world.clock.advance(5_000);
    const { page, faults } = await world.open(`#/events/${event}/plan`);
    const batches = countBatches(page);
    await row(page, "First").waitFor();
    await press(page.getByRole("button", { name: "Paste…" }));
    const dialog = page.getByRole("dialog", { name: "Paste elements" });
    const text = dialog.getByLabel("CSV with a header row");
    const csv = "type,name,question,option 1,option 2,at\npoll,Second,<img src=x>,Home,Away,1:00:00\n";
    await text.fill(`${csv}poll,First,Who?,Home,Away,\n`);
    await dialog.getByText("Row 3").waitFor();
    await dialog.getByText("The event has an element of the name First already").waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Make elements" }).isDisabled(), true);
    const { height: line } = (await dialog.getByRole("columnheader", { name: "Type" }).boundingBox()) ?? {};
    assert.ok(Number(line) < 45, `a word is broken: ${line} px`);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await text.fill(`${csv}poll,Third,Now?,Home,Away,0:01\n`);
    await dialog.getByRole("row", { name: "Third" }).getByText("has passed: taken by hand").waitFor();
    await press(dialog.getByRole("button", { name: "Make 2 elements" }));

    await row(page, "Second").getByText("+1:00:00").waitFor();
    assert.equal((await elementsOf(event)).find(({ name }) => name === "Third")?.state, "non_scheduled");
    await page.keyboard.press("Control+z");
    await until("it is gone", async () => (await namesOf(event)).join() === "First");
    await row(page, "Second").waitFor({ state: "detached" });
    await page.keyboard.press("Control+Shift+z");
    // The page may still show the row that is gone.
    await until("it is made again", async () => (await namesOf(event)).includes("Second"));
    await row(page, "Second").getByText("+1:00:00").waitFor();
    await page.keyboard.press("Control+z");
    await until("it is gone again", async () => (await namesOf(event)).join() === "First");
    assert.equal(batches.length, 4);
    assert.deepEqual(faults, []);
  });

  it("edits lists of numbers and of truths", async () => {
    // A project without an app takes elements of any type.
    const { json } = await world.author("POST", "/events", {
      type: "events",
      attributes: { name: "Final" },
      relationships: { project: to("projects", ids.otherProject) },
    });
    const draft = async (content_type: string, event: string): Promise<string> => {
      const { json: made } = await world.author("POST", "/elements", {
        type: "elements",
        attributes: { content_type },
        relationships: { event: to("events", event) },
      });
      return made.data.id;
    };
    const id = await draft("lineup", json.data.id);
    const list = (key: string, type: string) => ({ key, label: key, type, many: true });
    const properties = [list("shirts", "integer"), list("odds", "number"), list("fit", "boolean")];
    const definition = { name: "Line-up", content_type: "lineup", custom_fields: [{ properties }] };
    const { page, faults } = await world.open("");
    const editor = (shown: Page) => shown.getByRole("complementary", { name: "Editor" });
    await page.route("**/content_types/lineup", route =>
      route.fulfill({
        contentType: "application/vnd.api+json",
        json: { data: { type: "content_types", id: "lineup", attributes: { definition } } },
      }),
    );
    await page.goto(`${world.url}/studio#/events/${json.data.id}/plan/${id}`);
    await editor(page).getByLabel("shirts").pressSequentially("7\n10\n");
    assert.equal(await editor(page).getByLabel("shirts").inputValue(), "7\n10\n");
    await editor(page).getByLabel("odds").pressSequentially("1.50\n-2");
    await editor(page).getByLabel("fit").fill("true\nfalse");
    await page.clock.runFor(1_600);
    const values = async () =>
      (await world.author("GET", `/elements/${id}`)).json.data.attributes.custom_fields.map(
        (field: { readonly values: { readonly all: unknown } }) => field.values.all,
      );
    await until("all are stored", async () => (await values()).length === 3);
    assert.deepEqual(await values(), [
      [7, 10],
      [1.5, -2],
      [true, false],
    ]);
    assert.deepEqual(faults, []);
  });
});
