/** Live boards through the typed client, from a real server. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import {
  apiKey,
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  feeds,
  GrandstandError,
  type Leaderboard,
  type LiveEvent,
  leaderboards,
} from "../../../lib/client/mod.ts";
import { liveHeartbeatMs, liveIntervalMs } from "../../../lib/http/live_streams.ts";
import { serve } from "../../../runtime/node.ts";
import { ids } from "../../support/platform.ts";
import { createManualTimer, type ManualTimer, settle } from "../../support/timer.ts";
import { until } from "../../support/until.ts";
import { type Network, openNetwork } from "./_network.ts";

const areas = { leaderboards };
const board = { projectId: ids.project, leaderboardId: "goals" };

describe("a live board", () => {
  let network: Network;
  let time: ManualTimer;
  let client: Client<typeof areas>;
  let server: Awaited<ReturnType<typeof serve>>;
  let stop: AbortController;
  let options: Omit<ClientOptions<typeof areas>, "areas">;
  /** The event streams that were asked for. */
  let connections: Headers[];
  /** Number of event streams that fail. */
  let lost: number;
  beforeEach(async () => {
    time = createManualTimer();
    network = await openNetwork({ timer: time.timer });
    connections = [];
    lost = 0;
    stop = new AbortController();
    server = await serve(
      (request, info) => network.world.platform.fetch(request, { ...info, stopping: stop.signal }),
      { port: 0, graceMsMax: 0 },
    );
    const { key, secret } = await network.world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["rewards:write"],
    });
    const counted: ClientOptions<typeof areas>["fetch"] = (address, init) => {
      const headers = new Headers(init.headers);
      if (headers.get("accept") !== "text/event-stream") return fetch(address, init);
      connections.push(headers);
      return lost-- > 0 ? Promise.reject(new TypeError("fetch failed")) : fetch(address, init);
    };
    // Pauses are too short for reads meanwhile.
    const environment = { ...network.environment, fetch: counted, random: () => 0.25 };
    options = { ...environment, url: server.url, credentials: apiKey(key, secret) };
    client = createClient({ ...options, areas });
  });
  afterEach(async () => {
    stop.abort();
    await server.stop();
    await network.world.dispose();
  });

  async function score(userId: string, value: number): Promise<void> {
    await client.leaderboards.putProjectLeaderboardEntry({ ...board, userId, body: { score: value } });
  }
  const next = async (boards: AsyncIterator<Leaderboard>): Promise<readonly string[]> => {
    const { value } = await boards.next();
    return (value as Leaderboard).data.map(({ rank, userId }) => `${rank} ${userId}`);
  };
  const watch = (own: CallOptions = {}) =>
    client.leaderboards.watchProjectLeaderboard(board, own)[Symbol.asyncIterator]();

  it("is there at once and again whenever it changes, until the loop ends", async () => {
    await score("ann", 3);
    const seen: number[] = [];
    const loop = (async () => {
      for await (const { data } of client.leaderboards.watchProjectLeaderboard(board)) {
        seen.push(data.length);
        if (data.length === 2) break;
      }
    })();
    while (seen.length === 0) await settle();
    await score("bea", 5);
    await time.advance(liveIntervalMs);
    await loop;
    assert.deepEqual(seen, [1, 2]);
    while (time.waiting.includes(liveHeartbeatMs)) await settle();
  });

  it("goes on where it was when the connection is lost, of which the caller hears", async () => {
    await score("ann", 3);
    let losses = 0;
    const boards = watch({ onLost: () => void losses++ });
    assert.deepEqual(await next(boards), ["1 ann"]);
    lost = 2;
    await score("bea", 5);
    stop.abort();
    stop = new AbortController();
    let entries: readonly string[] = [];
    while (entries.length < 2) {
      [entries] = await Promise.all([next(boards), time.advance(liveIntervalMs)]);
    }
    assert.deepEqual(entries, ["1 bea", "2 ann"]);
    assert.deepEqual([connections.length, losses], [4, 3]);
    assert.match(connections.at(-1)?.get("last-event-id") ?? "", /^\d+$/);
    assert.equal(network.pauses.length, 3);
    await boards.return?.();
  });

  it("ends by its signal, also while nothing comes", async () => {
    const controller = new AbortController();
    let losses = 0;
    const boards = watch({ signal: controller.signal, onLost: () => void losses++ });
    await next(boards);
    const waiting = boards.next();
    await settle();
    controller.abort();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    assert.equal(losses, 0);
  });

  it("fails where it is refused for good, or where something else answers", async () => {
    const codeOf = (boards: AsyncIterator<unknown>): Promise<string> =>
      boards.next().then(
        () => "ok",
        error => (error instanceof GrandstandError ? error.code : String(error)),
      );
    const none = client.leaderboards.watchProjectLeaderboard({ ...board, leaderboardId: "missing" });
    assert.equal(await codeOf(none[Symbol.asyncIterator]()), "validation_failed");
    const wrong = createClient({ ...options, areas, fetch: async () => Response.json({ data: [] }) });
    assert.equal(
      await codeOf(wrong.leaderboards.watchProjectLeaderboard(board)[Symbol.asyncIterator]()),
      "bad_answer",
    );
  });

  it("passes over events that are no JSON, pages of proxies and cut streams", async () => {
    const headers = { "content-type": "text/event-stream" };
    const answers = [
      () => new Response('data: {"data":[\n\n', { headers }),
      () => new Response('id: 1\ndata: {"da', { headers }),
      () => new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "content-type": "text/html" } }),
    ];
    const hostile = createClient({
      ...options,
      areas,
      fetch: async (address, init) => answers.shift()?.() ?? (await fetch(address, init)),
    });
    await score("ann", 3);
    const losses: unknown[] = [];
    const boards = hostile.leaderboards.watchProjectLeaderboard(board, {
      onLost: ({ cause, retryMs }) =>
        losses.push([cause instanceof GrandstandError ? cause.status : cause, retryMs > 0]),
    });
    const iterator = boards[Symbol.asyncIterator]();
    assert.deepEqual(await next(iterator), ["1 ann"]);
    assert.deepEqual(losses, [
      [0, true],
      [undefined, true],
      [502, true],
    ]);
    await iterator.return?.();
  });

  it("is read again and again instead where the caller asks for it", async () => {
    await score("ann", 3);
    const boards = watch({ polls: true });
    assert.deepEqual(await next(boards), ["1 ann"]);
    await score("bea", 5);
    assert.deepEqual(await next(boards), ["1 bea", "2 ann"]);
    assert.equal(connections.length, 0);
    await boards.return?.();
  });

  it("is connected anew after a silence of three heartbeats", async () => {
    const silence = createManualTimer();
    const quiet = createClient({ ...options, areas, timer: silence.timer, random: () => 0 });
    const boards = quiet.leaderboards.watchProjectLeaderboard(board)[Symbol.asyncIterator]();
    await score("ann", 3);
    assert.deepEqual(await next(boards), ["1 ann"]);
    const waiting = boards.next();
    await settle();
    const before = connections.length;
    await silence.advance(44_999);
    assert.equal(connections.length, before);
    for (let step = 0; step < 60 && connections.length === before; step++) await silence.advance(500);
    assert.equal(connections.length, before + 1);
    await waiting;
    await boards.return?.();
  });
});

