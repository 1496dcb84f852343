/** The `EventSource` of a browser on a live board, whose server restarts. */

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { build } from "esbuild";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Handler } from "../../lib/mod.ts";
import { type Server, serve } from "../../runtime/node.ts";
import { senderOf, starting } from "../../runtime/server/gate.ts";
import { BoardWriter } from "../http/_boards.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/until.ts";
import { openContext } from "./_studio.ts";

/** Fewer than a browser opens to one server. */
const sources = 4;

describe("live boards of a page in a browser", { skip: browserAvailable() }, () => {
  const worlds: TestPlatform[] = [];
  after(() => Promise.all(worlds.map(world => world.dispose())));

  async function openWorld(): Promise<TestPlatform> {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    worlds.push(world);
    return world;
  }

  it("come back after the server stopped, while it starts, and while it has too much to do", async () => {
    const first = await openWorld();
    let server: Server = await serve(first.platform.fetch, { port: 0 });
    const port = Number(new URL(server.url).port);
    const page = await (await openContext()).newPage();
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

  it("share one stream, which a hidden page gives back", async t => {
    const world = await openWorld();
    const server = await serve(world.platform.fetch, { port: 0, graceMsMax: 0 });
    const { live } = world.platform.leaderboards;
    const page = await (await openContext()).newPage();
    t.after(async () => {
      await page.close();
      await server.stop();
    });
    await page.goto(`${server.url}/healthz`);
    const client = { globalName: "client", format: "iife", bundle: true, write: false } as const;
    const { outputFiles } = await build({ entryPoints: ["lib/client/mod.ts"], ...client });
    await page.addScriptTag({ content: outputFiles[0]?.text ?? "" });
    const boards = ["overall", ...[1, 2, 3, 4, 5].map(round => `round_${round}`)];
    const input = { prefix: ids.event.slice(0, 2), eventId: ids.event, boards: boards.join() };
    await page.evaluate(watched => {
      const { client } = window as unknown as { client: typeof import("../../lib/client/mod.ts") };
      const { feeds } = client.createClient({ url: location.origin, areas: { feeds: client.feeds } });
      (async () => {
        for await (const shown of feeds.watchEvent(watched)) Object.assign(window, { shown });
      })();
    }, input);
    const leaders = (): Promise<readonly (string | undefined)[]> =>
      page.evaluate(() => {
        const { shown } = window as unknown as {
          shown?: { leaderboards: Record<string, { data: readonly { userId: string }[] }> };
        };
        return Object.values(shown?.leaderboards ?? {}).map(({ data }) => data[0]?.userId);
      });
    await until("all boards are there", async () => (await leaders()).length === boards.length);
    assert.equal(live.size, 1);
    const statuses = await page.evaluate(() =>
      Promise.all(Array.from({ length: 12 }, () => fetch("/healthz").then(({ status }) => status))),
    );
    assert.deepEqual(new Set(statuses), new Set([200]), "other calls are answered");

    const writer = await BoardWriter.create(world);
    const board = `/projects/${ids.project}/events/${ids.event}/leaderboards`;
    await writer.put(`${board}/round_5`, "ann", { score: 1 });
    await until("a board has changed", async () => (await leaders()).at(-1) === "ann");
    const turn = (isHidden: boolean): Promise<void> =>
      page.evaluate(value => {
        Object.defineProperty(document, "hidden", { configurable: true, value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await turn(true);
    await until("the stream is given back", () => live.size === 0);
    await writer.put(`${board}/round_4`, "bea", { score: 1 });
    await turn(false);
    await until("the page has caught up", async () => (await leaders()).at(-2) === "bea");
    assert.equal(live.size, 1);
  });

  it("are one stream for an EventSource, too", async t => {
    const world = await openWorld();
    const server = await serve(world.platform.fetch, { port: 0, graceMsMax: 0 });
    const page = await (await openContext()).newPage();
    t.after(async () => {
      await page.close();
      await server.stop();
    });
    await page.goto(`${server.url}/healthz`);
    const path = `/projects/${ids.project.slice(0, 2)}/${ids.project}/live?boards=goals`;
    await page.evaluate(address => {
      const seen: string[] = [];
      const source = new EventSource(address);
      for (const name of ["hello", "listings", "leaderboard"]) {
        source.addEventListener(name, ({ data }) => seen.push(`${name} ${Object.keys(JSON.parse(data))}`));
      }
      Object.assign(window, { seen });
    }, path);
    const seen = (): Promise<readonly string[]> =>
      page.evaluate(() => (window as unknown as { seen: string[] }).seen);
    await until("the page is there", async () => (await seen()).length === 1);
    const writer = await BoardWriter.create(world);
    await writer.put(`/projects/${ids.project}/leaderboards/goals`, "ann", { score: 1 });
    await until("the board has changed", async () => (await seen()).length === 2);
    assert.deepEqual(await seen(), ["hello now,page,listings,leaderboards", "leaderboard leaderboards"]);
  });
});
