/** One stream with everything that a page shows, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { liveIntervalMs } from "../../lib/http/live_streams.ts";
import type { PlatformOptions } from "../../lib/mod.ts";
import { version } from "../../lib/platform/version.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { EventReader, type StreamEvent } from "../support/event_stream.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { createManualTimer, type ManualTimer } from "../support/timer.ts";
import { BoardWriter } from "./_boards.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";
import { type Part, Producer, poll, prefix } from "./_producer.ts";

const [project, ...projects] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const leaderboards = [...["goals", "season"].map(id => ({ id })), { id: "secret", visibility: "hidden" }];
const pageSeed = {
  ...seed,
  projects: [{ ...project, settings: { ...project.settings, leaderboards } }, ...projects],
};
const eventPage = (id: string, query = ""): string => `/events/${prefix(id)}/${id}/live${query}`;
const projectPage = (query = ""): string => `/projects/${prefix(ids.project)}/${ids.project}/live${query}`;
const projectBoard = (id: string): string => `/projects/${ids.project}/leaderboards/${id}`;
const eventBoard = (event: string, id: string): string =>
  `/projects/${ids.project}/events/${event}/leaderboards/${id}`;

describeOnStores("a live page", open => {
  /** A process with a running event that has one open poll. */
  async function opened(
    t: TestContext,
    store: (clock: () => number) => Promise<Store> = open,
    options: Pick<PlatformOptions, "http"> = {},
  ) {
    const time = createManualTimer();
    const world = await openPlatform(store, { ...options, seed: pageSeed, timer: time.timer });
    t.after(() => world.dispose());
    const producer = new Producer(world);
    const id = await producer.event({ name: "Show", duration: 10_000 });
    await producer.act("events", id, "start");
    const element = await producer.element(id, { ...poll, reveal_results_mode: "vote" });
    await producer.act("elements", element, "publish");
    world.clock.advance(1_000);
    return { world, time, producer, id, element };
  }
  const request = ({ platform }: TestPlatform, path: string, init: RequestInit = {}): Promise<Response> =>
    platform.fetch(
      new Request(`http://club.example${path}`, {
        ...init,
        headers: { accept: "text/event-stream", ...init.headers },
      }),
    );
  async function listen(world: TestPlatform, path: string): Promise<EventReader> {
    const { status, body } = await request(world, path);
    assert.equal(status, 200);
    assert.ok(body !== null);
    return new EventReader(body);
  }
  async function next(reader: EventReader): Promise<[event: string, data: Part & Record<string, never>]> {
    const found = await reader.next();
    assert.ok(found !== null, "the stream has ended");
    return [found.event, JSON.parse(found.data)];
  }
  async function tick({ world, time }: { world: TestPlatform; time: ManualTimer }): Promise<void> {
    world.clock.advance(liveIntervalMs);
    await time.advance(liveIntervalMs);
  }

  it("begins with all that the page shows, as one document that can be polled too", async t => {
    const { world, id, element } = await opened(t);
    const writer = await BoardWriter.create(world);
    await writer.put(eventBoard(id, "overall"), "ann", { score: 3 });
    await writer.put(projectBoard("goals"), "bob", { score: 2 });
    const path = eventPage(id, "?boards=overall,round_1,overall&projectBoards=goals&limit=1");
    const { status, headers, body } = await request(world, path);
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-store, no-transform");
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.ok(body !== null);
    const first: StreamEvent | null = await new EventReader(body).next();
    assert.ok(Number(first?.retry) >= 1_000);
    assert.equal(first?.event, "hello");
    const hello = JSON.parse(first?.data ?? "");
    const polled = await world.call(path);
    assert.equal(polled.headers.get("vary"), "accept");
    assert.equal(polled.headers.get("cache-control"), "public, max-age=5, stale-while-revalidate=25");
    assert.deepEqual(polled.json, hello);
    assert.deepEqual([hello.now, hello.page], [world.clock.now(), version]);
    assert.deepEqual(
      hello.history.timeline.map((item: Part) => item.id),
      [element],
    );
    assert.deepEqual(hello.livestats.elements, [{ id: element, actions: 0, votes: [0, 0] }]);
    assert.deepEqual(Object.keys(hello.leaderboards), ["overall", "round_1"]);
    assert.deepEqual(
      hello.leaderboards.overall,
      (await world.call(eventBoard(id, "overall"))).json,
      "a board is as its list",
    );
    assert.equal(hello.projectLeaderboards.goals.data[0].userId, "bob");
    await body.cancel().catch(() => {});
  });

  it("sends what changed and nothing else, at most once a second", async t => {
    const page = await opened(t);
    const { world, producer, id, element } = page;
    const writer = await BoardWriter.create(world);
    const reader = await listen(world, eventPage(id, "?boards=overall&projectBoards=goals,season"));
    await next(reader);
    await writer.put(projectBoard("season"), "ann", { score: 3 });
    await tick(page);
    const [event, board] = await next(reader);
    assert.equal(event, "leaderboard");
    assert.deepEqual(Object.keys(board), ["projectLeaderboards"]);
    assert.deepEqual(Object.keys(board.projectLeaderboards ?? {}), ["season"]);

    const quiz = await producer.element(id, poll);
    await producer.act("elements", quiz, "publish");
    await tick(page);
    const changes = new Map([await next(reader), await next(reader)]);
    const { history } = changes.get("history") as Part & Record<string, Part & { timeline: Part[] }>;
    assert.deepEqual(
      [history?.timeline.map(item => item.id), history?.removed],
      [[quiz], []],
      "the first element is not sent again",
    );
    assert.deepEqual(Object.keys(changes.get("livestats")?.livestats ?? {}).toSorted(), [
      "actions",
      "elements",
      "id",
      "removed",
      "state",
    ]);

    await producer.act("elements", element, "revoke");
    await tick(page);
    const gone = new Map([await next(reader), await next(reader)]);
    const after = gone.get("history") as Part & Record<string, Part>;
    assert.deepEqual([after.history?.timeline, after.history?.removed], [[], [element]]);

    const fan = await world.fan("Ann");
    await fan.act("cheer", { elementId: quiz, option: 1 });
    await world.platform.idle();
    for (const _ of [1, 2]) await tick(page);
    const [, counted] = await next(reader);
    assert.equal((counted.livestats as Part | undefined)?.actions, 1);
    await reader.leave();
  });

  it("shows a project with its listing and several boards", async t => {
    const page = await opened(t);
    const { world, producer } = page;
    const writer = await BoardWriter.create(world);
    const reader = await listen(world, projectPage("?boards=goals,season"));
    const [, hello] = await next(reader);
    assert.deepEqual(Object.keys(hello).toSorted(), ["leaderboards", "listings", "now", "page"]);
    await writer.put(projectBoard("goals"), "ann", { score: 3 });
    await tick(page);
    const [, board] = await next(reader);
    assert.deepEqual(Object.keys(board.leaderboards ?? {}), ["goals"]);
    const late = await producer.event({ name: "Late", duration: 60 });
    await tick(page);
    const [event, change] = await next(reader);
    assert.equal(event, "listings");
    const { events, removed } = change.listings as unknown as { events: Part[]; removed: string[] };
    assert.deepEqual([events.map(each => each.id), removed], [[late], []]);
    await reader.leave();
  });

  it("reads no more for many listeners than for one", async t => {
    let reads = 0;
    const page = await opened(t, async clock => {
      const store = await open(clock);
      const read = store.read.bind(store);
      store.read = (partition, queries) => {
        reads += 1;
        return read(partition, queries);
      };
      return store;
    });
    const { world } = page;
    const writer = await BoardWriter.create(world);
    const path = eventPage(page.id, "?boards=overall&projectBoards=goals");
    const readers = [await listen(world, path)];
    let score = 0;
    const readsOfTicks = async (): Promise<number> => {
      const before = reads;
      for (let second = 0; second < 6; second++) {
        await writer.put(projectBoard("goals"), "ann", { score: ++score });
        await tick(page);
        await Promise.all(readers.map(next));
      }
      return reads - before;
    };
    await Promise.all(readers.map(next));
    const ofOne = await readsOfTicks();
    const joined = await Promise.all(Array.from({ length: 50 }, () => listen(world, path)));
    await Promise.all(joined.map(next));
    readers.push(...joined);
    const ofMany = await readsOfTicks();
    assert.ok(ofMany <= ofOne + 6, `${ofMany} for 51 listeners, ${ofOne} for one`);
    await Promise.all(readers.splice(0).map(reader => reader.leave()));
    assert.equal(world.platform.leaderboards.live.size, 0);
    await readsOfTicks();
    const before = reads;
    for (let second = 0; second < 6; second++) await tick(page);
    assert.equal(reads - before, 0);
  });

  it("keeps the newest of each part for a slow reader, which then has what the others have", async t => {
    const page = await opened(t);
    const { world, producer, id, element } = page;
    const writer = await BoardWriter.create(world);
    const path = eventPage(id, "?projectBoards=goals");
    const slow = await listen(world, path);
    const fast = await listen(world, path);
    await next(fast);
    const published = [element];
    for (let round = 1; round <= 5; round++) {
      await writer.put(projectBoard("goals"), "ann", { score: round });
      const added = await producer.element(id, poll);
      await producer.act("elements", added, "publish");
      published.push(added);
      await tick(page);
      for (const _ of [1, 2, 3]) await next(fast);
    }
    const [, hello] = await next(slow);
    assert.equal((hello.history as unknown as { timeline: Part[] }).timeline.length, 1);
    const seen = new Map([await next(slow), await next(slow), await next(slow)]);
    assert.deepEqual([...seen.keys()].toSorted(), ["history", "leaderboard", "livestats"]);
    const { history } = seen.get("history") as unknown as { history: Part & { timeline: Part[] } };
    assert.deepEqual(
      [history.timeline.map(item => item.id), history.removed],
      [published, undefined],
      "the whole, as changes were missed",
    );
    const { projectLeaderboards } = seen.get("leaderboard") as unknown as {
      projectLeaderboards: { goals: { data: { score: number }[] } };
    };
    assert.equal(projectLeaderboards.goals.data[0]?.score, 5);
    await Promise.all([slow.leave(), fast.leave()]);
  });

  it("shows at once what this process published, and within a second what another one wrote", async t => {
    let shared: Store | undefined;
    const openShared = async (clock: () => number): Promise<Store> => {
      shared ??= await open(clock);
      return shared;
    };
    const one = await opened(t, openShared);
    const time = createManualTimer();
    const two = await openPlatform(openShared, { timer: time.timer });
    t.after(() => two.platform.close());
    const near = await listen(one.world, eventPage(one.id));
    const reader = await listen(two, eventPage(one.id, "?projectBoards=goals"));
    await Promise.all([near, reader].map(next));
    const writer = await BoardWriter.create(one.world);
    await writer.put(projectBoard("goals"), "ann", { score: 1 });
    one.world.clock.advance(liveIntervalMs);
    two.clock.advance(3 * liveIntervalMs - 300);
    // Somebody reads the event a moment before it changes.
    await two.call(`/events/${prefix(one.id)}/${one.id}/history.json`);
    await one.producer.act("elements", one.element, "stop");
    assert.equal((await next(near))[0], "history");
    two.clock.advance(300);
    await time.advance(liveIntervalMs);
    const events = [await next(reader), await next(reader)].map(([event]) => event);
    assert.deepEqual(events.toSorted(), ["history", "leaderboard"]);
    await Promise.all([near, reader].map(each => each.leave()));
  });

  it("ends with the event, after which there is none", async t => {
    const page = await opened(t);
    const { world, producer, id } = page;
    const reader = await listen(world, eventPage(id));
    await next(reader);
    await producer.act("events", id, "stop");
    await tick(page);
    const stopped = new Map([await next(reader), await next(reader)]);
    assert.equal((stopped.get("livestats")?.livestats as Part | undefined)?.state, "past");
    const headers = await operatorHeaders(world);
    const removed = await world.call(`/api/v2/events/${id}`, { method: "DELETE", headers });
    assert.equal(removed.status, 204, removed.text);
    await tick(page);
    assert.equal(await reader.next(), null);
    assert.equal((await request(world, eventPage(id))).status, 404);
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("says the same of a hidden board, one of another project and one that is not there", async t => {
    const { world, id } = await opened(t);
    const other = `/projects/${prefix(ids.otherProject)}/${ids.otherProject}/live?boards=goals`;
    for (const path of [
      eventPage(id, "?projectBoards=season,secret"),
      eventPage(id, "?projectBoards=nothing"),
      eventPage(id, "?boards=secret"),
      projectPage("?boards=secret"),
      other,
    ]) {
      const reader = await listen(world, path);
      const [, hello] = await next(reader);
      await reader.leave();
      assert.deepEqual((await world.call(path)).json, hello);
      const { season, ...missing } = Object.assign({}, hello.leaderboards, hello.projectLeaderboards) as Part;
      assert.equal(season === undefined, !path.includes("season"));
      assert.deepEqual(Object.values(missing), [null], path);
    }
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("shows that the event is past once its project is archived, and goes on", async t => {
    const page = await opened(t);
    const { world, producer, id } = page;
    const reader = await listen(world, eventPage(id));
    await next(reader);
    await producer.write(
      `/projects/${ids.project}`,
      "PATCH",
      resource("projects", { archived: true }, { id: ids.project }),
    );
    await tick(page);
    const archived = new Map([await next(reader), await next(reader)]);
    assert.equal((archived.get("livestats")?.livestats as Part | undefined)?.state, "past");
    assert.equal((await world.call(eventPage(id))).status, 200);
    await reader.leave();
  });

  it("has nothing of a board while it is hidden, and its list again after", async t => {
    const page = await opened(t);
    const { world, producer, id } = page;
    const path = eventPage(id, "?projectBoards=goals,season");
    const [both, other] = [await listen(world, path), await listen(world, eventPage(id))];
    await Promise.all([both, other].map(next));
    for (const visibility of ["hidden", "public"]) {
      const services = { leaderboards: [{ id: "goals" }, { id: "season", visibility }] };
      await producer.write(
        `/projects/${ids.project}`,
        "PATCH",
        resource("projects", { services }, { id: ids.project }),
      );
      await tick(page);
      const [event, { projectLeaderboards }] = await next(both);
      assert.equal(event, "leaderboard");
      const shown = (await world.call(path)).json.projectLeaderboards.season;
      assert.deepEqual(projectLeaderboards, { season: shown });
      assert.equal(shown === null, visibility === "hidden");
    }
    await producer.act("elements", page.element, "stop");
    await tick(page);
    assert.equal((await next(other))[0], "history", "other streams hear nothing of it");
    await Promise.all([both, other].map(reader => reader.leave()));
  });

  it("refuses more boards than a page may have, names that no board can have, and other addresses", async t => {
    const { world, id } = await opened(t);
    const many = Array.from({ length: 11 }, (_, round) => `round_${round + 1}`);
    const ten = await request(world, eventPage(id, `?boards=${many.slice(0, 10)}`));
    assert.equal(ten.status, 200);
    await ten.body?.cancel();
    for (const [path, status] of [
      [eventPage(id, `?boards=${many}`), 400],
      [eventPage(id, "?boards=a/b"), 400],
      [eventPage(id, "?boards=goals,"), 400],
      [eventPage(id, "?limit=0"), 400],
      [`/events/ff/${id}/live`, 404],
      [eventPage(ids.project), 404],
      [eventPage("0cffffff-0000-4000-8000-000000000001"), 404],
      [projectPage().replace(ids.project, id), 404],
    ] as const) {
      assert.equal((await request(world, path)).status, status, path);
    }
    const head = await request(world, eventPage(id), { method: "HEAD" });
    assert.deepEqual([head.status, head.body], [200, null]);
    assert.equal(world.platform.leaderboards.live.size, 0);
  });

  it("asks an EventSource of any page to come back while the platform closes", async t => {
    const { world, id } = await opened(t, open, { http: { cors: { origins: ["https://other.example"] } } });
    const reader = await listen(world, eventPage(id));
    await next(reader);
    await world.platform.close();
    assert.equal(await reader.next(), null);
    assert.equal((await request(world, eventPage(id))).status, 503);
    const headers = { "cache-control": "no-cache", origin: "https://club.example" };
    const source = await request(world, eventPage(id), { headers });
    assert.equal(source.headers.get("access-control-allow-origin"), "*");
    assert.deepEqual([source.status, await source.text()], [200, "retry: 5000\n\n"]);
  });
});
