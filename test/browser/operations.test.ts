/** The view of operators in a browser: figures as they move, and dead letters that are queued again. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { createMemoryQueue } from "../../adapters/memory/mod.ts";
import { createMetrics } from "../../lib/platform/metrics/mod.ts";
import { systemTimer } from "../../lib/storage/background/mod.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { assertAccessible, assertFits, openStudioWorld, type StudioWorld } from "./_studio.ts";

const actions = "/v1/api/audience/internal/actions";

describe("the view of operators in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  /** Clock of the metrics, in ms. */
  let now = 0;
  before(async () => {
    world = await openStudioWorld({
      metrics: createMetrics({ clock: () => now }),
      queue: createMemoryQueue({ clock: Date.now }),
      timer: systemTimer,
    });
  });
  after(() => world.dispose());

  /** Lets 4 s pass on the page and the platform, and waits for the next reading. */
  async function pass(page: Page): Promise<void> {
    now += 4_000;
    world.clock.advance(4_000);
    const read = page.waitForResponse(/api\/v2\/process/);
    await page.clock.runFor(2_000);
    await read;
  }

  const tile = (page: Page, label: string) => page.locator(".tiles > .card").filter({ hasText: label });

  it("shows a burst of requests, and replays a dead letter after a question", async t => {
    const { userId } = await world.fan("Ann");
    const worker = world.platform.startActionWorker();
    t.after(() => worker.stop());
    const sent = await world.call(`${actions}?space_id=${ids.space}`, {
      token: world.token,
      headers: { "x-platform-org-id": ids.organisation },
      body: { userId, action: "dance" },
    });
    assert.equal(sent.status, 202, sent.text);
    const counts = async (): Promise<readonly unknown[]> =>
      (await world.author("GET", "/dead_letter_counts")).json.data;
    await until("the action has failed", async () => (await counts()).length > 0);
    await worker.stop();

    const { page, faults } = await world.open("");
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByRole("link", { name: "Operations" }).click();
    await page.getByRole("heading", { level: 1, name: "Operations" }).waitFor();
    await pass(page);
    const rate = tile(page, "Requests per second").locator("strong");
    // On a slow machine the page may look in the middle of a burst.
    await until("the burst is shown", async () => {
      for (let sentRequests = 0; sentRequests < 200; sentRequests++) await world.call("/healthz");
      await pass(page);
      return Number(await rate.textContent()) >= 50;
    });
    await page.locator(".routes li").first().getByText("GET /healthz").waitFor();
    await tile(page, "Requests per second").locator('.line[d^="M"]').waitFor({ state: "attached" });
    assert.match((await tile(page, "p99").first().textContent()) ?? "", / ms$/);

    await page.getByRole("button", { name: "Show", exact: true }).click();
    await page.locator(".letters").getByText("dance").waitFor();
    await page.getByRole("button", { name: "Replay this action", exact: true }).click();
    assert.equal((await counts()).length, 1, "nothing is replayed before the answer");
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.getByRole("button", { name: "Replay this action now" }).click();
    await page.getByText("1 queued again.").waitFor();
    assert.deepEqual(await counts(), []);
    await pass(page);
    await until("the queue is shown", async () =>
      /Queue depth1$/.test((await tile(page, "Queue depth").textContent()) ?? ""),
    );
    assert.deepEqual(faults, []);
  });

  it("is for operators: others have no link, and are refused", async () => {
    const { id: userId } = await world.platform.authors.findOrCreate("alex@club.example");
    const { token } = await world.platform.authors.createToken({ userId, name: "Tests" });
    const { page } = await world.open("#/operations", { token });
    await page.getByText("Your role does not allow this.").waitFor();
    await page.getByRole("button", { name: "Account" }).click();
    await page.getByText("alex@club.example").waitFor();
    assert.equal(await page.getByRole("link", { name: "Operations" }).count(), 0);
  });
});
