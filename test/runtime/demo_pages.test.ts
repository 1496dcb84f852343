/** The two pages that `npm start` prints last, opened as they stand there. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { browserAvailable, launchBrowser } from "../support/browser.ts";
import { type Program, start } from "./processes.ts";
import { cliCommand, runtimes } from "./runtimes.ts";

describe("the pages of the demo", { skip: browserAvailable() }, () => {
  let server: Program;
  let browser: Browser;
  const addresses: string[] = [];

  before(async () => {
    browser = await launchBrowser();
    const [runtime] = runtimes;
    assert.ok(runtime !== undefined);
    server = start([...cliCommand(runtime), "serve", "--demo", "--port", "0"], {});
    for (const name of ["fans", "studio"]) {
      const [, address = ""] = await server.match(new RegExp(`^${name} +(\\S+)$`, "m"));
      addresses.push(address);
    }
    assert.match(server.stdout(), /\nfans .*\nstudio .*\n$/, "the end of what a terminal shows");
  });
  after(async () => {
    await browser.close();
    server.signal("SIGTERM");
    await server.ended;
  });

  async function open(address: string): Promise<Page> {
    const page = await (await browser.newContext({ locale: "en" })).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(address);
    return page;
  }

  it("let a fan vote in a poll that a producer watches without signing in", async () => {
    const [fans = "", studio = ""] = addresses;
    const fan = await open(fans);
    await fan.getByRole("heading", { name: "Who wins tonight?" }).waitFor();
    await fan.getByRole("button", { name: "Home" }).click();
    await fan.getByText("Counted").waitFor();
    const producer = await open(studio);
    await producer.getByText("Winner").first().waitFor();
    assert.doesNotMatch(producer.url(), /token|gst_/);
    await producer.reload();
    await producer.getByText("Winner").first().waitFor();
  });

  it("take no token from an address that is not of this machine", async () => {
    const [, studio = ""] = addresses;
    // The browser resolves names below localhost to the machine, though they are no addresses of a demo.
    const page = await open(studio.replace("127.0.0.1", "platform.localhost"));
    await page.getByRole("dialog").waitFor();
    await page.getByLabel("E-mail address").waitFor();
  });
});
