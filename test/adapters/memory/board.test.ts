import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../adapters/conformance/random.ts";
import type { BoardRow } from "../../../adapters/memory/board/board.ts";
import { Board, shrinkMembersMax, smallMembersMax } from "../../../adapters/memory/board/board.ts";
import { sampleSize } from "../../support/full.ts";
import { anyMember, NaiveBoard, uuidOf } from "./naive_board.ts";

interface Run {
  readonly seed: number;
  readonly steps: number;
  /** Different members of each kind. */
  readonly kinds: number;
  readonly scores: number;
  readonly ties: number;
  /** The share of removals, by step. */
  removals(step: number): number;
}

function anyRow(random: Random, run: Run): BoardRow {
  return {
    member: anyMember(random, run.kinds),
    score: random.integer(run.scores) / 4 - 3,
    tie: random.integer(run.ties),
    asOf: random.integer(5) - 1,
  };
}

function compareAnswers(board: Board, naive: NaiveBoard, random: Random): void {
  const rows = board.range({ limit: naive.size + 1 });
  assert.deepEqual(rows, { entries: naive.sorted(), size: naive.size });
  for (let question = 0; question < 12; question++) {
    const bound = () => random.integer(60) / 4 - 4;
    const query = {
      limit: random.integer(40),
      offset: random.chance(0.5) ? random.integer(naive.size + 2) : 0,
      reverse: random.chance(0.5),
      ...(random.chance(0.5) ? { min: bound() } : {}),
      ...(random.chance(0.5) ? { max: bound() } : {}),
    };
    assert.deepEqual(board.range(query).entries, naive.range(query), JSON.stringify(query));
    const point = { score: bound(), tie: random.integer(4), member: anyMember(random, 50) };
    assert.equal(board.before(point), naive.before(point), JSON.stringify(point));
  }
}

function compareMember(board: Board, naive: NaiveBoard, member: string): void {
  const row = naive.get(member);
  assert.deepEqual(board.get(member), row);
  const expected =
    row === undefined ? null : { score: row.score, tie: row.tie, below: naive.below(row.score) };
  assert.deepEqual(board.standing({ member }), expected);
  const point = row ?? { score: 0, tie: 1, member };
  const position = naive.before(point);
  assert.equal(board.before(point), position);
  assert.deepEqual(
    board.standing({ member, position: true }),
    expected === null ? null : { ...expected, position },
  );
}

function runRandomly(run: Run): void {
  const random = createRandom(run.seed);
  const board = new Board(run.seed);
  const naive = new NaiveBoard();
  for (let step = 0; step < run.steps; step++) {
    const row = anyRow(random, run);
    if (random.chance(run.removals(step))) {
      const member = random.chance(0.7) ? (naive.oldest() ?? row.member) : row.member;
      assert.equal(board.remove(member), naive.remove(member));
    } else {
      board.put(row);
      naive.put(row);
    }
    assert.equal(board.size, naive.size);
    if (step % 16 === 0) compareMember(board, naive, anyMember(random, run.kinds));
    if (step % 256 === 0) compareAnswers(board, naive, random);
  }
  compareAnswers(board, naive, random);
  assert.deepEqual(sortedRows(board), naive.sorted());
}

function sortedRows(board: Board): unknown {
  const naive = new NaiveBoard();
  const rows = board.rows();
  for (let step = rows.next(); !step.done; step = rows.next()) naive.put(step.value);
  return naive.sorted();
}

describe("a board answers as a sorted array does", () => {
  for (const seed of [11, 12, 13].slice(0, sampleSize(3, 1))) {
    it(`with a few dozen members that come and go (seed ${seed})`, () => {
      runRandomly({ seed, steps: 4_000, kinds: 8, scores: 12, ties: 3, removals: () => 0.4 });
    });
    it(`with thousands of members, almost all of them tied (seed ${seed})`, () => {
      runRandomly({ seed, steps: 9_000, kinds: 900, scores: 3, ties: 2, removals: () => 0.02 });
    });
    it(`with different scores and ties (seed ${seed})`, () => {
      runRandomly({ seed, steps: 6_000, kinds: 500, scores: 60, ties: 1_000, removals: () => 0.05 });
    });
    it(`while it fills and drains again and again (seed ${seed})`, () => {
      const removals = (step: number) => (step % 2_000 < 1_000 ? 0.05 : 0.9);
      runRandomly({ seed, steps: 8_000, kinds: 700, scores: 40, ties: 3, removals });
    });
  }
});

describe("a large board", () => {
  const count = 20_000;

  function filled(order: (index: number) => number): Board {
    const board = new Board(5);
    for (let index = 0; index < count; index++) {
      const at = order(index);
      board.put({ member: uuidOf(at), score: at, tie: 0, asOf: -1 });
    }
    return board;
  }

  const orders: readonly [name: string, order: (index: number) => number][] = [
    ["ascending", index => index],
    ["descending", index => count - 1 - index],
    ["scattered", index => (index * 7_919) % count],
  ];
  for (const [name, order] of orders) {
    it(`ranks ${count} members that arrive ${name}, and forgets them in another order`, () => {
      const board = filled(order);
      for (let at = 0; at < count; at += 37) {
        assert.deepEqual(board.standing({ member: uuidOf(at), position: true }), {
          score: at,
          tie: 0,
          below: at,
          position: at,
        });
        assert.equal(board.range({ limit: 1, offset: at }).entries[0]?.member, uuidOf(at));
      }
      for (let index = 0; index < count; index++) {
        const at = (index * 3_001) % count;
        assert.equal(board.remove(uuidOf(at)), true);
        assert.equal(board.get(uuidOf(at)), undefined);
        if (index % 1_000 !== 999) continue;
        const { entries, size } = board.range({ limit: count });
        assert.equal(size, count - index - 1);
        assert.equal(entries.length, size);
        assert.ok(
          entries.every((entry, place) => place === 0 || (entries[place - 1]?.score ?? 0) < entry.score),
        );
      }
    });
  }

  it("finds members whose hashes share a segment of the table however often it split", () => {
    const board = filled(index => index);
    for (let at = 0; at < count; at++) assert.equal(board.get(uuidOf(at))?.score, at);
    for (let at = count; at < 2 * count; at++) assert.equal(board.get(uuidOf(at)), undefined);
  });

  it("shows members that do not change to someone who walks its rows while others come and go", () => {
    const board = filled(index => index);
    const seen = new Set<string>();
    const rows = board.rows();
    for (let step = rows.next(), at = 0; !step.done; step = rows.next(), at++) {
      seen.add(step.value.member);
      if (at % 3 === 0) board.remove(uuidOf(((at * 31) % (count / 2)) * 2));
      if (at % 5 === 0) board.put({ member: `late:${at}`, score: at, tie: 1, asOf: 0 });
    }
    for (let at = 1; at < count; at += 2) assert.ok(seen.has(uuidOf(at)), `member ${at}`);
  });

  it("keeps every row when it grows out of the small form and shrinks back into it", () => {
    const board = new Board(1);
    const row = (at: number) => ({ member: `m${at}`, score: at % 5, tie: at, asOf: at });
    for (let at = 0; at <= smallMembersMax; at++) board.put(row(at));
    for (let at = smallMembersMax; at >= shrinkMembersMax - 1; at--) {
      for (let other = 0; other <= at; other++) assert.deepEqual(board.get(`m${other}`), row(other));
      assert.equal(board.remove(`m${at}`), true);
    }
    assert.equal(board.size, shrinkMembersMax - 1);
  });
});
