/** Live boards through the typed client, from a real server. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  apiKey,
  type CallOptions,
  type Client,
  type ClientOptions,
  createClient,
  GrandstandError,
  type Leaderboard,
  leaderboards,
} from "../../../lib/client/mod.ts";
import { liveIntervalMs } from "../../../lib/leaderboards/live/watcher.ts";
import { liveHeartbeatMs } from "../../../lib/leaderboards/mod.ts";
import { serve } from "../../../runtime/node.ts";
import { ids } from "../../support/platform.ts";
import { createManualTimer, type ManualTimer, settle } from "../../support/timer.ts";
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
    options = { ...network.environment, fetch: counted, url: server.url, credentials: apiKey(key, secret) };
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
    assert.ok(network.pauses.length === 3 && network.pauses.every(ms => ms >= 500), String(network.pauses));
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
    let losses = 0;
    const boards = hostile.leaderboards.watchProjectLeaderboard(board, { onLost: () => void losses++ });
    const iterator = boards[Symbol.asyncIterator]();
    assert.deepEqual(await next(iterator), ["1 ann"]);
    assert.equal(losses, 3);
    await iterator.return?.();
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
