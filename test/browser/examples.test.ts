/** The example workflows in a browser, through the relay of the platform, to the end. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { leaderboardWinners, quizFromCsv } from "../../lib/workflow/examples/mod.ts";
import { serve } from "../../runtime/node.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { assertAccessible, openShow, openStudioWorld, type StudioWorld } from "./_studio.ts";

const control = "https://api.example";
const header = "question,option 1,option 2,correct\n";

describe("the example workflows in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  let event: string;
  let server: Awaited<ReturnType<typeof serve>>;

  before(async () => {
    const backends = new Map<string, { fetch(request: Request): Promise<Response> }>();
    server = await serve(
      async request =>
        (await backends.get(new URL(request.url).pathname)?.fetch(request)) ??
        new Response(null, { status: 404 }),
      { port: 0 },
    );
    const options = {
      endpoint: [`${server.url}/0`, `${server.url}/1`],
      secret: "a long text that only the examples of the tests know",
      store: createMemoryStore(),
      control,
      fetch: async (input: string | URL | Request, init?: RequestInit) =>
        world.platform.fetch(new Request(input, init)),
    };
    for (const [index, backend] of [quizFromCsv(options), leaderboardWinners(options)].entries())
      backends.set(`/${index}`, backend);
    world = await openStudioWorld({
      publicUrl: control,
      outbound: createOutbound({ networks: ["127.0.0.1"] }),
    });
    ({ event } = await openShow(world, ["Who wins?"]));
    for (const [index, name] of ["Quiz from CSV", "Winners"].entries()) {
      const attributes = { name, endpoint_url: `${server.url}/${index}`, availability: ["event"] };
      await world.author("POST", "/workflows", { type: "workflows", attributes });
    }
  });
  after(async () => {
    await world.dispose();
    await server.stop();
  });

  it("imports the questions of a file, names the rows that are wrong, and doubles nothing", async () => {
    const { page, faults } = await world.open(`#/events/${event}/workflows`);
    const file = page.getByLabel("CSV file");
    const go = page.getByRole("button", { name: "Import", exact: true });
    const choose = (rows: string) =>
      file.setInputFiles({ name: "q.csv", mimeType: "text/csv", buffer: Buffer.from(header + rows) });
    const rows = "Who scored first?,Home,Away,2\nWho scored last?,Home,Away,1\n";
    await page.locator("a.card", { hasText: "Quiz from CSV" }).click();
    await choose(`${rows}No options?,,,1\n`);
    await go.click();
    await page.getByRole("alert").filter({ hasText: "Row 4: Expected two options or more" }).waitFor();
    await assertAccessible(page);
    await choose(rows);
    await go.click();
    await page.getByRole("progressbar").waitFor();
    await page.reload();
    await choose(rows);
    await go.click();
    await finish(/are in the event as drafts|has the questions of this file already/);
    await page.getByRole("button", { name: "Start again" }).click();
    await choose(rows);
    await go.click();
    await finish("The event has the questions of this file already.");
    await page.getByRole("link", { name: "Close" }).click();
    await page.getByRole("link", { name: "Run" }).click();
    await page.locator(".item").nth(2).waitFor();
    const titles = await page.locator(".item strong").allTextContents();
    assert.deepEqual(titles.sort(), ["Who scored first?", "Who scored last?", "Who wins?"]);
    assert.deepEqual(faults, []);

    /** Polls until the task has ended. */
    async function finish(words: string | RegExp): Promise<void> {
      const end = page.getByRole("alert").filter({ hasText: words });
      for (let polls = 0; polls < 20 && (await end.count()) === 0; polls++) {
        await page.clock.runFor(2_000);
        await page.evaluate(() => fetch("/healthz"));
      }
      await end.waitFor();
    }
  });

  it("publishes the winners of a board once they are confirmed", async () => {
    for (const [name, score] of [
      ["Ann", 5],
      ["<b>Bea</b>", 9],
    ] as const) {
      const { userId } = await world.fan(name);
      const path = `/projects/${ids.project}/events/${event}/leaderboards/overall/users/${userId}`;
      const { status, text } = await world.call(path, { method: "PUT", token: world.token, body: { score } });
      assert.equal(status, 200, text);
    }
    const { page, faults } = await world.open(`#/events/${event}/workflows`);
    await page.locator("a.card", { hasText: "Winners" }).click();
    await page.getByRole("button", { name: "Show the winners" }).click();
    await page.getByText("1. <b>Bea</b> (9)").waitFor();
    await page.getByText("2. Ann (5)").waitFor();
    await page.getByRole("button", { name: "Publish" }).click();
    await page.getByText("The winners are on screens.").waitFor();
    await page.getByRole("link", { name: "Close" }).click();
    await page.getByRole("link", { name: "Run" }).click();
    await page.getByRole("list", { name: "On air" }).getByText("Winners").waitFor();
    assert.deepEqual(faults, []);
  });
});
