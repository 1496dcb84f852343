import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom } from "../../../../../adapters/conformance/random.ts";
import type { Lot, MetricAccount } from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import {
  credit,
  debit,
  isReversible,
  reverseEntry,
} from "../../../../../lib/fans/loyalty/ledger/movements.ts";
import {
  balancesOf,
  nextSettlement,
  settleLots,
} from "../../../../../lib/fans/loyalty/ledger/settle_lots.ts";

const expiringSoonMax = 10;
const expiringSoonMs = 30 * 86_400_000;
const reversalGraceMs = 30 * 86_400_000;
const lotsMax = 500;
const empty: MetricAccount = { balance: 0, lots: [] };
const plain: MetricAccount = { balance: 0, lots: null };
const ceiling = 1_000_000_000;
const bounds = { floor: 0, ceiling };

interface Dates {
  readonly at?: number;
  readonly activatesAt?: number;
  readonly expiresAt?: number | null;
}

function given(account: MetricAccount, amount: number, lotId: string, dates: Dates = {}): MetricAccount {
  return credit(account, { at: 1, ceiling, amount, lotId, ...dates }).account;
}

function held({ lots }: MetricAccount): Record<string, number> {
  return Object.fromEntries((lots ?? []).map(({ id, remaining }) => [id, remaining]));
}

describe("a debit", () => {
  it("draws the lot that expires first, then the oldest, then those without expiry, and points outside lots last", () => {
    let account: MetricAccount = { balance: 5, lots: [] };
    account = given(account, 2, "never", { at: 1 });
    account = given(account, 2, "late", { at: 2, expiresAt: 90 });
    account = given(account, 2, "younger", { at: 3, expiresAt: 50 });
    account = given(account, 2, "older", { at: 2, expiresAt: 50 });
    const { entry, account: after } = debit(account, { amount: 10, at: 10, floor: 0 });
    assert.deepEqual(
      entry?.draws?.map(({ lot, amount }) => [lot, amount]),
      [
        ["older", 2],
        ["younger", 2],
        ["late", 2],
        ["never", 2],
      ],
    );
    assert.deepEqual(after, { balance: 3, lots: [] });
  });

  it("leaves pending points, and takes no more than the points above the floor", () => {
    const account = given(given(empty, 3, "now"), 5, "soon", { activatesAt: 20 });
    const { entry, account: after } = debit(account, { amount: 10, at: 10, floor: 1 });
    assert.deepEqual([entry?.amount, entry?.balanceAfter], [2, 1]);
    assert.deepEqual(held(after), { now: 1, soon: 5 });
    assert.deepEqual(debit(after, { amount: 4, at: 10, floor: 1 }), { account: after, entry: null });
  });

  it("is refused if the account is not settled", () => {
    const account = given(empty, 3, "a", { expiresAt: 10 });
    assert.throws(() => debit(account, { amount: 1, at: 10, floor: 0 }), /RangeError: .* not settled/);
    assert.throws(() => credit(account, { amount: 1, at: 10, lotId: "b", ceiling }), /not settled/);
    assert.equal(debit(account, { amount: 1, at: 9, floor: 0 }).account.balance, 2);
  });
});

