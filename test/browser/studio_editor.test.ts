/** Producers edit elements in the studio: made from their type, saved while they type, merged with what others did. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator, Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { openShowWorld, question, type ShowWorld } from "./_show.ts";
import { assertAccessible, assertFits, holdClock, press, useCatalogue } from "./_studio.ts";

type Attributes = Readonly<Record<string, unknown>>;
interface Fields {
  readonly fields: readonly { readonly values: { readonly all: unknown } }[];
}
interface Stored {
  readonly name: string;
  readonly start_mode: string;
  readonly start_offset: number;
  readonly correct_option: number;
  readonly question: Fields & { readonly options: readonly Fields[] };
}

describe("editing an element in a browser", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld();
    await useCatalogue(world);
  });
  after(() => world.dispose());

  async function draft(type: string, attributes: Attributes, event = world.event): Promise<string> {
    const created = await world.author("POST", "/elements", {
      type: "elements",
      attributes: { content_type: type, ...attributes },
      relationships: { event: { data: { type: "events", id: event } } },
    });
    assert.equal(created.status, 201, created.text);
    return created.json.data.id;
  }
  const stored = async (id: string): Promise<Stored> =>
    (await world.author("GET", `/elements/${id}`)).json.data.attributes;
  const edit = (id: string) => world.open(`#/events/${world.event}/run/${id}`);
  const editor = (page: Page) => page.getByRole("complementary", { name: "Editor" });
  const optionTexts = ({ question: asked }: Stored): readonly unknown[] =>
    asked.options.map(option => option.fields[0]?.values.all);
  const saved = (page: Page) =>
    editor(page)
      .getByText(/^Saved /)
      .waitFor();

  it("saves a pause after the last keystroke, and loses none", async () => {
    const german = [{ key: "explanation", values: { de: "So war es" } }];
    const asked = question("When?", "1999", "2004");
    const id = await draft("quiz", { name: "year", ...asked, custom_fields: german });
    const { page, faults } = await edit(id);
    await editor(page).getByRole("button", { name: "de", exact: true }).click();
    assert.equal(await editor(page).getByLabel("Explanation").inputValue(), "So war es");
    await editor(page).getByPlaceholder("When?").waitFor();
    await editor(page).getByRole("button", { name: "All", exact: true }).click();
    const words = "In which year did the club win its first title?";
    const field = editor(page).getByLabel("Question");
    await holdClock(page);
    await field.fill("");
    await field.pressSequentially(words);
    assert.equal((await stored(id)).question.fields[0]?.values.all, "When?", "not yet");
    await page.clock.runFor(1_600);
    await page.clock.resume();
    await saved(page);
    assert.equal((await stored(id)).question.fields[0]?.values.all, words);
    await editor(page).getByLabel("Option 2 is right").check();
    await editor(page).getByRole("button", { name: "Move option 2 up" }).click();
    await editor(page).getByRole("button", { name: "+ Option" }).click();
    await editor(page).getByLabel("3. Text").fill("2010");
    await editor(page).getByLabel("Name for your team").fill("The year");
    await page.clock.runFor(1_600);
    await until("all of it is stored", async () => {
      const element = await stored(id);
      return element.name === "The year" && optionTexts(element).join() === "2004,1999,2010";
    });
    assert.equal((await stored(id)).correct_option, 1, "the right option moved");
    await editor(page).getByText("Time, votes and results").click();
    await editor(page).getByLabel("Published").selectOption("at a time of the show");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Not saved yet").waitFor();
    assert.equal((await stored(id)).start_mode, "manual", "no time is chosen yet");
    const offset = editor(page).getByLabel("Seconds after the start");
    await offset.fill("1");
    await page.clock.runFor(1_600);
    await editor(page).getByText("This time of the show has passed").first().waitFor();
    assert.equal((await stored(id)).start_mode, "manual", "a time that has passed puts nothing on air");
    await offset.fill("86400");
    await page.clock.runFor(1_600);
    await until("the time is stored", async () => (await stored(id)).start_mode === "timecode");
    await offset.fill("");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Not saved yet").waitFor();
    assert.equal((await stored(id)).start_offset, 86_400, "an empty time is none");
    await offset.fill("86400");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Not saved yet").waitFor({ state: "detached" });
    const planned = await world.author("POST", "/events", {
      type: "events",
      attributes: { name: "Next week" },
      relationships: { project: { data: { type: "projects", id: ids.project } } },
    });
    const later = await draft("message", { name: "later" }, planned.json.data.id);
    await page.goto(`${world.url}/studio#/events/${planned.json.data.id}/run/${later}`);
    await editor(page).getByRole("heading", { name: "Message" }).waitFor();
    await editor(page).getByText("Time, votes and results").click();
    await editor(page).getByLabel("Published").selectOption("at a time of the show");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Not saved yet").waitFor();
    assert.equal((await stored(later)).start_mode, "manual", "nor in a show that has not begun");
    await offset.fill("0");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Expected the field body").waitFor();
    await editor(page).getByLabel("Body").fill("Hello");
    await page.clock.runFor(1_600);
    await until("the begin is its time", async () => (await stored(later)).start_mode === "timecode");
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 740 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("has a form for each type of the catalogue, by the keyboard alone", async () => {
    await draft("quiz", { name: "There already" });
    const { page, faults } = await world.open(`#/events/${world.event}/run`);
    await page.getByRole("heading", { name: /^Preview of ./ }).waitFor();
    let typed: string | null = null;
    let arrive = (): void => {};
    // Escape comes while the answer to the save is on its way.
    await page.route("**/api/v2/elements/*", async route => {
      const isLast = typed !== null && route.request().postData()?.includes(`"${typed}"`) === true;
      const response = await route.fetch();
      if (isLast) {
        await new Promise<void>(resolve => {
          arrive = resolve;
        });
      }
      await route.fulfill({ response });
    });
    for (const [name, label, value] of [
      ["Message", "Title", "Good evening"],
      ["Poll", "Question", "Who will win?"],
      ["Rating", "Question", "How was it?"],
      ["Countdown", "Title", "Soon"],
      ["Call to action", "Label", "Tickets"],
      ["Ask", "Prompt", "What?"],
      ["Cheer", "Prompt", "Loud"],
      ["Leaderboard", "Leaderboard", "goals"],
      ["Group", "Title", "Half-time"],
      ["Media", "Caption", "The goal"],
      ["Prediction", "Explanation", "So it was"],
      ["Reward", "Title", "Welcome gift"],
    ] as const) {
      await page.keyboard.press("Escape");
      typed = null;
      arrive();
      // The editor saves before it closes.
      await editor(page).waitFor({ state: "detached" });
      await press(page.getByRole("button", { name: "New element" }));
      await press(page.locator(".menu").getByRole("button", { name, exact: true }));
      await editor(page).getByRole("heading", { name, exact: true }).waitFor();
      const field = editor(page).getByLabel(label).first();
      // The boards are read first.
      if (name === "Leaderboard") await field.getByText("Goals").waitFor({ state: "attached" });
      await field.focus();
      await page.keyboard.press("Control+A");
      typed = value;
      await page.keyboard.type(value);
      await page.keyboard.press("Tab");
      await until(`the ${name} is stored`, async () => {
        const id = /run\/([\w-]+)$/.exec(page.url())?.[1];
        return id !== undefined && JSON.stringify(await stored(id)).includes(`"${value}"`);
      });
    }
    arrive();
    assert.deepEqual(faults, []);
  });

  it("merges what two producers did, and asks where both changed the same", async () => {
    const id = await draft("quiz", { name: "title", duration: 30, ...question("When?", "1999", "2004") });
    const [one, other] = [(await edit(id)).page, (await edit(id)).page];
    await editor(other).getByLabel("Question").waitFor();
    await editor(one).getByLabel("Question").fill("In which year?");
    await one.clock.runFor(1_600);
    await saved(one);
    await editor(other).getByLabel("1. Text").fill("1998");
    await other.clock.runFor(1_600);
    await until("both are stored", async () => {
      const element = await stored(id);
      return (
        element.question.fields[0]?.values.all === "In which year?" && optionTexts(element)[0] === "1998"
      );
    });
    await editor(other).getByText("Somebody changed question").waitFor();
    assert.equal(await editor(other).getByLabel("Question").inputValue(), "In which year?");

    await holdClock(other);
    await editor(one).getByLabel("Name for your team").fill("Ann's");
    await editor(other).getByLabel("Name for your team").fill("Ben's");
    await one.clock.runFor(1_600);
    await until("one is first", async () => (await stored(id)).name === "Ann's");
    await other.clock.runFor(1_600);
    await other.clock.resume();
    const panel = editor(other).getByText("Somebody changed this while you typed");
    await panel.waitFor();
    await other.clock.runFor(5_000);
    assert.equal((await stored(id)).name, "Ann's", "nothing is sent before the choice");
    await editor(other)
      .getByLabel(/^Yours: Ben's/)
      .check();
    await editor(other).getByRole("button", { name: "Keep as chosen" }).click();
    await until("the choice is stored", async () => (await stored(id)).name === "Ben's");
    await panel.waitFor({ state: "detached" });

    await editor(one).getByRole("button", { name: "Close" }).focus();
    const undone = (text: string) => one.locator(".said").getByText(text).waitFor({ state: "attached" });
    await one.keyboard.press("Control+z");
    await undone("Not taken back: name of “Ann's”. Somebody has changed name since");
    await one.keyboard.press("Control+z");
    await undone("Taken back: question of “title”");
    const left = await stored(id);
    assert.deepEqual([left.question.fields[0]?.values.all, left.name], ["When?", "Ben's"]);
    assert.deepEqual(optionTexts(left), ["1998", "2004"]);
    assert.equal(await editor(one).getByLabel("Question").inputValue(), "When?");
    await one.keyboard.press("Control+Shift+z");
    await undone("Done again: question of “title”");
    assert.equal(await editor(one).getByLabel("Question").inputValue(), "In which year?");
    await one.keyboard.press("Control+z");
    await undone("Taken back: question of “title”");
    await one.route("**/api/v2/elements/**", route => route.abort());
    await editor(one).getByLabel("Question").fill("Never sent");
    await editor(one).getByRole("button", { name: "Close" }).focus();
    await editor(one).getByText("Not saved").waitFor();
    await one.keyboard.press("Control+z");
    await undone("Taken back: question of “Ben's”, which was not saved");
    assert.equal(await editor(one).getByLabel("Question").inputValue(), "When?");
    await one.keyboard.press("Control+Shift+z");
    await undone("Done again: question of “Ben's”, which was not saved");
    assert.equal(await editor(one).getByLabel("Question").inputValue(), "Never sent");
  });

  it("offers what was typed after the tab died, and keeps it beside an element that was deleted", async () => {
    const id = await draft("message", { name: "news" });
    const { page } = await edit(id);
    await editor(page).getByLabel("Title").waitFor();
    await page.route("**/api/v2/elements/**", route => route.abort());
    await editor(page).getByLabel("Title").fill("Breaking");
    await page.clock.runFor(2_000);
    await editor(page).getByText("Not saved").waitFor();
    await page.unroute("**/api/v2/elements/**");
    page.on("dialog", dialog => dialog.accept());
    await page.reload();
    await editor(page)
      .getByText(/kept text of yours/)
      .waitFor();
    await editor(page).getByRole("button", { name: "Take it" }).click();
    await until("it is stored", async () => JSON.stringify(await stored(id)).includes("Breaking"));
    await holdClock(page);
    await editor(page).getByLabel("Title").fill("Breaking news");
    assert.equal((await world.author("DELETE", `/elements/${id}`)).status, 204);
    await page.clock.runFor(2_000);
    await page.clock.resume();
    await editor(page).getByText("Somebody has deleted this element.").waitFor();
    await editor(page).getByRole("button", { name: "Restore with my text" }).click();
    await until("another element is open", async () => !page.url().endsWith(id));
    await editor(page).getByLabel("Title").waitFor();
    assert.equal(await editor(page).getByLabel("Title").inputValue(), "Breaking news");
  });

  it("keeps what was typed while a role or a session has ended, and saves it after", async () => {
    const id = await draft("message", { name: "late" });
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("vi@club.example");
    const attributes = { email: "vi@club.example", role: "creator" };
    const give = async (): Promise<string> => {
      const data = { type: "scope_roles", attributes };
      return (await world.author("POST", `/projects/${ids.project}/roles`, data)).json.data.id;
    };
    const isStored = (text: string) =>
      until(`${text} is stored`, async () => JSON.stringify(await stored(id)).includes(text));
    const role = await give();
    const session = await authors.createToken({ userId, name: "Tests" });
    const { page } = await world.open(`#/events/${world.event}/run/${id}`, { token: session.token });
    const title = editor(page).getByLabel("Title");
    await title.waitFor();
    assert.equal((await world.author("DELETE", `/scope_roles/${role}`)).status, 204);
    await title.fill("Without a role");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Your role here has ended").waitFor();
    assert.equal(await title.inputValue(), "Without a role");
    await give();
    await page.clock.runFor(10_100);
    await isStored("Without a role");

    await authors.revokeToken(userId, session.id);
    await title.fill("Signed out");
    await page.clock.runFor(1_600);
    await page.getByRole("button", { name: "Use an access token" }).click();
    await page.getByLabel("Access token").fill((await authors.createToken({ userId, name: "Again" })).token);
    await page.keyboard.press("Enter");
    await isStored("Signed out");
  });

  it("never writes into the field with the focus, and takes both texts where the producer joins them", async () => {
    const id = await draft("message", { name: "quiet" });
    const { page } = await edit(id);
    const name = editor(page).getByLabel("Name for your team");
    await name.focus();
    await world.author("PATCH", `/elements/${id}`, { type: "elements", id, attributes: { name: "loud" } });
    await editor(page)
      .getByText(/changed this field/)
      .waitFor();
    assert.equal(await name.inputValue(), "quiet");
    await name.press("End");
    await name.pressSequentially("er");
    await page.clock.runFor(1_600);
    await editor(page).getByLabel("Edit both").check();
    assert.ok(await name.isVisible());
    await editor(page).getByLabel("name, of both").fill("quieter, then loud");
    await editor(page).getByRole("button", { name: "Keep as chosen" }).click();
    await until("both are stored", async () => (await stored(id)).name === "quieter, then loud");

    await name.focus();
    await world.author("PATCH", `/elements/${id}`, { type: "elements", id, attributes: { name: "off" } });
    await editor(page)
      .getByText(/changed this field/)
      .waitFor();
    await name.press("Tab");
    await until("it is shown", async () => (await name.inputValue()) === "off");
  });

  it("keeps what was typed into an element that somebody published, for a clone", async () => {
    const id = await draft("quiz", { name: "late", ...question("When?", "1999", "2004") });
    const { page, faults } = await edit(id);
    await editor(page).getByLabel("Question").waitFor();
    await holdClock(page);
    await editor(page).getByLabel("Question").fill("In which year?");
    await world.change(id, { action: "publish" });
    await page.clock.runFor(1_600);
    await page.clock.resume();
    await editor(page)
      .getByText(/published this while you typed/)
      .waitFor();
    assert.equal(await editor(page).getByLabel("Question").inputValue(), "When?", "what fans see");
    await assertAccessible(page);
    page.on("dialog", dialog => dialog.accept());
    await page.reload();
    await editor(page).getByRole("button", { name: "Take it" }).click();
    await editor(page).getByText("In which year?").waitFor();
    await editor(page).getByRole("button", { name: "Clone as draft with my text" }).click();
    await until("the clone is open", async () => !page.url().endsWith(id));
    await editor(page).getByLabel("Question").waitFor();
    assert.equal(await editor(page).getByLabel("Question").inputValue(), "In which year?");
    assert.deepEqual(faults, []);
  });

  it("keeps what one producer typed in two tabs, and offers both once the tabs have ended", async () => {
    const id = await draft("message", { name: "tabs" });
    const { page: one } = await edit(id);
    const context = one.context();
    const also = async (): Promise<Page> => {
      const page = await context.newPage();
      await page.addInitScript(
        ([key, token]) => sessionStorage.setItem(key ?? "", token ?? ""),
        [`token of ${world.url}`, world.token],
      );
      await page.goto(one.url());
      return page;
    };
    await context.route("**/api/v2/elements/**", route =>
      route.request().method() === "PATCH" ? route.abort() : route.continue(),
    );
    await editor(one).getByLabel("Title").fill("Of one tab");
    await one.clock.runFor(2_000);
    await editor(one).getByText("Not saved").waitFor();
    const two = await also();
    await editor(two).getByLabel("Name for your team").fill("of the other");
    await editor(two).getByText("Not saved").waitFor();
    assert.equal(
      await editor(two)
        .getByText(/kept text of yours/)
        .count(),
      0,
      "the first tab is open",
    );
    for (const page of [one, two]) await page.close();
    await context.unroute("**/api/v2/elements/**");
    const third = await also();
    await editor(third).getByRole("button", { name: "Take it" }).click();
    await until("the newer is stored", async () => (await stored(id)).name === "of the other");
    // A pointer cannot press what has just come under it.
    await press(editor(third).getByRole("button", { name: "Take it" }));
    await until("both are stored", async () => JSON.stringify(await stored(id)).includes("Of one tab"));
    assert.equal((await stored(id)).name, "of the other");
    await third.reload();
    await editor(third).getByLabel("Title").waitFor();
    assert.equal(
      await editor(third)
        .getByText(/kept text of yours/)
        .count(),
      0,
    );
  });

  it("asks for one of the sets of fields that a type allows, and for a metric of the space", async () => {
    const id = await draft("reward", { name: "gift" });
    const { page, faults } = await edit(id);
    const form = editor(page);
    await form.getByLabel("Amount").fill("5");
    await form.getByLabel("Metric id").selectOption({ label: "Points" });
    assert.equal(await form.getByLabel("Coupon id").count(), 0);
    await form.getByRole("button", { name: "Coupon id" }).click();
    await form.getByLabel("Coupon id").fill("scarf");
    assert.equal(await form.getByLabel("Amount").inputValue(), "5", "nothing that has a value is hidden");
    assert.equal(await form.getByLabel("Inventory item").count(), 0);
    await assertAccessible(page);
    await page.clock.runFor(1_600);
    await until("all is stored", async () => {
      const text = JSON.stringify(await stored(id));
      return text.includes('"points"') && text.includes('"scarf"');
    });
    assert.deepEqual(faults, []);
  });

  it("asks where others changed what the browser kept", async () => {
    const id = await draft("message", { name: "first" });
    const { page } = await edit(id);
    await editor(page).getByLabel("Name for your team").waitFor();
    await page.route("**/api/v2/elements/**", route => route.abort());
    await editor(page).getByLabel("Name for your team").fill("mine");
    await page.clock.runFor(2_000);
    await editor(page).getByText("Not saved").waitFor();
    await world.author("PATCH", `/elements/${id}`, { type: "elements", id, attributes: { name: "theirs" } });
    await page.unroute("**/api/v2/elements/**");
    page.on("dialog", dialog => dialog.accept());
    await page.reload();
    await editor(page).getByRole("button", { name: "Take it" }).click();
    await editor(page)
      .getByText(/changed this while you typed/)
      .waitFor();
    assert.equal((await stored(id)).name, "theirs", "nothing is sent before the choice");
    await editor(page).getByRole("button", { name: "Keep as chosen" }).click();
    await until("the choice is stored", async () => (await stored(id)).name === "mine");
  });

  it("says so if the browser stores nothing, and saves all the same", async () => {
    const id = await draft("message", { name: "kept" });
    const refuse = (): void => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("refused", "SecurityError");
      };
    };
    // A full disk ends the transaction after the request has succeeded.
    const abort = (): void => {
      const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function (...given) {
        const request = put.apply(this, given);
        request.addEventListener("success", () => this.transaction.abort());
        return request;
      };
    };
    for (const [name, fail] of Object.entries({ refuse, abort })) {
      const { page } = await world.open("");
      await page.addInitScript(fail);
      await page.goto(`${world.url}/studio#/events/${world.event}/run/${id}`);
      await page.reload();
      await editor(page).getByLabel("Name for your team").fill(`kept in memory: ${name}`);
      await editor(page)
        .getByText(/Your browser stores nothing/)
        .waitFor();
      await page.clock.runFor(1_600);
      await until("it is stored", async () => (await stored(id)).name === `kept in memory: ${name}`);
    }
  });

  it("chooses files of the space, and times in the zone of the project", async () => {
    const id = await draft("message", { name: "pictured" });
    const { page, faults } = await edit(id);
    await press(editor(page).getByRole("button", { name: "Choose…" }));
    const dialog = page.getByRole("dialog", { name: "Choose a file" });
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="8"/>`;
    const file = { name: "crest.svg", mimeType: "image/svg+xml", buffer: Buffer.from(svg) };
    await dialog.getByLabel("Files to upload").setInputFiles([file]);
    await press(dialog.getByRole("button", { name: /^crest/ }));
    await dialog.getByLabel(/What it shows/).fill("The crest");
    await assertAccessible(page);
    await press(dialog.getByRole("button", { name: "Use it" }));
    await dialog.waitFor({ state: "detached" });
    await page.clock.runFor(1_600);
    await until("its address is stored", async () =>
      /assets\/.*crest/.test(JSON.stringify(await stored(id))),
    );
    const { json: assets } = await world.author("GET", `/spaces/${ids.space}/assets`);
    await editor(page).getByLabel("Image").fill(assets.data[0].id);
    const shown = page.frameLocator("iframe").getByRole("img", { name: "The crest" });
    await shown.waitFor({ state: "attached" });
    assert.equal(await shown.getAttribute("src"), assets.data[0].attributes.url);
    await press(editor(page).getByRole("button", { name: "Choose…" }));
    await dialog.getByRole("button", { name: /^crest/ }).waitFor();
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    assert.ok(await editor(page).isVisible(), "Escape closes the dialog alone");

    const show = { timeZone: "Asia/Tokyo" };
    const project = await world.author("GET", `/projects/${ids.project}`);
    const services = { ...project.json.data.attributes.services, show };
    const changed = await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes: { services },
    });
    assert.equal(changed.status, 204, changed.text);
    const soon = await draft("countdown", { name: "soon" });
    const { page: other } = await edit(soon);
    await editor(other).getByText("Time in Asia/Tokyo.").waitFor();
    await editor(other).getByLabel("Target").fill("2027-05-01T20:00");
    await other.clock.runFor(1_600);
    await until("it is an instant", async () =>
      JSON.stringify(await stored(soon)).includes("2027-05-01T11:00:00.000Z"),
    );
    assert.equal(await editor(other).getByLabel("Target").inputValue(), "2027-05-01T20:00");
    assert.deepEqual(faults, []);
  });

  it("leaves of a published element what fans have not seen, and says what the server refuses", async () => {
    const id = await world.publish("quiz", { name: "out", ...question("When?", "1999", "2004") });
    const { page, faults } = await edit(id);
    assert.equal(await editor(page).getByLabel("Question").getAttribute("readonly"), "");
    await editor(page).getByLabel("Option 2 is right").check();
    await page.clock.runFor(1_600);
    await until("the answer is stored", async () => (await stored(id)).correct_option === 2);
    // Until the page knows, leaving asks.
    await saved(page);
    const wrong = await draft("cta", { name: "link" });
    await page.goto(`${world.url}/studio#/events/${world.event}/run/${wrong}`);
    await editor(page).getByRole("heading", { name: "Call to action" }).waitFor();
    await editor(page).getByLabel("Url").fill("javascript:alert(1)");
    await page.clock.runFor(1_600);
    await editor(page).getByText("Not saved").waitFor();
    await editor(page).locator('[data-invalid="true"]').getByText("Expected an https address").waitFor();
    await editor(page).getByText("Refused: url.").waitFor();
    assert.equal(await editor(page).getByText("Expected an https address").count(), 1, "once");
    assert.deepEqual(faults, []);
  });

  it("has the preview beside the form or one key away, in Run also as a screen and in a language, and opens no list over its button", async () => {
    const locales = { type: "projects", id: ids.project, attributes: { locales: ["en", "de"] } };
    await world.author("PATCH", `/projects/${ids.project}`, locales);
    const texts = [
      { key: "title", values: { all: "Good evening", de: "Guten Abend" } },
      { key: "body", values: { all: "x" } },
    ];
    const id = await draft("message", { name: "news", custom_fields: texts });
    const { page, faults } = await edit(id);
    const preview = editor(page).getByRole("region", { name: "Preview of the draft" });
    const title = editor(page).getByLabel("Title");
    const boxOf = async (locator: Locator) => (await locator.boundingBox()) ?? assert.fail();
    await page.setViewportSize({ width: 900, height: 700 });
    await preview.waitFor();
    const [left, right] = [await boxOf(title), await boxOf(preview)];
    assert.ok(left.x + left.width <= right.x && right.y < 700, JSON.stringify([left, right]));
    await assertFits(page);
    await page.setViewportSize({ width: 600, height: 700 });
    await title.focus();
    await page.keyboard.press("Alt+p");
    await editor(page).locator("[data-preview]:focus").waitFor();
    assert.ok((await boxOf(preview)).y < 700);
    await page.keyboard.press("Alt+p");
    assert.equal(await title.evaluate(each => each === document.activeElement), true);
    await page.setViewportSize({ width: 900, height: 700 });
    await page.goto(`${world.url}/studio#/events/${world.event}/run`);
    const language = page.getByLabel("Language of the preview");
    await page.locator(`[data-id="${id}"]`).focus();
    await page.getByRole("heading", { name: "Preview of news" }).waitFor();
    await language.selectOption("de");
    const frame = page.frameLocator("iframe");
    await frame.getByRole("heading", { name: "Guten Abend" }).waitFor();
    for (const view of ["screen", "overlay"]) {
      await page.getByRole("button", { name: view, exact: true }).click();
      await frame.locator(`html[data-view=${view}]`).getByText("Guten Abend").waitFor();
    }
    await page.goto(`${world.url}/studio#/events/${world.event}/run/${id}`);
    await title.waitFor();
    await page.setViewportSize({ width: 900, height: 420 });
    const button = page.getByRole("button", { name: "New element", exact: true });
    await button.click();
    const [menu, own] = [await boxOf(page.locator(".menu:popover-open")), await boxOf(button)];
    assert.ok(
      menu.y >= own.y + own.height - 1 || menu.y + menu.height <= own.y + 1,
      JSON.stringify([menu, own]),
    );
    assert.ok(menu.y >= 0 && menu.y + menu.height <= 420, JSON.stringify(menu));
    assert.deepEqual(faults, []);
  });
});
