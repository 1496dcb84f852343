/** Accounts of fans on the show in Chromium: an address that is confirmed, and a password that was forgotten. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { openShowWorld, question, type ShowWorld } from "./_show.ts";
import { assertAccessible } from "./_studio.ts";

describe("accounts on the show", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  before(async () => {
    const identity = {
      emailVerification: "required",
      codeLogin: "on",
      codeLoginLink: "https://club.example/show",
    };
    world = await openShowWorld({ settings: { identity } });
  });
  after(() => world.dispose());

  /** Waits for the mail of a kind to an address. */
  async function mailOf(kind: string, to = "kim@fans.example") {
    const found = () => world.mails.find(each => each.kind === kind && each.to === to);
    await until("the mail is sent", () => found() !== undefined);
    return found() ?? assert.fail();
  }

  /** Keeps the points of a guest by a typed code, and signs another fan in by the link of the mail. */
  async function signInByCode(page: Page): Promise<void> {
    const confirm = page.getByRole("button", { name: "Confirm" });
    const fan = () =>
      page.evaluate(key => {
        const { provider, userId } = JSON.parse(localStorage.getItem(key) ?? "{}").session;
        return { provider, userId };
      }, `grandstand:${ids.project}`);
    async function mailCode(email: string) {
      world.clock.advance(120_000);
      await page.getByText("Keep your points").click();
      await page.getByLabel("E-mail").fill(email);
      await page.getByRole("button", { name: "Mail me a code" }).click();
      return await mailOf("loginCode", email);
    }
    await world.publish("poll", question("Who?", "Kim", "Lee"));
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByRole("button", { name: "Lee" }).click();
    await page.getByText("Counted").waitFor();
    await page.getByRole("link", { name: "Me" }).click();
    const typed = (await mailCode("lee@fans.example")).code ?? "";
    await page.getByLabel("Code from the e-mail to lee@fans.example").fill(typed);
    const guest = await fan();
    await confirm.click();
    await confirm.waitFor({ state: "hidden" });
    assert.deepEqual(await fan(), { ...guest, provider: "managedPool" }, "the guest with the points");
    await page.getByRole("button", { name: "Sign out" }).click();

    const { link = "" } = await mailCode("kim@fans.example");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.evaluate(fragment => {
      location.hash = fragment;
    }, new URL(link).hash);
    const code = page.getByLabel("Code from the e-mail to kim@fans.example");
    await code.waitFor();
    assert.deepEqual(
      [new URL(page.url()).hash, (await code.inputValue()).length],
      ["#/me", 8],
      "neither address nor code stays in the address",
    );
    await confirm.click();
    await confirm.waitFor({ state: "hidden" });
    assert.equal((await fan()).provider, "managedPool");
  }

  it("confirms an address, and gives a new password for a forgotten one, by mailed codes, which sign fans in too", async () => {
    const { page, faults } = await world.visit(`?event=${world.event}#/me`);
    const signOut = page.getByRole("button", { name: "Sign out" });
    async function fill(password: string): Promise<void> {
      await page.getByText("Keep your points").click();
      await page.getByLabel("E-mail").fill("kim@fans.example");
      await page.getByLabel("Password").fill(password);
    }
    async function enterCode(kind: string): Promise<void> {
      await page.getByLabel("Code from the e-mail to kim@fans.example").fill((await mailOf(kind)).code ?? "");
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
    await signOut.click();
    await signInByCode(page);
    assert.deepEqual(faults, []);
  });
});