describe("a credit", () => {
  it("stays below the ceiling, pending points included", () => {
    const account = given(empty, 6, "soon", { activatesAt: 20 });
    const { entry, account: after } = credit(account, { amount: 9, at: 1, lotId: "now", ceiling: 10 });
    assert.deepEqual([entry?.amount, after.balance], [4, 4]);
    assert.equal(settleLots(after, 20).account.balance, 10);
    assert.equal(credit(after, { amount: 1, at: 1, lotId: "more", ceiling: 10 }).entry, null);
  });

  it("pays a debt before it fills a lot, also at a later activation", () => {
    const indebted: MetricAccount = { balance: -5, lots: [] };
    assert.deepEqual(held(given(indebted, 7, "a")), { a: 2 });
    assert.equal(given(indebted, 7, "a").balance, 2);
    const later = settleLots(given(indebted, 7, "a", { activatesAt: 20 }), 20);
    assert.deepEqual([later.account.balance, held(later.account)], [2, { a: 2 }]);
    assert.deepEqual(given(indebted, 4, "a"), { balance: -1, lots: [] });
  });

  it("shares the lot of its id if the dates are equal, and is refused otherwise", () => {
    const account = given(given(empty, 2, "week", { expiresAt: 9 }), 3, "week", { expiresAt: 9 });
    assert.deepEqual(held(account), { week: 5 });
    assert.equal(account.lots?.[0]?.amount, 5);
    assert.throws(() => given(account, 1, "week", { expiresAt: 8 }), /other dates/);
    assert.throws(() => given(account, 1, "over", { at: 3, expiresAt: 3 }), /expired already/);
  });

  it("commutes with other credits of the same instant", () => {
    const credits = [..."abcdefg"].map((lotId, index) => ({
      lotId,
      amount: index + 1,
      expiresAt: index % 3 === 0 ? null : 40 + (index % 2),
      activatesAt: index % 2 === 0 ? 1 : 20,
    }));
    const inOrder = credits.reduce(
      (account, { lotId, ...one }) => given(account, one.amount, lotId, one),
      empty,
    );
    for (let seed = 1; seed <= 1_000; seed++) {
      const random = createRandom(seed);
      const shuffled = credits.map(one => ({ one, key: random.next() })).sort((a, b) => a.key - b.key);
      const account = shuffled.reduce(
        (sum, { one: { lotId, ...one } }) => given(sum, one.amount, lotId, one),
        empty,
      );
      assert.deepEqual(account, inOrder, `seed ${seed}`);
    }
  });

  it(`joins a lot that lasts at least as long when there are ${lotsMax} lots`, () => {
    let account = empty;
    for (let n = 0; n < lotsMax; n++) account = given(account, 1, `lot-${n}`, { expiresAt: 1_000 + 10 * n });
    account = given(account, 5, "between", { expiresAt: 1_005 });
    account = given(account, 7, "beyond", { expiresAt: 90_000 });
    const { lots } = account;
    assert.equal(lots?.length, lotsMax);
    assert.deepEqual([lots?.[1]?.id, lots?.[1]?.remaining, lots?.[1]?.expiresAt], ["lot-1", 6, 1_010]);
    assert.deepEqual([lots?.at(-1)?.remaining, lots?.at(-1)?.expiresAt], [8, 90_000]);
    assert.equal(account.balance, lotsMax + 12);
    const pending = given(account, 2, "pending", { activatesAt: 30 });
    assert.equal(pending.lots?.length, lotsMax + 1);
    assert.equal(settleLots(pending, 30).account.balance, lotsMax + 14);
  });
});

describe("amounts", () => {
  it("are safe integers with lots, and finite numbers without", () => {
    for (const amount of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER + 1]) {
      assert.throws(() => given(empty, amount, "a"), RangeError);
      assert.throws(() => debit(empty, { amount, at: 1, floor: 0 }), RangeError);
    }
    assert.equal(given(plain, 0.5, "a").balance, 0.5);
    assert.throws(() => given(plain, Number.NaN, "a"), RangeError);
    assert.throws(() => debit(plain, { amount: -1, at: 1, floor: 0 }), RangeError);
  });

  it("never leave the range of safe integers", () => {
    const rich: MetricAccount = { balance: Number.MAX_SAFE_INTEGER - 1, lots: [] };
    const over = { amount: 2, at: 1, lotId: "a", ceiling: Number.POSITIVE_INFINITY };
    assert.throws(() => credit(rich, over), /safe integers/);
    assert.throws(() => credit({ ...rich, lots: null }, over), /safe integers/);
    assert.equal(credit(rich, { ...over, amount: 1 }).account.balance, Number.MAX_SAFE_INTEGER);
    const poor: MetricAccount = { balance: -Number.MAX_SAFE_INTEGER, lots: [] };
    assert.throws(() => debit(poor, { amount: 1, at: 1, floor: Number.NEGATIVE_INFINITY }), /safe integers/);
  });

  it("of an entry are the points that really moved", () => {
    const { account, entry } = credit(
      { balance: 8, lots: null },
      { amount: 5, at: 1, lotId: "a", ceiling: 10 },
    );
    assert.deepEqual(entry, { type: "credit", amount: 2, balanceAfter: 10, status: "completed" });
    assert.equal(reverseEntry(account, entry ?? assert.fail(), { at: 2, ...bounds }).account.balance, 8);
    assert.equal(debit(account, { amount: 50, at: 1, floor: -5 }).entry?.amount, 15);
    assert.equal(debit({ balance: -9, lots: null }, { amount: 5, at: 1, floor: 0 }).entry, null);
  });
});

