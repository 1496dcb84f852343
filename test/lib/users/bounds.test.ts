/** How much of the lists of users is read and remembered at a time. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Store, storageLimits } from "../../../lib/storage/mod.ts";
import { createUserIndex, signedInUsersMax } from "../../../lib/users/listed_users.ts";
import { userShards, usersInRange, walkUsers } from "../../../lib/users/mod.ts";
import { rangePagesMax } from "../../../lib/users/ranges.ts";
import { shardPartMax, shardPartMin } from "../../../lib/users/walk.ts";
import { createTestClock } from "../../support/clock.ts";
import { ProbeStore } from "../../support/probe_store.ts";

describe("a walk over users", () => {
  it(`reads from ${shardPartMin} to ${shardPartMax} entries of a shard at a time`, async () => {
    const partOf = async (count: number): Promise<number> => {
      const store = new ProbeStore();
      const order = { key: "b", direction: "asc" } as const;
      await walkUsers({ store, organisationId: "o", after: null }, order).next(count);
      const limits = store.reads.flat().map(query => (query.type === "board" ? query.limit : 0));
      return Math.max(...limits);
    };
    const share = (entries: number): number => (entries * userShards) / 2;
    // One more is read of each shard, which tells whether that was its end.
    const more = (await partOf(share(shardPartMin + 1))) - (shardPartMin + 1);
    assert.ok(more === 0 || more === 1);
    assert.equal((await partOf(1)) - more, shardPartMin);
    assert.equal((await partOf(share(shardPartMax))) - more, shardPartMax);
    assert.equal((await partOf(share(shardPartMax + 1))) - more, shardPartMax);
  });
});

describe("a range of users", () => {
  it(`is read whole as far as ${rangePagesMax} pages, in reads that no store refuses`, async () => {
    assert.ok(rangePagesMax <= storageLimits.readsMax);
    const readsFor = async (total: number): Promise<{ users: number; pages: readonly number[] }> => {
      const pages: number[] = [];
      const entry = { member: "u", score: 0, tie: 0 };
      const store = {
        read: async (_: string, queries: readonly { readonly offset: number }[]) => {
          pages.push(queries.length);
          return queries.map(({ offset }) => ({
            entries: Array(Math.max(0, Math.min(storageLimits.rangeLimitMax, total - offset))).fill(entry),
          }));
        },
      };
      const range = { key: "b", min: 0, max: 1 };
      const found = await usersInRange(store as unknown as Store, "p", range);
      return { users: found.length, pages };
    };
    const most = rangePagesMax * storageLimits.rangeLimitMax;
    const { users, pages } = await readsFor(most);
    assert.deepEqual([users, pages.at(-1)], [most, rangePagesMax]);
    assert.equal((await readsFor(storageLimits.rangeLimitMax + 1)).users, storageLimits.rangeLimitMax + 1);
  });
});

describe("the users who signed in", () => {
  it(`are remembered up to ${signedInUsersMax}, and noted once more beyond`, async () => {
    const clock = createTestClock();
    let commits = 0;
    const counting = {
      commit: async () => {
        commits += 1;
        return { ok: true, version: "1" };
      },
    };
    const store = counting as unknown as Store;
    const users = createUserIndex({ store, clock: clock.now, partitionOf: () => "p" });
    const signIn = (n: number): Promise<void> => users.signedIn({ organisationId: "o", userId: `u${n}` });
    for (let n = 0; n < signedInUsersMax; n++) await signIn(n);
    await signIn(0);
    assert.equal(commits, signedInUsersMax);
    await signIn(signedInUsersMax);
    await signIn(1);
    assert.equal(commits, signedInUsersMax + 2);
  });
});
