import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { AppError } from "../../lib/base/errors/mod.ts";
import { liveHeartbeatMs, liveIntervalMs, liveListenersMax } from "../../lib/http/live_streams.ts";
import type { Partition, Read, Results } from "../../lib/storage/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnDatabases, type OpenStore } from "../support/stores.ts";
import { createManualTimer, type ManualTimer } from "../support/timer.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { BoardWriter } from "./_boards.ts";

const [project] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const leaderboards = [
  { id: "goals" },
  { id: "spread", shards: 4 },
  { id: "secret", visibility: "hidden" },
  { id: "daily", seasons: { type: "daily" } },
];
const liveSeed = {
  ...seed,
  projects: [{ ...project, settings: { ...project.settings, leaderboards } }, ...seed.projects.slice(1)],
};
const board = (id: string): string => `/projects/${ids.project}/leaderboards/${id}`;

/** As every `EventSource` sends beside what it accepts. */
const eventSource = { headers: { "cache-control": "no-cache", origin: "https://club.example" } };

/** An `EventSource` gives up for good after any status but 200. */
async function assertComesBack(response: Response, ms: number): Promise<void> {
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("cache-control"), "no-store");
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.equal(await response.text(), `retry: ${ms}\n\n`);
}

/** Counts the reads of boards. */
class CountingStore extends WatchedStore {
  boardReads = 0;

  override read<const Q extends readonly Read[]>(from: Partition, queries: Q): Promise<Results<Q>> {
    if (from.includes(":board:") && queries.some(({ type }) => type === "board")) this.boardReads += 1;
    return super.read(from, queries);
  }
}