describe("settlement", () => {
  const account = [
    { id: "a", dates: { expiresAt: 30 } },
    { id: "b", dates: { activatesAt: 10, expiresAt: 30 } },
    { id: "c", dates: { activatesAt: 30 } },
    { id: "d", dates: { activatesAt: 40, expiresAt: 35 } },
    { id: "e", dates: { activatesAt: 50, expiresAt: 50 } },
  ].reduce((sum, { id, dates }) => given(sum, 2, id, dates), empty);

  it("dates each activation and expiry by its own instant, the activations of an instant first", () => {
    const { entries } = settleLots(account, 100);
    assert.deepEqual(
      entries.map(({ at, type, status, balanceAfter, lot, draws }) => [
        at,
        lot?.id ?? draws?.[0]?.lot,
        type,
        status,
        balanceAfter,
      ]),
      [
        [10, "b", "credit", "completed", 4],
        [30, "c", "credit", "completed", 6],
        [30, "a", "debit", "expired", 4],
        [30, "b", "debit", "expired", 2],
        [35, "d", "debit", "expired", 2],
        [50, "e", "credit", "completed", 4],
        [50, "e", "debit", "expired", 2],
      ],
    );
  });

  it("is the same in one step and in two", () => {
    for (let first = 0; first <= 60; first++) {
      for (let second = first; second <= 60; second++) {
        const once = settleLots(account, second);
        const [a, b] = [settleLots(account, first), settleLots(settleLots(account, first).account, second)];
        assert.deepEqual({ account: b.account, entries: [...a.entries, ...b.entries] }, once);
      }
    }
  });

  it("is due at the next activation or expiry, and returns an account with nothing due as it is", () => {
    assert.equal(nextSettlement(account), 10);
    assert.equal(settleLots(account, 9).account, account);
    assert.equal(
      settleLots(account, 30).account.lots?.some(({ id }) => id === "a"),
      false,
    );
    assert.equal(
      settleLots(account, 29).account.lots?.some(({ id }) => id === "a"),
      true,
    );
    assert.equal(nextSettlement(settleLots(account, 100).account), null);
    assert.equal(nextSettlement(plain), null);
  });
});

