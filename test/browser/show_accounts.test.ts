/** Accounts of fans on the show in Chromium: an address that is confirmed, and a password that was forgotten. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { openShowWorld, type ShowWorld } from "./_show.ts";
import { assertAccessible } from "./_studio.ts";

describe("accounts on the show", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    world = await openShowWorld({ settings: { identity: { emailVerification: "required" } } });
  });
  after(() => world.dispose());

  /** Waits for the mail of a kind, and returns its code. */
  async function codeOf(page: Page, kind: string): Promise<string> {
    for (;;) {
      const mail = world.mails.find(each => each.kind === kind);
      if (mail?.code !== undefined) return mail.code;
      await page.waitForTimeout(20);
    }
  }

  it("confirms an address, and gives a new password for a forgotten one, by mailed codes", async () => {
    const { page, faults } = await world.visit(`?event=${world.event}#/me`);
    const signOut = page.getByRole("button", { name: "Sign out" });
    async function fill(password: string): Promise<void> {
      await page.getByText("Keep your points").click();
      await page.getByLabel("E-mail").fill("kim@fans.example");
      await page.getByLabel("Password").fill(password);
    }
    async function enterCode(kind: string): Promise<void> {
      await page.getByLabel("Code from the e-mail to kim@fans.example").fill(await codeOf(page, kind));
      await page.getByRole("button", { name: "Confirm" }).click();
    }
    await fill("a long and good password");
    await page.getByRole("button", { name: "Create an account" }).click();
    await enterCode("emailCode");
    await signOut.click();
    await fill("not the one");
    world.clock.advance(120_000);
    await page.getByRole("button", { name: "Forgot your password?" }).click();
    await page.getByLabel("New password").fill("another long password");
    await assertAccessible(page);
    await enterCode("passwordCode");
    await signOut.click();
    await fill("another long password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await signOut.waitFor();
    assert.deepEqual(faults, []);
  });
});
