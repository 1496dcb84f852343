import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../../adapters/conformance/random.ts";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import {
  type CodePools,
  codesAddedMax,
  createCodePools,
  type PoolAddress,
  type PoolFill,
  poolCodeCharactersMax,
} from "../../../../../lib/fans/loyalty/coupons/code_pools.ts";
import { type Store, tenantPartition } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { databases } from "../../../../support/databases.ts";
import { describeOnStores } from "../../../../support/stores.ts";

const codeFaultsMax = 100;
const codesPerCommitMax = 400;
const codesReturnedMax = 1_000;
const poolCodesMax = 1_000_000;

const pool: PoolAddress = { organisationId: "o", spaceId: "s", poolId: "summer" };
const clock = createTestClock();
const isCode = (code: string) => (error: unknown) => error instanceof AppError && error.code === code;
const numbered = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `CODE-${from + index}`);

function openPools(store: Store): CodePools {
  return createCodePools({ store, clock: clock.now, onLow: () => {} });
}

/** Claims the code of a grant that never expires. */
async function codeFor(pools: CodePools, grant: string, of: PoolAddress = pool): Promise<string | null> {
  return (await pools.claim(of, grant, null))?.code ?? null;
}

/** Claims for many grants at once over all handles, and checks that no code was given twice and none is lost. */
async function race(handles: readonly CodePools[], codes: number, grants: number): Promise<void> {
  const [first] = handles;
  assert.ok(first);
  await first.add(pool, numbered(codes));
  // Every grant asks twice, each time through another handle where there are several.
  const claims = Array.from({ length: grants * 2 }, (_, index) => {
    const grant = `grant-${index % grants}`;
    const handle = handles[(index + Math.floor(index / grants)) % handles.length] ?? first;
    return codeFor(handle, grant).then(code => [grant, code] as const);
  });
  const byGrant = new Map<string, string | null>();
  for (const [grant, code] of await Promise.all(claims)) {
    if (byGrant.has(grant)) assert.equal(byGrant.get(grant), code, `${grant} has one code`);
    byGrant.set(grant, code);
  }
  const given = [...byGrant.values()].filter(code => code !== null);
  assert.equal(new Set(given).size, given.length, "no code twice");
  assert.deepEqual(new Set(given), new Set(numbered(Math.min(codes, grants))), "the first codes, none lost");
  assert.deepEqual(await first.stats(pool), {
    total: codes,
    available: Math.max(0, codes - grants),
    allocated: given.length,
    redeemed: 0,
  });
}