describe("a reversal", () => {
  it("restores empty lots with their dates", () => {
    const account = given(given(empty, 3, "a", { expiresAt: 500 }), 3, "b", { expiresAt: 600 });
    const { account: after, entry } = debit(account, { amount: 5, at: 2, floor: 0 });
    assert.deepEqual(held(after), { b: 1 });
    assert.deepEqual(reverseEntry(after, entry ?? assert.fail(), { at: 400, ...bounds }).account, account);
  });

  it("gives the points of an expired lot 30 days of grace", () => {
    const { account, entry } = debit(given(empty, 3, "a", { expiresAt: 500 }), {
      amount: 2,
      at: 2,
      floor: 0,
    });
    const late = settleLots(account, 700).account;
    const { account: after } = reverseEntry(late, entry ?? assert.fail(), { at: 700, ...bounds });
    const [lot] = after.lots ?? [];
    assert.deepEqual([lot?.id, lot?.remaining, lot?.expiresAt], ["a", 2, 700 + 2_592_000_000]);
    assert.equal(reversalGraceMs, 2_592_000_000);
  });

  it("of a credit takes from its own lot first", () => {
    const first = given(empty, 5, "first", { expiresAt: 90 });
    const { account, entry } = credit(first, { amount: 5, at: 2, lotId: "second", ceiling });
    assert.deepEqual(held(reverseEntry(account, entry ?? assert.fail(), { at: 3, ...bounds }).account), {
      first: 5,
    });
  });

  it("of a spent credit takes from other lots, and goes below the floor only if allowed", () => {
    const { account, entry } = credit(empty, { amount: 5, at: 1, lotId: "a", ceiling });
    const spent = given(debit(account, { amount: 5, at: 2, floor: 0 }).account, 2, "b", { at: 2 });
    const made = entry ?? assert.fail();
    assert.deepEqual(reverseEntry(spent, made, { at: 3, ...bounds }).account, empty);
    const indebted = reverseEntry(spent, made, { at: 3, ...bounds, floor: Number.NEGATIVE_INFINITY });
    assert.deepEqual([indebted.account.balance, indebted.entry?.amount], [-3, 5]);
    const undone = reverseEntry(indebted.account, indebted.entry ?? assert.fail(), { at: 4, ...bounds });
    assert.deepEqual([undone.account.balance, held(undone.account)], [2, { b: 2 }]);
  });

  it("of pending points takes them before they become usable", () => {
    const { account, entry } = credit(empty, { amount: 5, at: 1, lotId: "a", activatesAt: 50, ceiling });
    const reversed = reverseEntry(account, entry ?? assert.fail(), { at: 3, ...bounds });
    assert.deepEqual(reversed.account, empty);
    assert.equal(reversed.entry?.status, "pending");
    assert.equal(isReversible(reversed.entry ?? assert.fail()), false);
  });

  it("of settlement is refused", () => {
    const account = given(empty, 5, "a", { activatesAt: 10, expiresAt: 20 });
    for (const entry of settleLots(account, 30).entries) {
      assert.equal(isReversible(entry), false);
      assert.throws(() => reverseEntry(account, entry, { at: 5, ...bounds }), RangeError);
    }
  });

  it("returns points up to the ceiling", () => {
    const { account, entry } = debit(given(empty, 5, "a"), { amount: 5, at: 2, floor: 0 });
    const full = given(account, 7, "b", { at: 3 });
    const { account: after } = reverseEntry(full, entry ?? assert.fail(), { at: 4, floor: 0, ceiling: 10 });
    assert.deepEqual([after.balance, held(after)], [10, { a: 3, b: 7 }]);
  });
});

describe("balances", () => {
  it("are those of the settled account: available, pending and expiring soon", () => {
    const soon = expiringSoonMs;
    let account = given(empty, 1, "gone", { expiresAt: 10 });
    account = given(account, 2, "soon", { expiresAt: 40 });
    account = given(account, 3, "as soon", { expiresAt: 40, activatesAt: 15 });
    account = given(account, 4, "just", { expiresAt: 20 + soon });
    account = given(account, 5, "late", { expiresAt: 21 + soon });
    account = given(account, 6, "pending", { expiresAt: 60, activatesAt: 50 });
    assert.deepEqual(balancesOf(account, 20), {
      available: 14,
      pending: 6,
      expiringSoon: [
        { amount: 5, expiresAt: 40 },
        { amount: 4, expiresAt: 20 + soon },
      ],
    });
    assert.equal(account.balance, 12);
  });

  it(`name at most ${expiringSoonMax} instants, the nearest first`, () => {
    let account = empty;
    for (let n = 20; n > 0; n--) account = given(account, n, `lot-${n}`, { expiresAt: 100 + n });
    const { expiringSoon } = balancesOf(account, 10);
    assert.deepEqual(
      expiringSoon.map(({ amount }) => amount),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
  });

  it("of a metric without lots are its balance", () => {
    assert.deepEqual(balancesOf({ balance: 2.5, lots: null }, 1), {
      available: 2.5,
      pending: 0,
      expiringSoon: [],
    });
  });
});

it("lots are kept in the order in which they are drawn", () => {
  const order = (lots: readonly Lot[] | null): string => (lots ?? []).map(({ id }) => id).join("");
  let account = given(empty, 1, "c", { at: 1 });
  account = given(account, 1, "b", { at: 2, expiresAt: 9 });
  account = given(account, 1, "a", { at: 2, expiresAt: 9 });
  assert.equal(order(account.lots), "abc");
});
