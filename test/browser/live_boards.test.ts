/** The `EventSource` of a browser on a live board, whose server restarts. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Handler } from "../../lib/mod.ts";
import { type Server, serve } from "../../runtime/node.ts";
import { senderOf, starting } from "../../runtime/server/gate.ts";
import { browserAvailable, launchBrowser } from "../support/browser.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";

/** Fewer than a browser opens to one server. */
const sources = 4;

describe("live boards of a page in a browser", { skip: browserAvailable() }, () => {
  let browser: Browser;
  const worlds: TestPlatform[] = [];
  before(async () => {
    browser = await launchBrowser();
  });
  after(async () => {
    await browser.close();
    await Promise.all(worlds.map(world => world.dispose()));
  });

  async function openWorld(): Promise<TestPlatform> {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    worlds.push(world);
    return world;
  }

  it("come back after the server stopped, while it starts, and while it has too much to do", async () => {
    const first = await openWorld();
    let server: Server = await serve(first.platform.fetch, { port: 0 });
    const port = Number(new URL(server.url).port);
    const page = await browser.newPage();
    await page.goto(`${server.url}/healthz`);
    const board = `/projects/${ids.project}/leaderboards/overall`;
    await page.evaluate(
      ({ path, count }) => {
        const opened = Array.from({ length: count }, () => new EventSource(path));
        Object.assign(window, { opened, boards: [] as number[] });
        opened.forEach((source, index) => {
          source.addEventListener("leaderboard", () => {
            const { boards } = window as unknown as { boards: number[] };
            boards[index] = (boards[index] ?? 0) + 1;
          });
        });
      },
      { path: board, count: sources },
    );
    const state = (): Promise<{ ended: number; boards: number[] }> =>
      page.evaluate(() => {
        const { opened, boards } = window as unknown as { opened: EventSource[]; boards: number[] };
        return { ended: opened.filter(({ readyState }) => readyState === EventSource.CLOSED).length, boards };
      });
    const shows = async (times: number): Promise<void> => {
      await until(`each has its board ${times} times`, async () => {
        const { ended, boards } = await state();
        assert.equal(ended, 0, "a source has given up");
        return boards.length === sources && boards.every(seen => seen >= times);
      });
    };
    /** Serves until each source has been answered; none of them may give up. */
    const meets = async (handler: Handler, concurrentMax = 4_096): Promise<void> => {
      let answered = 0;
      page.on("response", count);
      function count(): void {
        answered += 1;
      }
      server = await serve(handler, { port, concurrentMax });
      await until("each has an answer", () => answered >= sources);
      page.off("response", count);
      await server.stop();
      assert.equal((await state()).ended, 0, "a source has given up");
    };
    await shows(1);
    await server.stop();

    await meets(async request => {
      const { body, ...init } = starting(senderOf(request));
      return new Response(body, init);
    });
    const second = await openWorld();
    server = await serve(second.platform.fetch, { port });
    await shows(2);
    await server.stop();
    await meets(second.platform.fetch, 0);
    await second.platform.close();
    await meets(second.platform.fetch);

    const third = await openWorld();
    server = await serve(third.platform.fetch, { port });
    await shows(3);
    await server.stop();
    await page.close();
  });
});
