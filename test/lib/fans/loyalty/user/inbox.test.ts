import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig, type SpaceUser } from "../../../../../lib/fans/loyalty/mod.ts";
import type { Notification } from "../../../../../lib/fans/loyalty/user/history.ts";
import {
  Inbox,
  notificationsMax,
  notificationsPageDefault,
} from "../../../../../lib/fans/loyalty/user/inbox.ts";
import { type Store, tenantPartition } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { describeOnStores, type OpenStore } from "../../../../support/stores.ts";

const ann: SpaceUser = { organisationId: "o", spaceId: "s", userId: "ann", projectId: null };
const bob: SpaceUser = { ...ann, userId: "bob" };
const dayMs = 24 * 60 * 60 * 1_000;
/** Noon in Berlin on 2026-03-20; its clocks go forward on the 29th. */
const startAt = Date.UTC(2026, 2, 20, 11);

interface World {
  readonly store: Store;
  readonly clock: ReturnType<typeof createTestClock>;
  readonly inbox: Inbox;
  /** Announces something now, and answers its id. */
  announce(member: SpaceUser, title: string): Promise<string>;
}

async function withInbox(open: OpenStore, body: (world: World) => Promise<void>): Promise<void> {
  const clock = createTestClock(startAt);
  await using store = await open(clock.now);
  const config = compileConfig({ notifications: { keepFor: { days: 30 } }, timeZone: "Europe/Berlin" });
  const inbox = new Inbox({ store, clock: clock.now, configOf: () => config });
  async function announce({ organisationId, userId }: SpaceUser, title: string): Promise<string> {
    const payload = {
      metricChanges: {},
      inventoryChanges: { received: [], lost: [] },
      milestoneChanges: {},
    };
    const value: Notification = { type: "custom", display: "toast", title, message: "", payload };
    const partition = tenantPartition({ organisation: organisationId }, "loyalty", userId);
    const commit = await store.commit(partition, {
      writes: [
        {
          type: "append",
          key: "notifications",
          value: JSON.stringify(value),
          at: clock.now(),
          maxLength: notificationsMax,
        },
      ],
    });
    return commit.ok ? String(commit.results[0]) : assert.fail();
  }
  await body({ store, clock, inbox, announce });
}

const titles = (items: readonly { readonly title: string }[]): string =>
  items.map(({ title }) => title).join(" ");
const isCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;