describeOnDatabases("a live board", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  let store: CountingStore;
  let time: ManualTimer;
  beforeEach(async () => {
    const count: OpenStore = async clock => {
      store = new CountingStore(await open(clock));
      return store;
    };
    time = createManualTimer();
    world = await openPlatform(count, { seed: liveSeed, timer: time.timer });
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const request = (path: string, init: RequestInit = {}): Promise<Response> =>
    world.platform.fetch(
      new Request(`http://club.example${path}`, {
        ...init,
        headers: { accept: "text/event-stream", ...init.headers },
      }),
    );
  const listen = async (path: string, headers: Record<string, string> = {}): Promise<EventReader> => {
    const { status, body } = await request(path, { headers });
    assert.equal(status, 200);
    assert.ok(body !== null);
    return new EventReader(body);
  };
  /** The next message, which is as the list is. */
  const message = async (reader: EventReader) => {
    const event = await reader.next();
    assert.ok(event !== null, "the stream has ended");
    return JSON.parse(event.data);
  };
  /** Lets a second pass for the live boards, which then read the store on their own. */
  const tick = async (): Promise<void> => {
    world.clock.advance(liveIntervalMs);
    await time.advance(liveIntervalMs);
  };
  const shown = ({ data }: { data: { userId: string; score: number }[] }): [string, number][] =>
    data.map(({ userId, score }) => [userId, score]);

  it("is an event stream of the list's answers", async () => {
    await writer.put(board("goals"), "ann", { score: 3 });
    const { status, headers, body } = await request(board("goals"));
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-store, no-transform");
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.ok(body !== null);
    const first = await new EventReader(body).next();
    assert.equal(first?.event, "leaderboard");
    assert.equal(first?.id, String(world.clock.now()));
    const list = await world.call(board("goals"));
    assert.equal(first?.data, list.text);
    assert.equal(list.headers.get("vary"), "accept");
  });

  it("sends the leaders whenever they change, and no other change", async () => {
    for (const [user, score] of [
      ["ann", 3],
      ["bob", 2],
      ["cid", 1],
    ] as const) {
      await writer.put(board("goals"), user, { score });
    }
    const top = await listen(`${board("goals")}?limit=2`);
    const all = await listen(board("goals"));
    await Promise.all([message(top), message(all)]);
    await writer.put(board("goals"), "dan", { score: 0 });
    await tick();
    assert.equal((await message(all)).totalCount, 4);
    await writer.put(board("goals"), "cid", { score: 9 });
    await tick();
    assert.deepEqual(shown(await message(top)), [
      ["cid", 9],
      ["ann", 3],
    ]);
    assert.equal(shown(await message(all)).length, 4);
  });

  it("reads the board once a second for all listeners, and not at all without", async () => {
    const readers = [await listen(`${board("goals")}?limit=1`)];
    const others = Array.from({ length: 99 }, (_, index) => listen(`${board("goals")}?limit=${index + 2}`));
    readers.push(...(await Promise.all(others)));
    await Promise.all(readers.map(message));
    assert.equal(store.boardReads, 1);
    for (let second = 1; second <= 3; second++) {
      await writer.put(board("goals"), "ann", { score: second });
      const before: number = store.boardReads;
      await tick();
      await Promise.all(readers.map(message));
      assert.equal(store.boardReads, before + 1);
    }
    await Promise.all(readers.map(reader => reader.leave()));
    const before = store.boardReads;
    for (let second = 0; second < 5; second++) await tick();
    assert.equal(store.boardReads, before);
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("names the board of an event by id and by alias, and shows one of several shards", async () => {
    const event = (name: string): string => `/projects/${ids.project}/events/${name}/leaderboards/round_2`;
    await writer.put(event(ids.event), "ann", { score: 1 });
    await writer.put(board("spread"), "bob", { score: 2 });
    const before: number = store.boardReads;
    const [byId, byAlias] = [await listen(event(ids.event)), await listen(event("current"))];
    assert.deepEqual(shown(await message(byId)), [["ann", 1]]);
    assert.deepEqual(shown(await message(byAlias)), [["ann", 1]]);
    assert.equal(store.boardReads, before + 1);
    assert.deepEqual(shown(await message(await listen(board("spread")))), [["bob", 2]]);
  });

  it("continues with the next season, and stays with a named one", async () => {
    await writer.put(board("daily"), "ann", { score: 1 });
    const [now, named] = [await listen(board("daily")), await listen(`${board("daily")}?season=2025-06-15`)];
    assert.equal((await message(now)).meta.season.id, "2025-06-15");
    assert.equal((await message(named)).meta.season.id, "2025-06-15");
    world.clock.advance(24 * 3_600_000);
    await tick();
    const next = await message(now);
    assert.deepEqual([next.meta.season.id, next.data], ["2025-06-16", []]);
    await writer.put(board("daily"), "bob", { score: 2 });
    await tick();
    assert.deepEqual(shown(await message(now)), [["bob", 2]]);
    assert.equal(world.platform.leaderboards.live.size, 2);
  });

  it("requires the same key as the list", async () => {
    assert.equal((await request(board("secret"))).status, 404);
    await writer.put(board("secret"), "ann", { score: 1 });
    const reader = await listen(board("secret"), writer.headers);
    assert.deepEqual(shown(await message(reader)), [["ann", 1]]);
    assert.equal((await request(board("secret"))).status, 404);
  });

  it("answers errors as the list does, and refuses single users", async () => {
    const fault = async (path: string, status: number, code: string): Promise<void> => {
      const response = await request(path);
      assert.equal(response.status, status, path);
      assert.equal(response.headers.get("content-type"), "application/problem+json");
      const problem = (await response.json()) as { code: string; errors?: { pointer?: string }[] };
      assert.equal(problem.code, code);
    };
    await fault(`/projects/${ids.otherProject.replace("2", "3")}/leaderboards/goals`, 404, "not_found");
    await fault(board("nothing"), 400, "validation_failed");
    await fault(`${board("goals")}?limit=0`, 400, "validation_failed");
    await fault(`${board("goals")}?include=ann`, 400, "validation_failed");
    await fault(`${board("goals")}?around=ann`, 400, "validation_failed");
    await fault(`${board("goals")}?season=current`, 400, "validation_failed");
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("is a list for clients that also accept JSON", async () => {
    for (const accept of ["application/json, text/event-stream", "*/*", "text/html", "text/event-streams"]) {
      const response = await request(board("goals"), { headers: { accept } });
      assert.equal(response.headers.get("content-type"), "application/json", accept);
    }
    for (const accept of ["Text/Event-Stream;q=0.9", "text/html, text/event-stream"]) {
      const response = await request(board("goals"), { headers: { accept } });
      assert.equal(response.headers.get("content-type"), "text/event-stream", accept);
      await response.body?.cancel();
    }
  });

  it("answers HEAD without leaving a listener", async () => {
    const response = await request(board("goals"), { method: "HEAD" });
    assert.deepEqual([response.status, response.body], [200, null]);
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("refuses listeners beyond the bound, with the time to retry", async () => {
    // The first one alone reads the store: a turn with many requests could take longer than the store may take to answer.
    const streams = [await request(board("goals"))];
    const others = Array.from({ length: liveListenersMax - 1 }, () => request(board("goals")));
    streams.push(...(await Promise.all(others)));
    assert.ok(streams.every(({ status }) => status === 200));
    const refused = await request(board("goals"));
    assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
    assert.equal(((await refused.json()) as { code: string }).code, "busy");
    await assertComesBack(await request(board("goals"), eventSource), 5_000);
    assert.equal((await world.call(board("goals"))).status, 200, "lists are answered");
    await streams[0]?.body?.cancel();
    assert.equal((await request(board("goals"))).status, 200);
  });

  it("sends heartbeats, and ends with the platform", async () => {
    const reader = await listen(board("goals"));
    await message(reader);
    await time.advance(liveHeartbeatMs);
    assert.equal(await reader.block(), ":");
    await world.platform.close();
    assert.equal(await reader.next(), null);
    assert.equal((await request(board("goals"))).status, 503);
    await assertComesBack(await request(board("goals"), eventSource), 5_000);
  });

  it("asks an EventSource to come back while the store cannot be used, and refuses it where that is final", async () => {
    store.read = () => Promise.reject(new AppError("storage_unavailable", "Cannot use the store"));
    assert.equal((await request(board("spread"))).status, 503);
    await assertComesBack(await request(board("spread"), eventSource), 1_000);
    const list = await request(board("spread"), { headers: { ...eventSource.headers, accept: "*/*" } });
    assert.equal(list.status, 503);
    assert.equal((await request(`${board("spread")}?around=ann`, eventSource)).status, 400);
  });
});
