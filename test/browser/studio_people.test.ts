/** People in the studio: found, given points once, taken back, banned, downloaded and deleted. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { personWith } from "../http/_people.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { assertAccessible, assertFits, openStudioWorld, type StudioWorld } from "./_studio.ts";

const people = `#/projects/${ids.project}/people`;

describe("people in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
  });
  after(() => world.dispose());

  /** Signs somebody up with an address, which makes a session, and returns the id. */
  async function member(email: string): Promise<string> {
    const { client } = await world.fan("Somebody");
    const { session } = client;
    const account = { provider: "managedPool", email, password: "a long pass phrase" } as const;
    await session.logOut();
    await session.register({ ...account, nickname: "Bo" });
    await session.logIn(account);
    await world.platform.idle();
    return (await session.user())?.userId ?? assert.fail();
  }

  it("finds somebody with the keyboard, gives points once, and takes them back", async () => {
    const ann = await world.fan("Ann");
    await ann.act("prediction", { outcome: "exact" });
    await world.platform.idle();
    const { page, faults } = await world.open(people);
    await page.getByText("Search by e-mail address, id, part of a name or segment").waitFor();
    await page.getByLabel("E-mail address, id or part of a name").focus();
    await page.keyboard.type(ann.userId);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Ann" }).focus();
    await assertAccessible(page);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Ann" }).waitFor();
    await page.getByText(`joined with a name · ${ann.userId}`).waitFor();
    await page.locator(".gain", { hasText: "+3 Points" }).waitFor();
    await page.getByRole("button", { name: "Give points…" }).click();
    await page.getByLabel("How many").fill("5");
    await page.getByRole("button", { name: "Give", exact: true }).click();
    assert.equal(await page.getByLabel(/^Reason/).evaluate(field => field.matches(":invalid")), true);
    await page.getByLabel(/^Reason/).fill("Lost in a failure");
    await assertAccessible(page);
    await page.getByRole("button", { name: "Give", exact: true }).dblclick();
    await page.getByText("Lost in a failure").waitFor();
    assert.equal((await ann.profile()).metrics.points, 8);
    await page.getByRole("button", { name: "Take back… +5 Points" }).click();
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.locator(".loss", { hasText: "-5 Points" }).waitFor();
    assert.equal((await ann.profile()).metrics.points, 3);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.goBack();
    await page.getByRole("button", { name: "Ann" }).waitFor();
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("is reached from the organisation by way of its spaces", async () => {
    const { page } = await world.open(`#/organisations/${ids.organisation}`);
    await page.getByRole("link", { name: "People" }).click();
    await page.getByText("Accounts belong to a project").waitFor();
    for (const name of ["Club space", "Club app"]) await page.locator("a.card", { hasText: name }).click();
    await page.getByText("Search by e-mail address, id, part of a name or segment").waitFor();
    assert.equal(page.url(), `${world.url}/studio${people}`);
  });

  it("finds a segment", async () => {
    const rich = await world.fan("Rich");
    await rich.act("prediction", { outcome: "exact" });
    await rich.act("prediction", { outcome: "exact" });
    await world.fan("Poor");
    await world.platform.idle();
    const { page } = await world.open(people);
    await page.getByText("Segment", { exact: true }).click();
    await page.getByLabel("At least").fill("6");
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("button", { name: "Rich" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "Poor" }).count(), 0);
    await page.context().setOffline(true);
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByText("The platform cannot be reached.").waitFor();
    await page.context().setOffline(false);
    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("button", { name: "Rich" }).waitFor();
  });

  it("signs out, bans and lifts the ban, each after a question", async () => {
    const { page } = await world.open(`${people}/${await member("bo@fans.example")}`);
    await page.getByRole("button", { name: "Sign out everywhere…" }).click();
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText(/since .*seen/).waitFor();
    await page.getByRole("button", { name: "Sign out everywhere…" }).click();
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByText("Nowhere signed in.").waitFor();
    await page.getByRole("button", { name: "Ban…" }).click();
    await page.getByLabel("Reason").fill("Abuse");
    await page.getByRole("button", { name: "Ban", exact: true }).click();
    await page.getByText("until it is lifted: Abuse").waitFor();
    await page.getByRole("button", { name: "Lift the ban…" }).click();
    await page.getByRole("button", { name: "Lift the ban", exact: true }).click();
    await page.getByRole("button", { name: "Ban…" }).waitFor();
  });

  it("keeps a person's data as a file, and deletes only after the address is typed", async () => {
    const userId = await member("cem@fans.example");
    const { page } = await world.open(people);
    await page.getByLabel("E-mail address, id or part of a name").fill("CEM@fans.example");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Bo" }).click();
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Download data" }).click();
    const { records } = JSON.parse(await readFile(await (await download).path(), "utf8"));
    const own = records.filter((record: { userId: string }) => record.userId === userId);
    const dataOf = (kind: string) => own.find((record: { kind: string }) => record.kind === kind)?.data;
    assert.match(JSON.stringify(dataOf("account")), /cem@fans\.example/);
    assert.ok(dataOf("session") !== undefined && dataOf("trail") !== undefined);
    await page.getByRole("button", { name: "Delete…" }).click();
    const sure = page.getByRole("button", { name: "Delete for good" });
    assert.equal(await sure.isDisabled(), true);
    await page.getByLabel(/^Type/).fill("cem@fans.example");
    await sure.click();
    await page.getByLabel("E-mail address, id or part of a name").waitFor();
    const path = `/internal/identity/projects/${ids.project}/users/${userId}`;
    await until(
      "the person is gone",
      async () => (await world.call(path, { token: world.token })).status === 404,
    );
  });

  it("says who is admin of the organisation to those who are not", async () => {
    const organisation = { level: "organisations", id: ids.organisation } as const;
    await personWith(world, { ...organisation, role: "admin" });
    const token = await personWith(world, { ...organisation, role: "viewer" });
    const { page } = await world.open(people, { token });
    await page
      .getByText(/People need the role admin in the organisation Club\. Ask .*@example\.com/)
      .waitFor();
  });
});
