/** The settings of projects and events in the studio: compared, pushed, and never over those of somebody else. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { assertAccessible, assertFits, openStudioWorld, press, type StudioWorld } from "./_studio.ts";

describe("settings in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  const setting = (key: string, all: unknown) => ({ key, values: { all } });

  async function store(...settings: readonly object[]): Promise<void> {
    const attributes = { settings };
    const { status } = await world.author("PATCH", `/projects/${ids.project}`, {
      type: "projects",
      id: ids.project,
      attributes,
    });
    assert.equal(status, 204);
  }

  async function stored(path = `/projects/${ids.project}`): Promise<unknown> {
    return (await world.author("GET", path)).json.data.attributes.settings;
  }

  /** Opens the view and replaces parts of the text. */
  async function edit(changes: Readonly<Record<string, string>>, place = `projects/${ids.project}`) {
    const opened = await world.open(`#/${place}/settings`);
    const area = opened.page.getByLabel(/^Settings of the/);
    let text = await area.inputValue();
    for (const [from, to] of Object.entries(changes)) text = text.replace(from, to);
    await area.fill(text);
    return { ...opened, area };
  }

  it("are compared by key with what is live, and pushed", async () => {
    await store(setting("skin", "dark"), setting("horn", true));
    const { page, faults, area } = await edit({ '"dark"': '"light"' });
    const changes = page.getByRole("region", { name: "What a push changes" });
    assert.match((await changes.textContent()) ?? "", /skin › values › all\s*changed\s*dark\s*light/);
    await assertAccessible(page);
    await press(page.getByRole("button", { name: "Push to the project" }));
    await page.getByText("The settings are live.").waitFor({ state: "attached" });
    await page.getByText("No difference.").waitFor();
    assert.deepEqual(await stored(), [setting("skin", "light"), setting("horn", true)]);
    await press(page.getByRole("navigation", { name: "Outline" }).getByRole("button", { name: "horn" }));
    const selected = await area.evaluate((each: HTMLTextAreaElement) =>
      each.value.slice(each.selectionStart, each.selectionEnd),
    );
    assert.deepEqual(JSON.parse(selected), setting("horn", true));
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("of somebody else are shown and never replaced, and join with mine", async () => {
    await store(setting("skin", "dark"), setting("horn", true));
    const { page } = await edit({ '"dark"': '"light"' });
    await store(setting("skin", "dark"), setting("horn", false), setting("new", 1));
    await page.getByRole("button", { name: "Push to the project" }).click();
    const moved = page.getByRole("alert");
    assert.match(
      (await moved.textContent()) ?? "",
      /horn › values › all[\s\S]*true\s*false[\s\S]*new\s*added/,
    );
    await assertAccessible(page);
    assert.deepEqual(await stored(), [setting("skin", "dark"), setting("horn", false), setting("new", 1)]);
    await page.getByRole("button", { name: "Take their changes over into mine" }).click();
    await page.getByRole("button", { name: "Push to the project" }).click();
    await page.getByText("No difference.").waitFor();
    assert.deepEqual(await stored(), [setting("skin", "light"), setting("horn", false), setting("new", 1)]);
  });

  it("name their faults at the place, those of the form and those of the server", async () => {
    await store(setting("skin", "dark"));
    const { page, area } = await edit({ '"dark"': '"dark",' });
    const fault = page.getByRole("button", { name: /^Line 6 / });
    await fault.waitFor();
    const push = page.getByRole("button", { name: "Push to the project" });
    assert.equal(await push.getAttribute("aria-disabled"), "true");
    await area.fill('[{"key": "skin", "values": {"no language": 1}}]');
    await push.click();
    await press(page.getByRole("button", { name: /^\/0\/values Expected `all` or language tags/ }));
    const selected = await area.evaluate((each: HTMLTextAreaElement) =>
      each.value.slice(each.selectionStart, each.selectionEnd),
    );
    assert.equal(selected, '{"no language": 1}');
    await area.fill(JSON.stringify([setting("skin", "light")]));
    await push.click();
    await page.getByText("No difference.").waitFor();
  });

  it("of an event are joined by key, so that one that is left out is a fault", async () => {
    const path = `/events/${ids.event}`;
    const attributes = { settings: [setting("a", 1), setting("b", 2)] };
    await world.author("PATCH", path, { type: "events", id: ids.event, attributes });
    const { page, area } = await edit({ ": 1": ": 5" }, `events/${ids.event}`);
    await page.getByRole("button", { name: "Push to the event" }).click();
    await page.getByText("No difference.").waitFor();
    assert.deepEqual(await stored(path), [setting("a", 5), setting("b", 2)]);
    await area.fill(JSON.stringify([setting("a", 5)]));
    await page.getByText("Expected the setting b").waitFor();
  });

  it("of the platform are a form, whose faults stand at their fields", async () => {
    const { page, faults } = await world.open(`#/events/${ids.event}/settings`);
    const form = page.getByRole("form", { name: "Platform" });
    const save = form.getByRole("button", { name: "Save" });
    await form.getByLabel("Name").fill("Cup final");
    await form.getByLabel("Duration", { exact: true }).fill("5400");
    await form.getByLabel("Start mode").selectOption("clock");
    await form.getByLabel("Start at").fill("2027-05-01T20:00");
    await press(save);
    await page.getByRole("heading", { name: "Cup final", level: 1 }).waitFor();
    const event = (await world.author("GET", `/events/${ids.event}`)).json.data.attributes;
    assert.deepEqual([event.name, event.duration, event.start_mode], ["Cup final", 5_400, "clock"]);
    assert.equal(await form.getByLabel("Start at").inputValue(), "2027-05-01T20:00");
    await assertAccessible(page);

    const boards = [{ id: "goals", source: { type: "action", action: "goal" } }];
    const services = { leaderboards: boards, identity: { requireSignature: true } };
    const path = `/projects/${ids.project}`;
    const change = { type: "projects", id: ids.project, attributes: { services } };
    assert.equal((await world.author("PATCH", path, change)).status, 204);
    await page.goto(`${world.url}/studio#/projects/${ids.project}/settings`);
    for (const name of ["Services", "Identity", "Mails"])
      await press(form.locator("summary", { hasText: name }));
    await form.getByRole("button", { name: "Add Mails" }).click();
    await form.getByLabel("Sender").fill("Club");
    await form.getByLabel("Code login", { exact: true }).selectOption("on");
    await form.getByLabel("Code login link").fill("no address");
    await press(save);
    await form
      .locator('[data-wrong="true"]')
      .getByText(/^Expected/)
      .waitFor();
    await form.getByLabel("Code login link").fill("");
    const fold = (name: RegExp, within: Locator = form) =>
      within.locator("details", { has: page.locator("summary", { hasText: name }) }).last();
    const source = fold(/^Source$/, fold(/^Leaderboards/));
    for (const each of [fold(/^Leaderboards/), fold(/^goals$/), source])
      await press(each.locator("summary").first());
    await source.getByLabel("When").fill("{");
    await save.and(page.locator('[aria-disabled="true"]')).waitFor();
    await press(form.getByRole("button", { name: "Undo all" }));
    await form.getByRole("button", { name: "Add Mails" }).click();
    await form.getByLabel("Sender").fill("Club");
    await press(fold(/^Texts$/).locator("summary"));
    await form.getByLabel("Add to Texts").fill("de");
    await fold(/^Texts$/)
      .getByRole("button", { name: "Add" })
      .click();
    await press(fold(/^De$/).locator("summary").first());
    await fold(/^De$/).getByLabel("Code", { exact: true }).fill("Kennwort");
    await source.getByLabel("Type").selectOption("metric");
    await source.getByLabel("Metric id").fill("points");
    await fold(/^goals$/)
      .getByLabel("Id", { exact: true })
      .fill("points");
    await form.getByRole("button", { name: "Add to Leaderboards" }).click();
    await press(fold(/^New$/).locator("summary").first());
    await fold(/^New$/).getByLabel("Id", { exact: true }).fill("cheers");
    await press(fold(/^Location$/).locator("summary"));
    await form.getByLabel("Allow").fill("DE\nFR");
    await press(save);
    const stored = async () => (await world.author("GET", path)).json.data.attributes.services;
    await until("the board is stored", async () => (await stored()).leaderboards[0].id === "points");
    const { eventLeaderboards: _, ...sections } = await stored();
    assert.deepEqual(sections, {
      leaderboards: [{ id: "points", source: { type: "metric", metricId: "points" } }, { id: "cheers" }],
      identity: {
        requireSignature: true,
        mails: { sender: "Club", texts: { de: { code: "Kennwort" } } },
      },
      location: { unknownLocation: "allow", allow: ["DE", "FR"] },
    });
    await form.getByRole("button", { name: "Remove cheers" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    const section = form.locator("details", { has: page.locator("summary", { hasText: "Show" }) }).last();
    await press(section.locator("summary").first());
    await form.getByRole("button", { name: "Add Show" }).click();
    await form.getByLabel("Logo").fill("https://club.example/logo.svg");
    await form.getByRole("button", { name: "Remove Mails" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await press(save);
    await until("both are stored", async () => {
      const now = await stored();
      return now.show?.logo !== undefined && now.identity.mails === undefined;
    });
    assert.equal((await stored()).leaderboards.length, 1);
    assert.deepEqual((await stored()).show, {
      logo: "https://club.example/logo.svg",
      font: "system",
      signIn: "email",
      actions: {},
    });
    assert.deepEqual(faults, []);
  });

  it("are read alone with a lesser role", async () => {
    await store(setting("skin", "dark"));
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("vera@club.example", { name: "Vera" });
    await world.author("POST", `/projects/${ids.project}/roles`, {
      type: "scope_roles",
      attributes: { email: "vera@club.example", role: "creator" },
    });
    const { token } = await authors.createToken({ userId, name: "Tests" });
    const { page } = await world.open(`#/projects/${ids.project}/settings`, { token });
    const area = page.getByLabel("Settings of the project");
    assert.equal(await area.getAttribute("readonly"), "");
    const push = page.getByRole("button", { name: "Push to the project" });
    assert.match((await push.getAttribute("aria-description")) ?? "", /Needs the role admin/);
  });
});