describeOnStores("the inbox", open => {
  it("lists notifications newest first with read marks, in pages without gaps or overlaps", () =>
    withInbox(open, async ({ inbox, announce, clock }) => {
      const ids: string[] = [];
      for (const title of "abcdefg") {
        ids.push(await announce(ann, title));
        if (title !== "c") clock.advance(1_000);
      }
      await inbox.markRead(ann, ids[2] ?? "");
      const first = await inbox.list(ann, { limit: 3 });
      assert.equal(titles(first.items), "g f e");
      assert.equal(first.unreadCount, 6);
      await announce(ann, "later");
      const second = await inbox.list(ann, { limit: 3, cursor: first.cursor ?? "" });
      assert.equal(titles(second.items), "d c b");
      assert.equal(second.unreadCount, 7);
      const third = await inbox.list(ann, { limit: 3, cursor: second.cursor ?? "" });
      assert.deepEqual([titles(third.items), third.cursor], ["a", null]);
      assert.equal(titles((await inbox.list(ann, { unread: true, limit: 4 })).items), "later g f e");
      const exact = await inbox.list(ann, { limit: 8 });
      assert.deepEqual([exact.items.length, exact.cursor], [8, null]);
    }));

  it("marks one as read once", () =>
    withInbox(open, async ({ inbox, announce, clock }) => {
      const id = await announce(ann, "a");
      await announce(ann, "b");
      clock.advance(5_000);
      const marked = await Promise.all(Array.from({ length: 20 }, () => inbox.markRead(ann, id)));
      for (const { isRead, readAt, title } of marked) {
        assert.deepEqual([isRead, readAt, title], [true, startAt + 5_000, "a"]);
      }
      clock.advance(5_000);
      assert.equal((await inbox.markRead(ann, id)).readAt, startAt + 5_000);
      assert.equal(titles(await inbox.unread(ann)), "b");
      assert.equal((await inbox.list(ann)).unreadCount, 1);
    }));

  it("loses no concurrent mark", () =>
    withInbox(open, async ({ inbox, announce }) => {
      const ids: string[] = [];
      for (let n = 0; n < 40; n++) ids.push(await announce(ann, String(n)));
      await Promise.all(ids.map(id => inbox.markRead(ann, id)));
      assert.equal((await inbox.list(ann)).unreadCount, 0);
    }));

  it("answers not_found for unknown ids and those of another user", () =>
    withInbox(open, async ({ inbox, announce }) => {
      const id = await announce(bob, "for Bob");
      for (const foreign of [id, "1-1", "", "nonsense", "__proto__"]) {
        await assert.rejects(inbox.markRead(ann, foreign), isCode("not_found"));
      }
      assert.equal((await inbox.list(bob)).unreadCount, 1);
    }));

  it(`keeps the newest ${notificationsMax}, and marks of no others`, () =>
    withInbox(open, async ({ inbox, announce, store }) => {
      const dropped = await announce(ann, "dropped");
      await inbox.markRead(ann, dropped);
      for (let n = 0; n < notificationsMax; n++) await announce(ann, String(n));
      assert.equal((await inbox.list(ann)).unreadCount, notificationsMax);
      await assert.rejects(inbox.markRead(ann, dropped), isCode("not_found"));
      const [oldest] = await inbox.unread(ann);
      await inbox.markRead(ann, oldest?.id ?? "");
      const [stored] = await store.read(tenantPartition({ organisation: "o" }, "loyalty", "ann"), [
        { type: "record", key: "inbox" },
      ]);
      assert.deepEqual(Object.keys(JSON.parse(stored?.value ?? "{}").ids), [oldest?.id]);
      const { items } = await inbox.list(ann);
      assert.equal(items.length, notificationsPageDefault);
    }));

  it("expires each notification by the calendar of the space", () =>
    withInbox(open, async ({ inbox, announce, clock }) => {
      const early = await announce(ann, "early");
      clock.advance(dayMs);
      await announce(ann, "late");
      // The day on which the clocks go forward is an hour short.
      const endsAt = startAt + 30 * dayMs - 60 * 60 * 1_000;
      assert.deepEqual(
        (await inbox.list(ann)).items.map(({ expiresAt }) => expiresAt),
        [endsAt + dayMs, endsAt],
      );
      clock.advance(endsAt - clock.now() - 1);
      assert.equal((await inbox.list(ann)).unreadCount, 2);
      clock.advance(1);
      assert.equal(titles(await inbox.unread(ann)), "late");
      await assert.rejects(inbox.markRead(ann, early), isCode("not_found"));
      clock.advance(dayMs);
      assert.deepEqual(await inbox.list(ann), { items: [], cursor: null, unreadCount: 0 });
    }));

  it("refuses invalid pages", () =>
    withInbox(open, async ({ inbox }) => {
      for (const query of [
        { limit: 0 },
        { limit: notificationsMax + 1 },
        { limit: 1.5 },
        { cursor: "" },
        { cursor: "1" },
        { cursor: "x-1" },
      ]) {
        await assert.rejects(inbox.list(ann, query), isCode("validation_failed"), JSON.stringify(query));
      }
      assert.deepEqual(await inbox.list(ann, { limit: notificationsMax }), {
        items: [],
        cursor: null,
        unreadCount: 0,
      });
    }));
});

describe("an inbox", () => {
  it("shows only notifications that have not expired", async () => {
    const { createMemoryStore } = await import("../../../../../adapters/memory/mod.ts");
    for (let count = 0; count <= 12; count++) {
      for (let ended = 0; ended <= count; ended++) {
        await withInbox(
          async clock => createMemoryStore({ clock }),
          async ({ inbox, announce, clock }) => {
            for (let n = 0; n < ended; n++) await announce(ann, "old");
            clock.advance(30 * dayMs);
            for (let n = ended; n < count; n++) await announce(ann, "new");
            assert.equal((await inbox.list(ann)).unreadCount, count - ended, `${ended} of ${count} ended`);
          },
        );
      }
    }
  });
});