describe("a live page", () => {
  const page = { prefix: ids.event.slice(0, 2), eventId: ids.event, boards: "overall,removed" };
  const headers = { "content-type": "text/event-stream" };
  const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
  const board = (userId: string) => ({ data: [{ rank: 1, userId }], totalCount: 1 });
  const item = (id: string, state: string) => ({ id, state });
  const hello = {
    now: 1,
    page: "1.0.0",
    history: { timeline: [item("a", "past"), item("b", "current")], config: {}, version: 1 },
    livestats: { id: ids.event, state: "current", actions: 0, elements: [] },
    leaderboards: { overall: board("ann"), removed: board("ann") },
    projectLeaderboards: {},
  };
  /** Reads the pages that a client makes of answers, and stops with the last. */
  async function pagesOf(answers: readonly (() => Response)[], own: Partial<ClientOptions<never>> = {}) {
    const left = [...answers];
    const stop = new AbortController();
    const asked: string[] = [];
    const client = createClient({
      ...own,
      url: "http://club.example",
      areas: { feeds },
      timer: task => {
        const soon = setImmediate(task);
        return () => clearImmediate(soon);
      },
      fetch: async (_, init) => {
        asked.push(new Headers(init.headers).get("accept") ?? "");
        const answer = left.shift();
        if (answer !== undefined) return answer();
        stop.abort();
        throw new TypeError("fetch failed");
      },
    });
    const pages: LiveEvent[] = [];
    for await (const each of client.feeds.watchEvent(page, { signal: stop.signal })) pages.push(each);
    return { pages, asked };
  }

  it("is whole after each event, whatever part of it that has", async () => {
    const events = [
      event("hello", hello),
      event("leaderboard", { leaderboards: { removed: board("bea") } }),
      event("history", {
        history: {
          timeline: [item("b", "past"), item("c", "current")],
          removed: ["a"],
          config: {},
          version: 2,
        },
      }),
      event("history", { history: { timeline: [item("c", "past")], config: {}, version: 3 } }),
    ];
    const { pages } = await pagesOf([() => new Response(events.join(""), { headers })]);
    assert.equal(pages.length, 4);
    assert.deepEqual(pages[0], hello);
    assert.deepEqual(pages[1]?.leaderboards, { overall: board("ann"), removed: board("bea") });
    assert.equal(pages[1]?.history, pages[0]?.history, "what did not change is the same object");
    assert.deepEqual(pages[2], {
      ...pages[1],
      history: { timeline: [item("b", "past"), item("c", "current")], config: {}, version: 2 },
    });
    assert.deepEqual(pages[3]?.history.timeline, [item("c", "past")]);
    assert.deepEqual(pages[3]?.livestats, hello.livestats);
  });

  it("is read every 5 s while no stream can be had", async () => {
    const busy = () => Response.json({ code: "busy" }, { status: 503, headers: { "retry-after": "12" } });
    const polled = (now: number) => () => Response.json({ ...hello, now });
    const stream = () => new Response(event("hello", { ...hello, now: 4 }), { headers });
    const { pages, asked } = await pagesOf([busy, polled(2), polled(3), stream], { random: () => 0.5 });
    assert.deepEqual(
      pages.map(({ now }) => now),
      [2, 3, 4],
    );
    assert.deepEqual(
      asked.slice(0, 4).map(accept => accept.includes("event-stream")),
      [true, false, false, true],
    );
  });

  it("is polled every 5 s while its event runs, and every 30 s else", async () => {
    const pauses: number[] = [];
    const stop = new AbortController();
    const states = ["current", "past"];
    const client = createClient({
      url: "http://club.example",
      areas: { feeds },
      random: () => 0.5,
      timer: (task, ms) => {
        const soon = setImmediate(task);
        pauses.push(ms);
        return () => clearImmediate(soon);
      },
      fetch: async () =>
        Response.json({
          ...hello,
          history: { ...hello.history, timeline: [] },
          livestats: { ...hello.livestats, state: states.shift() },
        }),
    });
    const polls = client.feeds.watchEvent(page, { polls: true, signal: stop.signal });
    for await (const { livestats } of polls) if (livestats.state === undefined) stop.abort();
    assert.deepEqual(
      pauses.filter(ms => ms === 5_000 || ms === 30_000),
      [5_000, 30_000],
    );
  });

  it("has null for a board that is not there", async () => {
    const network = await openNetwork();
    const client = createClient({ ...network.environment, url: "http://club.example", areas: { feeds } });
    const pages = client.feeds.watchEvent({ ...page, boards: "overall,nothing" })[Symbol.asyncIterator]();
    const { value } = await pages.next();
    assert.deepEqual(Object.keys(value.leaderboards), ["overall", "nothing"]);
    assert.equal(value.leaderboards.nothing, null);
    await pages.return?.();
    await network.world.dispose();
  });
});

