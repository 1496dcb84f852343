/** Loyalty in the studio: checked while it is typed, saved, compared, rolled back, played and tried. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids, loyalty } from "../support/platform.ts";
import { assertAccessible, assertFits, openStudioWorld, press, type StudioWorld } from "./_studio.ts";

describe("loyalty in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  const place = `#/spaces/${ids.space}/loyalty`;
  const path = `/spaces/${ids.space}/loyalty`;

  async function put(document: object): Promise<void> {
    const { status } = await world.call(`/api/v2${path}`, {
      method: "PUT",
      token: world.token,
      headers: { "content-type": "application/vnd.api+json", "if-match": "*" },
      body: document,
    });
    assert.equal(status, 200);
  }

  const stored = async () => (await world.author("GET", path)).json.data;

  const withPoints = (points: number) => ({
    ...loyalty,
    rules: loyalty.rules.map(rule =>
      rule.id === "exact"
        ? { ...rule, effects: [{ type: "metric", metricId: "points", metricQuantity: points }] }
        : rule,
    ),
  });

  /** Requests that the page makes from now on. */
  function requestsOf(page: Page): string[] {
    const asked: string[] = [];
    page.on("request", request => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    return asked;
  }

  it("is checked while it is typed, each fault at its place, and saved under the version that was read", async () => {
    await put({ ...withPoints(3), timeZone: "Asia/Tokyo" });
    const { page, faults } = await world.open(place);
    const area = page.getByLabel("Loyalty configuration");
    const text = await area.inputValue();
    await area.fill(text.replace('"metricQuantity": 3', '"metricQuantity": "three"'));
    await press(page.getByRole("button", { name: /^\/rules\/0\/effects\/0\/metricQuantity/ }));
    const selected = await area.evaluate((each: HTMLTextAreaElement) =>
      each.value.slice(each.selectionStart, each.selectionEnd),
    );
    assert.equal(selected, '"three"');
    const save = page.getByRole("button", { name: "Save for fans" });
    assert.equal(await save.getAttribute("aria-disabled"), "true");
    await assertAccessible(page);
    await area.fill(text.replace('"metricQuantity": 3', '"metricQuantity": 4'));
    await page.locator('button.main:not([aria-disabled="true"])').press("Enter");
    await page.getByText("No difference.").waitFor();
    await page.getByText(/^Version \d+ in force since .* \(Asia\/Tokyo\)$/).waitFor();
    await press(page.getByRole("button", { name: "Versions", exact: true }));
    await page.getByRole("columnheader", { name: "Saved (Asia/Tokyo)" }).waitFor();
    const at = { timeZone: "Asia/Tokyo", dateStyle: "medium", timeStyle: "short" } as const;
    const { created_at: seconds } = (await stored()).meta;
    const written = await page.evaluate(([form, ms]) => new Intl.DateTimeFormat(undefined, form).format(ms), [
      at,
      seconds * 1_000,
    ] as const);
    await page.getByRole("cell", { name: written }).first().waitFor();
    await press(page.getByRole("button", { name: "Edit", exact: true }));
    assert.deepEqual((await stored()).attributes.rules, withPoints(4).rules);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("of somebody else is never replaced", async () => {
    await put(withPoints(3));
    const { page } = await world.open(place);
    const area = page.getByLabel("Loyalty configuration");
    await area.fill((await area.inputValue()).replace('"title": "Points"', '"title": "Stars"'));
    await put(withPoints(7));
    await page.locator('button.main:not([aria-disabled="true"])').click();
    assert.match((await page.getByRole("alert").textContent()) ?? "", /rules › exact › effects/);
    await page.getByRole("button", { name: "Take their changes over into mine" }).click();
    await page.getByRole("button", { name: "Save for fans" }).click();
    await page.getByText("No difference.").waitFor();
    const { attributes } = await stored();
    assert.deepEqual(attributes.rules, withPoints(7).rules);
    assert.equal(attributes.metrics[0].title, "Stars");
  });

  it("has versions that can be compared, and rolled back after a question", async () => {
    await put(withPoints(3));
    await put(withPoints(8));
    const { version } = (await stored()).meta;
    const { page } = await world.open(`${place}/versions`);
    const differences = page.getByRole("region", { name: "How the versions differ" });
    assert.match((await differences.textContent()) ?? "", /rules › exact › effects/);
    await assertAccessible(page);
    await press(page.getByRole("button", { name: `Roll back to version ${version - 1}…` }));
    const question = page.getByRole("dialog", { name: `Roll back to version ${version - 1}?` });
    await assertAccessible(page);
    await press(question.getByRole("button", { name: "Roll back" }));
    await page.getByText(`as version ${version - 1}`).waitFor();
    assert.deepEqual((await stored()).attributes.rules, withPoints(3).rules);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
  });

  it("plays scenarios with unsaved changes in the page alone", async () => {
    await put(withPoints(3));
    const { page, faults } = await world.open(place);
    const area = page.getByLabel("Loyalty configuration");
    await area.fill(JSON.stringify(withPoints(9)));
    await press(page.getByRole("button", { name: "Test", exact: true }));
    const at = "2026-12-05T12:00:00Z";
    const steps = [
      { at, user: "ann", action: "prediction", data: { outcome: "exact" } },
      { at, user: "ann", expect: { metrics: { points: 9, energy: 4 } } },
    ];
    await page.getByLabel("Scenarios").fill(JSON.stringify({ scenarios: [{ name: "Exact", steps }] }));
    const asked = requestsOf(page);
    await press(page.getByRole("button", { name: "Play" }));
    await page.getByRole("heading", { name: "1 of 2 expectations do not hold." }).waitFor();
    const rows = await page
      .getByRole("region", { name: "Expectations" })
      .locator("tbody tr")
      .allTextContents();
    assert.deepEqual(rows, ["✗ does not holdExactannmetrics.energy45", "✓ holdsExactannmetrics.points99"]);
    await assertAccessible(page);
    await page
      .getByLabel("Scenarios")
      .fill(JSON.stringify({ scenarios: [{ name: "None", steps: [{ at }] }] }));
    await press(page.getByRole("button", { name: "Play" }));
    await page
      .getByRole("button", { name: /^\/scenarios\/0\/steps\/0/ })
      .first()
      .waitFor();
    assert.deepEqual(
      asked.filter(each => each.includes("/api/") || each.includes("/internal/")),
      [],
    );
    assert.deepEqual(faults, []);
  });

  it("tries an action of a real fan, and says why a rule does not apply", async () => {
    await put({
      ...withPoints(3),
      actions: [
        { name: "prediction", clientReportable: true, data: { outcome: "string" } },
        ...loyalty.actions.slice(1),
      ],
    });
    const fan = await world.fan("Ann");
    const { page, faults } = await world.open(`${place}/try`);
    await page.getByLabel("Id of the fan").fill(fan.userId);
    await page.getByLabel("outcome").fill("exact");
    await press(page.getByRole("button", { name: "Try it" }));
    await page.getByText("points: 0 → 3").waitFor();
    const row = page.getByRole("row", { name: /^Rule right / });
    assert.match((await row.textContent()) ?? "", /no.*expected.*right.*exact/);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("is for admins of the space, and trials for those of the organisation", async () => {
    await put(withPoints(3));
    const { authors } = world.platform;
    const email = "vera@club.example";
    const { id: userId } = await authors.findOrCreate(email, { name: "Vera" });
    const { token } = await authors.createToken({ userId, name: "Tests" });
    const grant = (role: string) =>
      world.author("POST", `/spaces/${ids.space}/roles`, {
        type: "scope_roles",
        attributes: { email, role },
      });
    const { json } = await grant("creator");
    const first = await world.open(place, { token });
    await first.page.getByText("Needs the role admin").waitFor();
    await world.author("DELETE", `/scope_roles/${json.data.id}`);
    await grant("admin");
    const { page } = await world.open(`${place}/try`, { token });
    await page.getByText("Needs the role admin in the organisation").waitFor();
    assert.equal(await page.getByRole("button", { name: "Try it" }).getAttribute("aria-disabled"), "true");
  });
});
