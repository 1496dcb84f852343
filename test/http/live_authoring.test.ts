/** Where authors are in a project and what they change, over every store. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { liveIntervalMs } from "../../lib/http/live_streams.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { EventReader } from "../support/event_stream.ts";
import { ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { createManualTimer } from "../support/timer.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";
import { Producer, poll } from "./_producer.ts";

const path = `/api/v2/projects/${ids.project}/live`;
const windowId = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

describeOnEveryStore("live authoring", open => {
  async function opened(t: TestContext, openStore: (clock: () => number) => Promise<Store> = open) {
    const time = createManualTimer();
    const world = await openPlatform(openStore, { timer: time.timer });
    t.after(() => world.dispose());
    const tick = async (): Promise<void> => {
      world.clock.advance(liveIntervalMs);
      await time.advance(liveIntervalMs);
    };
    return { world, tick };
  }

  /** Somebody with a role in the project. */
  async function authorIn(world: TestPlatform, name: string, role = "creator") {
    const { authors } = world.platform;
    const operator = await operatorHeaders(world);
    const email = `${name}@club.example`;
    const { id: userId } = await authors.findOrCreate(email, { name });
    const granted = await world.call(`/api/v2/projects/${ids.project}/roles`, {
      headers: operator,
      body: resource("scope_roles", { email, role }),
    });
    const { token, id: tokenId } = await authors.createToken({ userId, name: "Test" });
    const headers = { authorization: `Bearer ${token}` };
    const revoke = async (): Promise<void> => {
      const roleId = granted.json.data.id;
      const ended = await world.call(`/api/v2/scope_roles/${roleId}`, {
        method: "DELETE",
        headers: operator,
      });
      assert.equal(ended.status, 204, ended.text);
    };
    return { userId, tokenId, headers, revoke };
  }
  type Author = Awaited<ReturnType<typeof authorIn>>;

  const present = (
    world: TestPlatform,
    { headers }: Author,
    place: unknown,
    { id = windowId(1), field = null as unknown } = {},
  ) =>
    world.call(path, {
      method: "PUT",
      headers,
      body: { data: { type: "presences", id, attributes: { place, field } } },
    });

  async function show(world: TestPlatform, author: Author, place: string | null, more = {}): Promise<void> {
    const { status, text } = await present(world, author, place, more);
    assert.equal(status, 204, text);
  }

  async function watch({ platform }: TestPlatform, { headers }: Author): Promise<EventReader> {
    const request = new Request(`http://club.example${path}`, {
      headers: { accept: "text/event-stream", ...headers },
    });
    const { status, body } = await platform.fetch(request);
    assert.equal(status, 200);
    assert.ok(body !== null);
    return new EventReader(body);
  }

  // biome-ignore lint/suspicious/noExplicitAny: Tests look into documents of any shape.
  async function next(reader: EventReader): Promise<[event: string, data: any]> {
    const found = await reader.next();
    assert.ok(found !== null, "the stream has ended");
    return [found.event, JSON.parse(found.data)];
  }

  it("shows who is in which place, for 30 s, also to authors at another process", async t => {
    let shared: Store | undefined;
    const openShared = async (clock: () => number): Promise<Store> => {
      shared ??= await open(clock);
      return shared;
    };
    const { world, tick } = await opened(t, openShared);
    const other = await openPlatform(openShared);
    t.after(() => other.platform.close());
    const [ann, ben] = [await authorIn(world, "Ann"), await authorIn(world, "Ben", "viewer")];
    await show(world, ann, "events/final/run");
    const reader = await watch(world, ben);
    const [event, hello] = await next(reader);
    const shown = {
      id: `${ann.userId}/${windowId(1)}`,
      user_id: ann.userId,
      name: "Ann",
      place: "events/final/run",
    };
    assert.equal(event, "hello");
    assert.deepEqual(hello.presence.authors, [{ ...shown, field: null }]);
    assert.equal(hello.now, world.clock.now());
    const polled = await world.call(path, { headers: ben.headers });
    assert.deepEqual([polled.json, polled.headers.get("cache-control")], [hello, "no-store"]);

    await show(other, ann, "events/final/run", { field: "elements/1/question" });
    await tick();
    assert.deepEqual(await next(reader), [
      "presence",
      { presence: { authors: [{ ...shown, field: "elements/1/question" }], removed: [] } },
    ]);
    await show(other, ben, "events/final/plan");
    await tick();
    const [, { presence }] = await next(reader);
    assert.deepEqual(
      presence.authors.map((each: { name: string; place: string }) => [each.name, each.place]),
      [["Ben", "events/final/plan"]],
    );
    await show(world, ben, null);
    await tick();
    assert.deepEqual((await next(reader))[1].presence.removed, [`${ben.userId}/${windowId(1)}`]);
    world.clock.advance(30_000);
    await tick();
    assert.deepEqual((await next(reader))[1].presence.removed, [shown.id]);
    await reader.leave();
  });

  it("tells each change with its author, its attributes and the tag of the record", async t => {
    const { world, tick } = await opened(t);
    const ann = await authorIn(world, "Ann");
    const producer = new Producer(world);
    const eventId = await producer.event({ name: "Show" });
    const element = await producer.element(eventId, poll);
    const reader = await watch(world, ann);
    const [, hello] = await next(reader);
    assert.deepEqual(
      hello.changes.entries.map(({ changes: [{ op, type, id }] }: { changes: [Record<string, string>] }) => [
        op,
        type,
        id,
      ]),
      [
        ["add", "events", eventId],
        ["add", "elements", element],
      ],
    );
    const body = resource("elements", { name: "Second", duration: 60 }, { id: element });
    const changed = await world.call(`/api/v2/elements/${element}`, {
      method: "PATCH",
      headers: ann.headers,
      body,
    });
    assert.equal(changed.status, 204, changed.text);
    await tick();
    const [event, data] = await next(reader);
    assert.equal(event, "changes");
    const [entry, ...others] = data.changes.entries;
    assert.equal(others.length, 0, "the changes before are not sent again");
    assert.deepEqual(
      [entry.by, entry.at],
      [ann.userId, Math.floor((world.clock.now() - liveIntervalMs) / 1_000)],
    );
    assert.deepEqual(entry.changes, [
      {
        op: "update",
        type: "elements",
        id: element,
        etag: changed.headers.get("etag"),
        title: "Second",
        attributes: ["name", "duration"],
      },
    ]);
    const headers = await operatorHeaders(world);
    await world.call(`/api/v2/elements/${element}`, { method: "DELETE", headers });
    await tick();
    const [, after] = await next(reader);
    assert.deepEqual(after.changes.entries[0].changes, [
      { op: "remove", type: "elements", id: element, title: "Second" },
    ]);
    await reader.leave();
  });

  it("ends with the role of the author, and with the token", async t => {
    const { world, tick } = await opened(t);
    const [ann, ben, eve] = [
      await authorIn(world, "Ann"),
      await authorIn(world, "Ben"),
      await authorIn(world, "Eve"),
    ];
    const readers = [await watch(world, ann), await watch(world, ben), await watch(world, eve)];
    for (const reader of readers) await next(reader);
    await ann.revoke();
    await world.platform.authors.revokeToken(ben.userId, ben.tokenId);
    await tick();
    await tick();
    const [first, second, third] = readers;
    assert.equal(await first?.next(), null);
    assert.equal(await second?.next(), null);
    assert.equal(world.platform.leaderboards.live.size, 1, "nobody else is cut off");
    assert.equal((await world.call(path, { headers: ann.headers })).status, 404);
    assert.equal((await present(world, ann, "events")).status, 404);
    assert.equal((await world.call(path, { headers: ben.headers })).status, 401);
    await third?.leave();
  });

  it("shows 10 windows of an author and 100 of a project, and texts of 200 characters", async t => {
    const { world } = await opened(t);
    const authors = [];
    for (let n = 0; n < 11; n++) authors.push(await authorIn(world, `author${n}`));
    const [ann, last] = [authors[0] as Author, authors[10] as Author];
    for (let n = 0; n < 11; n++) await show(world, ann, `place/${n}`, { id: windowId(n) });
    const placesOf = async (): Promise<readonly string[]> =>
      (await world.call(path, { headers: ann.headers })).json.presence.authors.map(
        (each: { place: string }) => each.place,
      );
    assert.deepEqual(
      await placesOf(),
      Array.from({ length: 10 }, (_, n) => `place/${n + 1}`),
      "the oldest has ended",
    );
    for (const author of authors.slice(1, 10))
      for (let n = 0; n < 10; n++) await show(world, author, "p", { id: windowId(n) });
    const full = await present(world, last, "p");
    assert.equal(full.status, 409, full.text);
    await show(world, ann, "still here", { id: windowId(10) });
    await show(world, ann, null, { id: windowId(10) });
    await show(world, last, "p".repeat(200), { field: "f".repeat(200) });
    for (const [place, more] of [
      ["p".repeat(201), {}],
      ["", {}],
      [7, {}],
      ["p", { field: "f".repeat(201) }],
      ["p", { id: "one" }],
    ] as const) {
      const answer = await present(world, last, place, more);
      assert.equal(answer.status, 400, answer.text);
    }
  });
});