describe("200 listeners of a server that restarts", () => {
  it("hear all of it again, spread over more than 10 s", async t => {
    const time = createManualTimer();
    const { world } = await openNetwork();
    const start = async (port: number) => {
      const stop = new AbortController();
      const server = await serve(
        (request, info) => world.platform.fetch(request, { ...info, stopping: stop.signal }),
        { port, graceMsMax: 0 },
      );
      const end = async (): Promise<void> => {
        stop.abort();
        await server.stop();
      };
      return { url: server.url, end };
    };
    let server = await start(0);
    const leave = new AbortController();
    const delays = new Map<number, number>();
    const heard = new Array<number>(200).fill(0);
    const random = createRandom(1).next;
    const client = createClient({ url: server.url, areas: { feeds }, timer: time.timer, random });
    const page = { prefix: ids.event.slice(0, 2), eventId: ids.event };
    const loops = heard.map(async (_, index) => {
      const onLost: CallOptions["onLost"] = ({ retryMs }) => {
        // Those after the first are of attempts that failed.
        if (heard[index] === 1 && !delays.has(index)) delays.set(index, retryMs);
      };
      for await (const _ of client.feeds.watchEvent(page, { signal: leave.signal, onLost }))
        heard[index] = (heard[index] ?? 0) + 1;
    });
    t.after(async () => {
      leave.abort();
      await Promise.all(loops);
      await server.end();
      await world.dispose();
    });
    const all = (count: number) => until(`all hear ${count}`, () => heard.every(each => each >= count));
    await all(1);
    const { port } = new URL(server.url);
    await server.end();
    await until("all have lost it", () => delays.size === 200);
    server = await start(Number(port));
    await time.advance(31_000);
    await all(2);
    const spread = [...delays.values()];
    const [first, last] = [Math.min(...spread), Math.max(...spread)];
    assert.ok(last - first >= 10_000, `${first} to ${last}`);
    for (const from of spread) {
      const within = spread.filter(delay => delay >= from && delay < from + 1_000).length;
      assert.ok(within <= 80, `${within} in a second`);
    }
  });
});
