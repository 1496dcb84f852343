import assert from "node:assert/strict";
import { it } from "node:test";
import { Lease, LeaseLost } from "../../../../lib/storage/background/due_queue.ts";
import type { Store, Stored } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { describeOnDatabases, type OpenStore } from "../../../support/stores.ts";

const partition = "work";
const key = "lease";

/** Two processes that ask for the same lease of a minute. */
async function setup(open: OpenStore) {
  const clock = createTestClock();
  const store = await open(clock.now);
  const acquire = (holder: string): Promise<Lease | null> =>
    Lease.acquire({ store, partition, key, holder, durationMs: 60_000, clock: clock.now });
  return { clock, store, acquire };
}

async function held(promise: Promise<Lease | null>): Promise<Lease> {
  const lease = await promise;
  assert.ok(lease);
  return lease;
}

async function storedLease(store: Store): Promise<Stored | null> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  return stored;
}

describeOnDatabases("a lease", open => {
  it("has one holder until it is released or over", async () => {
    const { clock, acquire } = await setup(open);
    const first = await held(acquire("a"));
    assert.equal(await acquire("b"), null);
    await first.release();
    await held(acquire("b"));
    assert.equal(await acquire("a"), null);
    clock.advance(60_000);
    await held(acquire("a"));
  });

  it("raises its token with every acquisition", async () => {
    const { clock, acquire } = await setup(open);
    const tokens: number[] = [];
    for (let round = 0; round < 3; round++) {
      tokens.push((await held(acquire("a"))).token);
      clock.advance(round * 60_000);
    }
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].toSorted((a, b) => a - b),
    );
  });

  it("is renewed once a third of it is over", async () => {
    const { clock, store, acquire } = await setup(open);
    const lease = await held(acquire("a"));
    const { until } = lease;
    clock.advance(19_999);
    await lease.renew();
    assert.equal(lease.until, until);
    clock.advance(1);
    await lease.renew();
    assert.equal(lease.until, until + 20_000);
    clock.advance(59_999);
    assert.notEqual(await storedLease(store), null);
    assert.equal(await acquire("b"), null);
  });

  it("can be neither renewed nor released by a process that has lost it", async () => {
    const { clock, store, acquire } = await setup(open);
    const lost = await held(acquire("a"));
    clock.advance(60_000);
    const current = await held(acquire("b"));
    await assert.rejects(() => lost.renew(), LeaseLost);
    await lost.release();
    assert.notEqual(await storedLease(store), null);
    await current.release();
    assert.equal(await storedLease(store), null);
  });

  it("lets commits with its check fail once another process holds it", async () => {
    const { clock, store, acquire } = await setup(open);
    const put = (lease: Lease, value: string) =>
      store.commit(partition, {
        checks: [lease.check],
        writes: [{ type: "put", key: "result", value }],
      });
    const lost = await held(acquire("a"));
    assert.equal((await put(lost, "a")).ok, true);
    clock.advance(30_000);
    await lost.renew();
    assert.equal((await put(lost, "a again")).ok, true);
    clock.advance(60_000);
    const current = await held(acquire("b"));
    assert.equal((await put(lost, "late")).ok, false);
    assert.equal((await put(current, "b")).ok, true);
  });
});
