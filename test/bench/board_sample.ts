/** One sample of `board.ts`, in a process of its own: prints what one way of ranking does at one size, as JSON. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Board } from "../../adapters/memory/board/board.ts";
import { type Ranking, SkipList, SortedArray } from "./board_baselines.ts";

/** Measures of one process. Rates are operations per second of processor time. */
export interface BoardSample {
  readonly insert: number;
  readonly update: number;
  readonly nudge: number;
  readonly rank: number;
  readonly top: number;
  /** Heap and external memory per member, without the ids that the caller holds. */
  readonly bytes: number;
  /** The longest single insertion from empty to full: processor time of all threads, and by the clock on the wall. */
  readonly longestCpuMs: number;
  readonly longestMs: number;
}

class BoardRanking implements Ranking {
  readonly #board = new Board(1);

  get size(): number {
    return this.#board.size;
  }

  put(member: string, score: number, tie: number): void {
    this.#board.put({ member, score, tie, asOf: -1 });
  }

  below(member: string): number {
    return this.#board.standing({ member })?.below ?? -1;
  }

  top(count: number): readonly string[] {
    return this.#board.range({ limit: count, reverse: true }).entries.map(entry => entry.member);
  }
}

const kinds: Readonly<Record<string, () => Ranking>> = {
  board: () => new BoardRanking(),
  "skip list": () => new SkipList(),
  "sorted array": () => new SortedArray(),
};
const scoresBelow = 1 << 20;
let state = 2_463_534_242;
let clock = 1_750_000_000_000;
/** Takes every result, so that the engine cannot skip the computation. */
let sink = 0;

const [kind = "board", size = "10000", operations = "200000"] = process.argv.slice(2);
setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");
console.log(JSON.stringify(sample(kinds[kind] ?? kinds.board, Number(size), Number(operations))));

function sample(create: (() => Ranking) | undefined, members: number, count: number): BoardSample {
  if (create === undefined) throw new RangeError(`Cannot measure ${kind}: it is not known`);
  warmUp(create);
  // Before there are a million ids for the collector to walk through.
  const longest = grow(create(), members);
  const ids = Array.from({ length: members }, uuid);
  const scores = new Float64Array(members);
  const before = memory();
  const ranking = create();
  let next = 0;
  function put(at: number, score: number): void {
    scores[at] = score;
    ranking.put(ids[at] as string, score, clock++);
  }
  const insert = rate(members, () => put(next++, random() % scoresBelow));
  const bytes = (memory() - before) / members;
  const rates = {
    update: rate(count, () => put(random() % members, random() % scoresBelow)),
    nudge: rate(count, () => {
      const at = random() % members;
      put(at, (scores[at] as number) + 1 + (random() % 16));
    }),
    rank: rate(count, () => {
      sink += ranking.below(ids[random() % members] as string);
    }),
    top: rate(count, () => {
      sink += ranking.top(10).length;
    }),
  };
  if (ranking.size !== members || sink === 0) throw new Error("The ranking lost members");
  return { insert, bytes, ...rates, ...longest };
}

/** Runs everything on a small set first, so that no figure contains compilation. */
function warmUp(create: () => Ranking): void {
  const ranking = create();
  const ids = Array.from({ length: 3_000 }, uuid);
  for (let round = 0; round < 20_000; round++) {
    ranking.put(ids[random() % ids.length] as string, random() % scoresBelow, clock++);
    sink += ranking.below(ids[0] as string) + ranking.top(10).length;
  }
}

/** Inserts members one by one; ids are made on the way, so that the collector has nothing else to walk through. */
function grow(ranking: Ranking, members: number): { longestCpuMs: number; longestMs: number } {
  let longestCpuMs = 0;
  let longestMs = 0;
  for (let at = 0; at < members; at++) {
    const member = uuid();
    const score = random() % scoresBelow;
    const before = process.cpuUsage();
    const start = performance.now();
    ranking.put(member, score, clock++);
    longestMs = Math.max(longestMs, performance.now() - start);
    const { user, system } = process.cpuUsage(before);
    longestCpuMs = Math.max(longestCpuMs, (user + system) / 1_000);
  }
  return { longestCpuMs, longestMs };
}

function rate(count: number, operation: () => void): number {
  const before = process.cpuUsage();
  for (let done = 0; done < count; done++) operation();
  const { user, system } = process.cpuUsage(before);
  return (count * 1e6) / (user + system);
}

function memory(): number {
  // Memory outside of the heap is given back some time after the collection that found it unused.
  for (let round = 0; round < 4; round++) collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function random(): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return state >>> 0;
}

/** A random UUID, version 4, as one flat string like those that arrive from a parser. */
function uuid(): string {
  const hex = Array.from({ length: 4 }, () => random().toString(16).padStart(8, "0")).join("");
  const text = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
  return Buffer.from(text, "latin1").toString("latin1");
}
