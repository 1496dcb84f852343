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

  async function open(address: string, viewport = { width: 1_200, height: 900 }): Promise<Page> {
    const page = await (await browser.newContext({ locale: "en", viewport })).newPage();
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

  it("lead a producer to a show of her own, and a fan on a phone to its poll", async () => {
    const [, studio = ""] = addresses;
    // Pages of an address in a network are insecure, and lack it.
    const context = await browser.newContext({ locale: "en" });
    await context.addInitScript(() => Reflect.deleteProperty(Crypto.prototype, "randomUUID"));
    const producer = await context.newPage();
    producer.setDefaultTimeout(60_000);
    await producer.clock.install();
    await producer.goto(studio);
    const button = (name: string) => producer.getByRole("button", { name, exact: true });
    await producer.getByRole("link", { name: "All events" }).click();
    await button("New event").click();
    await producer.getByLabel("Name").fill("My own show");
    await button("Create").click();
    await producer.getByText("the page of your fans, whose address is under Share").waitFor();
    await button("Share").click();
    const address = await producer.getByLabel("Page for fans", { exact: true }).inputValue();
    await button("Close").click();
    await button("Poll").click();
    await producer.getByLabel("Question").fill("Tea or coffee?");
    await button("Close").click();
    await button("Start the show").click();
    await button("Cue").click();
    // A second press within a moment is an accident.
    await producer.clock.runFor(1_000);
    await button("Take").click();
    const phone = await open(address, { width: 360, height: 640 });
    await phone.getByRole("heading", { name: "My own show" }).waitFor();
    await phone.getByRole("heading", { name: "Tea or coffee?" }).waitFor();
    await phone.getByRole("button", { name: "Home" }).click();
    await phone.getByText("Counted").waitFor();
  });

  it("take no token from an address that is not of this machine", async () => {
    const [, studio = ""] = addresses;
    // The browser resolves names below localhost to the machine, though they are no addresses of a demo.
    const page = await open(studio.replace("127.0.0.1", "platform.localhost"));
    await page.getByRole("dialog").waitFor();
    await page.getByLabel("E-mail address").waitFor();
  });
});