describeOnStores("a code pool", open => {
  async function withPools(body: (pools: CodePools, store: Store) => Promise<void>): Promise<void> {
    await using store = await open(clock.now);
    await body(openPools(store), store);
  }

  it("hands codes out in the order in which they were added, one per grant", () =>
    withPools(async pools => {
      assert.deepEqual(await pools.add(pool, ["B", "A"]), { added: 2, duplicates: 0 });
      assert.deepEqual(await pools.add(pool, ["C"]), { added: 1, duplicates: 0 });
      assert.equal(await codeFor(pools, "g1"), "B");
      assert.equal(await codeFor(pools, "g2"), "A");
      assert.equal(await codeFor(pools, "g1"), "B");
      assert.equal(await codeFor(pools, "g3"), "C");
      assert.deepEqual(await pools.stats(pool), { total: 3, available: 0, allocated: 3, redeemed: 0 });
    }));

  it("says when it is exhausted, and serves the same grant once it has more", () =>
    withPools(async pools => {
      assert.equal(await codeFor(pools, "g1"), null);
      await pools.add(pool, ["A"]);
      assert.equal(await codeFor(pools, "g1"), "A");
      assert.equal(await codeFor(pools, "g2"), null);
    }));

  it("counts and ignores codes that it ever had", () =>
    withPools(async pools => {
      assert.deepEqual(await pools.add(pool, ["A", "B", "A"]), { added: 2, duplicates: 1 });
      await codeFor(pools, "g1");
      await pools.redeem(pool, "A");
      assert.deepEqual(await pools.add(pool, ["A", "B", "C"]), { added: 1, duplicates: 2 });
      assert.equal((await pools.stats(pool)).total, 3);
    }));

  it(`takes ${codesAddedMax} codes in one call, also while others add the same`, () =>
    withPools(async pools => {
      const codes = numbered(codesAddedMax);
      const [a, b] = await Promise.all([pools.add(pool, codes), pools.add(pool, codes.slice(0, 1_000))]);
      assert.equal(a.added + b.added, codesAddedMax);
      assert.equal(a.duplicates + b.duplicates, 1_000);
      assert.equal((await pools.stats(pool)).available, codesAddedMax);
      assert.equal(
        (await pools.add(pool, numbered(codesPerCommitMax + 1, codesAddedMax))).added,
        codesPerCommitMax + 1,
      );
    }));

  it("refuses too many codes and texts that are none", () =>
    withPools(async pools => {
      const tooLong = "x".repeat(poolCodeCharactersMax + 1);
      for (const codes of [[""], [" A"], ["A "], ["Ä"], ["A\n"], [tooLong], numbered(codesAddedMax + 1)]) {
        await assert.rejects(pools.add(pool, codes), isCode("validation_failed"));
      }
      await assert.rejects(
        pools.add(
          pool,
          Array.from({ length: 500 }, () => ""),
        ),
        (error: unknown) => {
          assert.ok(error instanceof AppError);
          assert.equal(error.fields?.length, codeFaultsMax);
          assert.equal(error.fields?.[99]?.pointer, "/codes/99");
          return true;
        },
      );
      assert.deepEqual(await pools.add(pool, ["x".repeat(poolCodeCharactersMax), "A B", "{%:}"]), {
        added: 3,
        duplicates: 0,
      });
      assert.equal((await pools.stats(pool)).total, 3);
    }));

  it(`has at most ${poolCodesMax} codes`, () =>
    withPools(async (pools, store) => {
      const value = JSON.stringify({ total: poolCodesMax - 2, next: 0, redeemed: 0 });
      await store.commit(tenantPartition({ organisation: "o" }, "pool", "s", pool.poolId), {
        writes: [{ type: "put", key: "pool", value }],
      });
      await assert.rejects(pools.add(pool, ["A", "B", "C"]), isCode("conflict"));
      assert.equal((await pools.add(pool, ["A", "B"])).added, 2);
      await assert.rejects(pools.add(pool, ["C"]), isCode("conflict"));
      assert.deepEqual(await pools.add(pool, ["A", "B"]), { added: 0, duplicates: 2 });
    }));

  it("hands out again what came back, before new codes and once", () =>
    withPools(async pools => {
      await pools.add(pool, ["A", "B", "C"]);
      assert.equal(await codeFor(pools, "g1"), "A");
      assert.equal(await codeFor(pools, "g2"), "B");
      await pools.release(pool, "g1");
      await pools.release(pool, "g1");
      await pools.release(pool, "unknown");
      assert.deepEqual(await pools.stats(pool), { total: 3, available: 2, allocated: 1, redeemed: 0 });
      await assert.rejects(pools.redeem(pool, "A"), isCode("code_not_issued"));
      assert.equal(await codeFor(pools, "g3"), "A");
      assert.deepEqual(await pools.redeem(pool, "A"), { code: "A", redeemedAt: clock.now() });
      assert.equal(await codeFor(pools, "g1"), "C");
      assert.equal(await codeFor(pools, "g4"), null);
      assert.deepEqual(await pools.stats(pool), { total: 3, available: 0, allocated: 2, redeemed: 1 });
    }));

  it(`keeps at most ${codesReturnedMax} codes that came back`, () =>
    withPools(async pools => {
      const grants = numbered(codesReturnedMax + 1);
      await pools.add(pool, grants);
      await Promise.all(grants.map(grant => codeFor(pools, grant)));
      await Promise.all(grants.map(grant => pools.release(pool, grant)));
      const { available, allocated } = await pools.stats(pool);
      assert.deepEqual([available, allocated], [codesReturnedMax, 1]);
    }));

  it("redeems a code that was handed out, once", () =>
    withPools(async pools => {
      await pools.add(pool, ["A", "B"]);
      await codeFor(pools, "g1");
      await assert.rejects(pools.redeem(pool, "B"), isCode("code_not_issued"));
      await assert.rejects(pools.redeem(pool, "C"), isCode("not_found"));
      await assert.rejects(pools.redeem(pool, "\n"), isCode("not_found"));
      const redeemedAt = clock.now();
      const answers = await Promise.allSettled(Array.from({ length: 20 }, () => pools.redeem(pool, "A")));
      const taken = answers.filter(answer => answer.status === "fulfilled");
      assert.deepEqual(
        taken.map(({ value }) => value),
        [{ code: "A", redeemedAt }],
      );
      clock.advance(5_000);
      await assert.rejects(pools.redeem(pool, "A"), (error: unknown) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, "code_used");
        assert.deepEqual(error.details, { redeemedAt: new Date(redeemedAt).toISOString() });
        return true;
      });
      assert.deepEqual(await pools.stats(pool), { total: 2, available: 1, allocated: 0, redeemed: 1 });
    }));

  it("answers the same request alike, also where many of it race, and no other one", () =>
    withPools(async pools => {
      await pools.add(pool, ["A"]);
      await codeFor(pools, "g1");
      const first = { code: "A", redeemedAt: clock.now() };
      const answers = await Promise.all(Array.from({ length: 8 }, () => pools.redeem(pool, "A", "scan-1")));
      assert.deepEqual(
        answers,
        answers.map(() => first),
      );
      clock.advance(5_000);
      assert.deepEqual(await pools.redeem(pool, "A", "scan-1"), first);
      await assert.rejects(pools.redeem(pool, "A", "scan-2"), isCode("code_used"));
      assert.equal((await pools.stats(pool)).redeemed, 1);
    }));

  it("redeems a code before it expires, and not from then on", () =>
    withPools(async pools => {
      await pools.add(pool, ["A", "B"]);
      const expiresAt = clock.now() + 1_000;
      assert.deepEqual(await pools.claim(pool, "g1", expiresAt), { code: "A", expiresAt });
      assert.deepEqual(await pools.claim(pool, "g1", expiresAt + 1), { code: "A", expiresAt });
      await pools.claim(pool, "g2", expiresAt);
      clock.advance(999);
      await pools.redeem(pool, "A");
      clock.advance(1);
      await assert.rejects(pools.redeem(pool, "B"), isCode("code_expired"));
      await assert.rejects(pools.redeem(pool, "A"), isCode("code_used"));
    }));

  it("redeems no code that was revoked, unless it was redeemed before", () =>
    withPools(async pools => {
      await pools.add(pool, ["A", "B"]);
      await codeFor(pools, "g1");
      await codeFor(pools, "g2");
      await pools.redeem(pool, "A", "scan-1");
      for (const grant of ["g1", "g2", "unknown"]) await pools.revoke(pool, grant);
      await assert.rejects(pools.redeem(pool, "B"), isCode("code_revoked"));
      assert.equal((await pools.redeem(pool, "A", "scan-1")).code, "A");
      await assert.rejects(pools.redeem(pool, "A"), isCode("code_used"));
    }));

  it("has a code once, however it is spelt, and shows it as it was added first", () =>
    withPools(async pools => {
      assert.deepEqual(await pools.add(pool, ["Save-a", "SAVE-A", "b"]), { added: 2, duplicates: 1 });
      assert.deepEqual(await pools.add(pool, ["save-a", "B"]), { added: 0, duplicates: 2 });
      assert.equal(await codeFor(pools, "g1"), "Save-a");
      assert.equal(await codeFor(pools, "g1"), "Save-a");
      assert.deepEqual(await pools.redeem(pool, " sAVE-a\n"), { code: "Save-a", redeemedAt: clock.now() });
      await assert.rejects(pools.redeem(pool, "SAVE-A"), isCode("code_used"));
    }));

  it("takes no code that another pool of the space has, also while both add it", () =>
    withPools(async pools => {
      const winter = { ...pool, poolId: "winter" };
      await pools.add(pool, ["A"]);
      assert.deepEqual(await pools.add(winter, ["a", "W"]), { added: 1, duplicates: 1 });
      assert.deepEqual(await pools.add({ ...pool, spaceId: "t" }, ["a"]), { added: 1, duplicates: 0 });
      const codes = numbered(50);
      const added = await Promise.all([pools.add(pool, codes), pools.add(winter, codes)]);
      assert.equal(
        added.reduce((sum, { added: count }) => sum + count, 0),
        codes.length,
      );
      await assert.rejects(pools.redeem(winter, "A"), isCode("not_found"));
    }));

  it("keeps nothing that names the user of a grant", () =>
    withPools(async (pools, store) => {
      await pools.add(pool, ["A"]);
      await pools.claim(pool, "coupon/user-1", null);
      const partition = tenantPartition({ organisation: "o" }, "pool", "s", pool.poolId);
      const [claim] = await store.read(partition, [{ type: "record", key: "claim:coupon/user-1" }]);
      assert.equal(claim, null);
    }));

  it("is reported from the time on at which a tenth of its codes is left", async () => {
    const fills: unknown[] = [];
    await using store = await open(clock.now);
    const onLow = (_: PoolAddress, { available }: PoolFill): number => fills.push(available);
    const pools = createCodePools({ store, clock: clock.now, onLow });
    await pools.add(pool, numbered(20));
    for (let n = 0; n < 17; n++) await codeFor(pools, `g${n}`);
    assert.equal(await pools.hasCode(pool), true);
    assert.deepEqual(fills, []);
    for (let n = 17; n < 22; n++) await codeFor(pools, `g${n}`);
    assert.deepEqual(fills, [2, 1, 0, 0, 0]);
    await codeFor(pools, "g1");
    assert.equal(fills.length, 5, "a repeated claim takes nothing");
    assert.equal(await pools.hasCode(pool), false);
    assert.equal(fills.at(-1), 0);
  });

  it("shares nothing with the pools of other spaces and organisations", () =>
    withPools(async pools => {
      await pools.add(pool, ["A"]);
      for (const other of [{ organisationId: "p" }, { spaceId: "t" }, { poolId: "winter" }]) {
        assert.equal(await codeFor(pools, "g1", { ...pool, ...other }), null);
      }
    }));

  it("gives 500 grants that ask twice at once one code each", () =>
    withPools(async pools => {
      await race([pools], 600, 500);
    }));

  it("gives no code twice and loses none when there are fewer than grants", () =>
    withPools(async pools => {
      await race([pools], 150, 400);
    }));

  it("does all of this in any order", () =>
    withPools(async pools => {
      for (let seed = 1; seed <= 20; seed++) await randomRun(pools, seed);
    }));
});

