/** Roles in the studio: who has which, given, changed and taken away. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { personWith } from "../http/_people.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { assertAccessible, assertFits, openStudioWorld, type StudioWorld } from "./_studio.ts";

describe("roles in the studio", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  before(async () => {
    world = await openStudioWorld();
    const attributes = { email: "ann@club.example", role: "admin" };
    await world.author("POST", `/organisations/${ids.organisation}/roles`, {
      type: "scope_roles",
      attributes,
    });
  });
  after(() => world.dispose());

  it("gives a role by the keyboard, changes it, and takes it away after a question", async () => {
    const { page, faults } = await world.open(`#/projects/${ids.project}/roles`);
    await page.getByText("ann@club.example").waitFor();
    await page
      .locator(".list li")
      .filter({ hasText: "ann@club.example" })
      .getByRole("link", { name: "Club" })
      .waitFor();
    await page.getByLabel("E-mail address").focus();
    await page.keyboard.type("ben@club.example");
    await page.keyboard.press("Enter");
    const role = page.getByLabel("Role of ben@club.example", { exact: true });
    await role.waitFor();
    assert.equal(await role.inputValue(), "creator");
    const letter = await page.getByRole("link", { name: "Write the invitation" }).getAttribute("href");
    assert.match(
      letter ?? "",
      /^mailto:ben%40club\.example\?subject=Club%20app&body=.*%2Fstudio%23%2Fprojects/,
    );
    await role.selectOption("viewer");
    await page.getByText("ben@club.example is viewer now.").waitFor({ state: "attached" });
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.getByRole("button", { name: "Remove… the role of ben@club.example" }).click();
    await page.getByRole("button", { name: "Take it away" }).click();
    await role.waitFor({ state: "detached" });
    assert.deepEqual(faults, []);
  });

  it("shows why the last admin stays", async () => {
    const { page } = await world.open(`#/organisations/${ids.organisation}/roles`);
    const role = page.getByLabel("Role of ann@club.example", { exact: true });
    await role.selectOption("viewer");
    await page.getByText("Cannot take away the last admin of the organisation").waitFor();
    assert.equal(await role.inputValue(), "admin");
  });

  it("tells a creator which role it needs and who has it", async () => {
    const token = await personWith(world, { level: "projects", id: ids.project, role: "creator" });
    for (const view of ["roles", "activity"]) {
      const { page } = await world.open(`#/projects/${ids.project}/${view}`, { token });
      await page.getByText("Needs the role admin. ann@club.example is admin.").waitFor();
    }
  });
});
