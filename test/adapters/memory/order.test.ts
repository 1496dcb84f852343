import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../adapters/conformance/random.ts";
import { blockEntries, Order } from "../../../adapters/memory/board/order.ts";

/** An order of slots beside the plain array that it must equal; a slot's rank is new each time that it is used. */
class Twin {
  readonly ranks: number[] = [];
  readonly entries: { score: number; tie: number; slot: number }[] = [];
  readonly order: Order = new Order((slot, other) => (this.ranks[slot] ?? 0) - (this.ranks[other] ?? 0));

  insert(score: number, tie: number, slot: number, rank: number): void {
    this.ranks[slot] = rank;
    this.order.insert(score, tie, slot);
    this.entries.push({ score, tie, slot });
  }

  remove(index: number): number {
    const [entry] = this.entries.splice(index, 1);
    assert.ok(entry);
    this.order.remove(entry.score, entry.tie, entry.slot);
    this.ranks[entry.slot] = Number.NaN;
    return entry.slot;
  }

  move(index: number, score: number, tie: number): void {
    const entry = this.entries[index];
    assert.ok(entry);
    if (entry.score === score && entry.tie === tie) return;
    this.order.move(entry.score, entry.tie, entry.slot, score, tie);
    this.entries[index] = { score, tie, slot: entry.slot };
  }

  compare(): void {
    const rank = (slot: number) => this.ranks[slot] ?? 0;
    this.entries.sort((a, b) => a.score - b.score || a.tie - b.tie || rank(a.slot) - rank(b.slot));
    const expected = this.entries.map(entry => entry.slot);
    const found: number[] = [];
    this.order.visit(0, expected.length, false, slot => found.push(slot));
    assert.deepEqual(found, expected);
    const backwards: number[] = [];
    this.order.visit(expected.length - 1, expected.length, true, slot => backwards.push(slot));
    assert.deepEqual(backwards, expected.toReversed());
    for (let score = -3; score < 8; score += 0.5) {
      assert.equal(this.order.below(score, false), this.entries.filter(entry => entry.score < score).length);
      assert.equal(this.order.below(score, true), this.entries.filter(entry => entry.score <= score).length);
    }
  }
}

function ascending(blocks: number): Twin {
  const twin = new Twin();
  for (let slot = 0; slot < blocks * blockEntries; slot++) twin.insert(0, 0, slot, slot);
  return twin;
}

describe("the order of a large set", () => {
  for (const seed of [21, 22, 23]) {
    it(`equals a sorted array over insertions, moves and removals among ties (seed ${seed})`, () => {
      const random = createRandom(seed);
      const twin = new Twin();
      const free = Array.from({ length: 1_600 }, (_, slot) => slot);
      for (let step = 0; step < 30_000; step++) {
        const choice = random.next();
        const filling = step % 10_000 < 6_000;
        const score = random.integer(4) - random.integer(3);
        if (choice < (filling ? 0.35 : 0.1) && free.length > 0) {
          twin.insert(score, random.integer(3), free.pop() ?? 0, random.integer(1 << 30));
        } else if (choice < 0.7 && twin.entries.length > 0) {
          twin.move(random.integer(twin.entries.length), score, random.integer(3));
        } else if (choice < (filling ? 0.8 : 1) && twin.entries.length > 0) {
          free.push(twin.remove(random.integer(twin.entries.length)));
        }
        if (step % 250 === 0) twin.compare();
      }
    });
  }

  for (const [kind, scoreOf] of [
    ["exponential", (random: Random) => Math.exp(random.next() * 1_400 - 700)],
    ["even but for a few far away", (random: Random) => random.next() * (random.chance(0.01) ? 1e308 : 1)],
    ["of both signs up to the largest", (random: Random) => (random.next() - 0.5) * Number.MAX_VALUE * 2],
    ["mostly one and the same", (random: Random) => (random.chance(0.9) ? 5 : random.next() * 10)],
  ] as const) {
    it(`finds its entries where scores are ${kind}`, () => {
      const random = createRandom(24);
      const twin = new Twin();
      for (let slot = 0; slot < 1_500; slot++) twin.insert(scoreOf(random), slot, slot, slot);
      for (let step = 0; step < 3_000; step++) {
        twin.move(random.integer(twin.entries.length), scoreOf(random), 1_500 + step);
      }
      twin.compare();
      const scores = twin.entries.map(({ score }) => score);
      for (const [index, score] of scores.entries()) {
        const first = scores.indexOf(score);
        assert.equal(twin.order.below(score, false), first, `${index}`);
        assert.equal(twin.order.below(score, true), scores.lastIndexOf(score) + 1, `${index}`);
      }
    });
  }

  it("survives that a whole block between full neighbours empties, and fills it again", () => {
    for (const block of [0, 1, 2, 3]) {
      for (const thinned of [0, 1, 2, 3]) {
        const twin = ascending(4);
        // A thinner neighbour attracts the merge.
        if (thinned !== block) {
          for (let count = 0; count < blockEntries / 8; count++) {
            twin.remove(twin.entries.findIndex(entry => entry.slot >= thinned * blockEntries + 5));
          }
        }
        const inside = ({ slot }: { slot: number }) => Math.floor(slot / blockEntries) === block;
        while (twin.entries.some(inside)) twin.remove(twin.entries.findIndex(inside));
        twin.compare();
        // The slots come back elsewhere: nothing may still point at where they were.
        for (let at = blockEntries - 1; at >= 0; at--) {
          twin.insert(0, 0, block * blockEntries + at, ((at * 5) % (4 * blockEntries)) - 0.5);
        }
        twin.compare();
      }
    }
  });

  it("knows its lowest entry after that became lower still, or higher, inside of its block", () => {
    const twin = ascending(3);
    twin.move(7, -1, 0);
    twin.compare();
    twin.move(0, 0, 0);
    twin.compare();
  });

  it("stays right when entries arrive in order and leave from the low end", () => {
    const twin = ascending(10);
    twin.compare();
    for (let left = 10 * blockEntries; left > 0; left--) {
      twin.remove(0);
      if (left % 300 === 0) twin.compare();
    }
    twin.compare();
  });
});