/** Adds, claims and redeems at random beside a list of codes. */
async function randomRun(pools: CodePools, seed: number): Promise<void> {
  const random = createRandom(seed);
  const address = { ...pool, poolId: `random-${seed}` };
  const [codes, claims, redeemed] = [[] as string[], new Map<string, string>(), new Set<string>()];
  for (let step = 0; step < 60; step++) {
    const choice = random.next();
    // Pools of a space share their codes.
    const code = `C${seed}-${random.integer(40)}`;
    if (choice < 0.3) {
      const { added } = await pools.add(address, [code]);
      assert.equal(added, codes.includes(code) ? 0 : 1, `seed ${seed}`);
      if (added === 1) codes.push(code);
    } else if (choice < 0.7) {
      const grant = `g${random.integer(30)}`;
      const expected = claims.get(grant) ?? codes[claims.size] ?? null;
      assert.equal(await codeFor(pools, grant, address), expected, `seed ${seed}`);
      if (expected !== null) claims.set(grant, expected);
    } else if ([...claims.values()].includes(code)) {
      const scanned = pools.redeem(address, code);
      if (redeemed.has(code)) await assert.rejects(scanned, isCode("code_used"), `seed ${seed}`);
      else await scanned;
      redeemed.add(code);
    }
  }
  assert.deepEqual(
    await pools.stats(address),
    {
      total: codes.length,
      available: codes.length - claims.size,
      allocated: claims.size - redeemed.size,
      redeemed: redeemed.size,
    },
    `seed ${seed}`,
  );
}

describe("a code pool that several processes use", () => {
  for (const { name, skip, handles } of databases) {
    it(`hands each code out once over three handles on one ${name}`, { skip }, async () => {
      const stores = await handles(3, clock.now);
      try {
        await race(stores.map(openPools), 300, 400);
      } finally {
        for (const store of stores) await store[Symbol.asyncDispose]();
      }
    });
  }

  it("hands each code out once over a store whose decisions do not fold", async () => {
    await using store = createMemoryStore({ clock: clock.now });
    const handle = (): Store => ({
      traits: store.traits,
      read: (partition, queries) => store.read(partition, queries),
      commit: (partition, batch) => store.commit(partition, batch),
      ping: () => store.ping(),
      [Symbol.asyncDispose]: async () => {},
    });
    await race([handle(), handle(), handle()].map(openPools), 300, 400);
  });
});
