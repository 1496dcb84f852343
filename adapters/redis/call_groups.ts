import { setImmediate } from "node:timers/promises";
import { AppError } from "../../lib/base/errors/mod.ts";
import { memoize } from "../../lib/storage/background/mod.ts";
import type { Standing } from "../../lib/storage/contract.ts";
import { type CallOptions, type RedisConnection, unavailable } from "./connection.ts";
import { answerMsMax, pendingCallsMax } from "./keys.ts";
import { readScript } from "./read_script.ts";
import { type Script, scriptOf } from "./script_cache.ts";

/** Greatest size of a call that carries several batches or reads, in UTF-16 units: well below 1 ms of the server's time. */
export const groupUnitsMax = 65_536;
/** Size of a batch without its arguments: no call carries more than 64. */
const batchUnits = 1_024;
/** Size of a read without its arguments, as its answer may be long: no call carries more than 32. */
const readUnits = 2_048;
/** Size of a record that is read: no call carries more than 256, which one command answers. */
const recordUnits = 256;
const entryUnits = 64;

interface Item {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly units: number;
  /** Number of replies to it, where they are not one. */
  readonly replies?: number;
}

type Send = (items: readonly Item[], options?: CallOptions) => Promise<readonly unknown[]>;

/**
 * Makes one call of the batches, or reads, of one shape that are asked for at about the same time, of whatever partitions.
 *
 * Each is atomic as it is alone, and has an answer of its own. A failure that leaves an outcome unknown leaves it unknown
 * for all batches of the call. On a Cluster, where the keys of one call must share a slot, everything goes alone.
 */
export class CallGroups {
  readonly #connection: RedisConnection;
  readonly #gatherer: Gatherer<Send, Item, unknown>;
  readonly #readRecords: Send;
  readonly #readAny: Send;
  readonly #runScript: (script: Script) => Send;
  readonly #askScript: (script: Script) => Send;
  #goAlone = false;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#readRecords = async (items, options) => {
      return split(items, await connection.ask("mget", keysOf(items), options));
    };
    this.#readAny = async (items, options) => {
      const asked = [keysOf(items), items.flatMap(({ args }) => args)] as const;
      return split(items, await connection.askScript(readScript, asked, options));
    };
    // Kept, as each is the key of a lane.
    this.#runScript = memoize(
      (script): Send =>
        async (items, options) => {
          return (await connection.run(script, joined(items), options)) as readonly unknown[];
        },
    );
    this.#askScript = memoize(
      (script): Send =>
        async (items, options) => {
          return (await connection.askScript(script, joined(items), options)) as readonly unknown[];
        },
    );
    this.#gatherer = new Gatherer({
      call: (send, items, options) => this.#call(send, items, options),
      sizeOf: ({ units }) => units,
      sizeMax: groupUnitsMax,
    });
  }

  /** @param base Size of the item without its arguments. */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    base: number = batchUnits,
  ): Promise<unknown> {
    return this.#ask(this.#runScript(script), { keys, args, units: unitsOf(args, base) });
  }

  ask(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#ask(this.#askScript(script), { keys, args, units: unitsOf(args, readUnits) });
  }

  /** Reads the strings of these keys, null for each that is absent. */
  strings(keys: readonly string[]): Promise<unknown> {
    const units = recordUnits * keys.length;
    return this.#ask(this.#readRecords, { keys, args: [], units, replies: keys.length });
  }

  /** Answers queries by {@linkcode readScript}; `entries` is the most that they ask of boards and logs. */
  queries(
    keys: readonly string[],
    args: readonly string[],
    { replies, entries }: { readonly replies: number; readonly entries: number },
  ): Promise<unknown> {
    const units = unitsOf(args, readUnits + entryUnits * entries);
    return this.#ask(this.#readAny, { keys, args, units, replies });
  }

  #ask(send: Send, item: Item): Promise<unknown> {
    const goesAlone = this.#goAlone || this.#connection.isCluster;
    return goesAlone ? alone(send, item) : this.#gatherer.ask(send, send, item);
  }

  async #call(send: Send, items: readonly Item[], options: CallOptions): Promise<readonly unknown[]> {
    try {
      return await send(items, options);
    } catch (error) {
      if (items.length === 1 || !isCrossSlot(error)) throw error;
      // A node of a Cluster that was configured as a server of its own; it has executed nothing.
      this.#goAlone = true;
      return items.map(item => alone(send, item));
    }
  }
}

async function alone(send: Send, item: Item): Promise<unknown> {
  const [answer] = await send([item]);
  return answer;
}

function keysOf(items: readonly Item[]): string[] {
  const all: string[] = [];
  for (const { keys } of items) all.push(...keys);
  return all;
}

function split(items: readonly Item[], replies: unknown): (readonly unknown[])[] {
  let end = 0;
  return items.map(({ replies: count = 1 }) => {
    end += count;
    return (replies as readonly unknown[]).slice(end - count, end);
  });
}

/** Returns all keys; and the number of items, then their arguments. */
function joined(items: readonly Item[]): [keys: string[], args: string[]] {
  const all = [String(items.length)];
  for (const { args } of items) all.push(...args);
  return [keysOf(items), all];
}

function unitsOf(args: readonly string[], base: number): number {
  let units = base;
  for (const { length } of args) units += length;
  return units;
}

function isCrossSlot(error: unknown): boolean {
  return (
    error instanceof AppError && error.cause instanceof Error && /^CROSSSLOT\b/.test(error.cause.message)
  );
}

/** Calls in flight per lane: with two, client and server work at the same time instead of alternating. */
const callsMax = 2;

interface GathererOptions<L, I, A> {
  /** Makes one call for items of a lane, and answers each, in order; `deadline` is that of {@linkcode CallOptions}. */
  call(lane: L, items: readonly I[], options: CallOptions): Promise<readonly (A | Promise<A>)[]>;
  sizeOf(item: I): number;
  /** Greatest size of a call of more than one item. */
  readonly sizeMax: number;
}

interface Waiting<I, A> {
  readonly item: I;
  deadline: number;
  resolve(answer: A | Promise<A>): void;
  reject(error: unknown): void;
}

interface Lane<L, I, A> {
  readonly key: unknown;
  readonly value: L;
  waiting: Waiting<I, A>[];
  calls: number;
  isScheduled: boolean;
  /** True if a call was answered in this turn of the event loop. */
  isAnswered: boolean;
}

/**
 * Joins requests made at about the same time into few calls.
 *
 * A call costs client and server more than most of its items. So the requests of one turn of the event loop, and those
 * that arrive while calls of the same lane are in flight, share a call. An idle lane sends at once, and a busy one costs
 * little more than its items.
 */
export class Gatherer<L, I, A> {
  readonly #options: GathererOptions<L, I, A>;
  readonly #lanes = new Map<unknown, Lane<L, I, A>>();
  #waiting = 0;

  constructor(options: GathererOptions<L, I, A>) {
    this.#options = options;
  }

  /**
   * Answers an item of the lane that has this key.
   *
   * @throws {AppError} `storage_unavailable` also where a call before it failed; then the item was not sent.
   */
  ask(key: unknown, value: L, item: I): Promise<A> {
    if (this.#waiting >= pendingCallsMax) {
      return Promise.reject(unavailable(`${pendingCallsMax} calls already wait for it`));
    }
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { key, value, waiting: [], calls: 0, isScheduled: false, isAnswered: false };
      this.#lanes.set(key, lane);
    }
    const { waiting } = lane;
    this.#waiting += 1;
    this.#schedule(lane);
    return new Promise((resolve, reject) => {
      const deadline = performance.now() + answerMsMax;
      waiting.push({ item, deadline, resolve, reject });
    });
  }

  #schedule(lane: Lane<L, I, A>): void {
    if (lane.isScheduled || lane.calls >= callsMax) return;
    lane.isScheduled = true;
    // After whatever else this turn of the event loop still asks.
    process.nextTick(() => this.#send(lane));
  }

  #send(lane: Lane<L, I, A>): void {
    lane.isScheduled = false;
    while (lane.calls < callsMax && lane.waiting.length > 0) {
      lane.calls += 1;
      void this.#call(lane, this.#next(lane));
    }
    if (lane.calls === 0) this.#lanes.delete(lane.key);
  }

  #next(lane: Lane<L, I, A>): readonly Waiting<I, A>[] {
    const { sizeOf, sizeMax } = this.#options;
    let count = 0;
    let size = 0;
    for (const { item } of lane.waiting) {
      size += sizeOf(item);
      if (count > 0 && size > sizeMax) break;
      count += 1;
    }
    this.#waiting -= count;
    return lane.waiting.splice(0, count);
  }

  async #call(lane: Lane<L, I, A>, group: readonly Waiting<I, A>[]): Promise<void> {
    try {
      const items = group.map(({ item }) => item);
      const deadline = group[0]?.deadline ?? 0;
      const answers = await this.#options.call(lane.value, items, { deadline });
      await this.#inItsTurn(lane);
      let index = 0;
      for (const { resolve } of group) resolve(answers[index++] as A | Promise<A>);
      // Only a process that was too busy to read it has an answer this late: the time of those who wait begins anew.
      const now = performance.now();
      if (now >= deadline) for (const waiting of lane.waiting) waiting.deadline = now + answerMsMax;
    } catch (error) {
      for (const { reject } of group) reject(error);
      this.#giveUp(lane, error);
    } finally {
      lane.calls -= 1;
      if (lane.waiting.length > 0) this.#schedule(lane);
      else if (lane.calls === 0 && !lane.isScheduled) this.#lanes.delete(lane.key);
    }
  }

  /**
   * Lets one call of a lane be answered per turn. The calls that follow two answers of one turn would leave together, and
   * be answered together again, so that client and server never worked at the same time: 78,000 decisions of the limiter
   * a second instead of 143,000.
   */
  async #inItsTurn(lane: Lane<L, I, A>): Promise<void> {
    if (lane.isAnswered) await setImmediate();
    lane.isAnswered = true;
    void setImmediate().then(() => {
      lane.isAnswered = false;
    });
  }

  /** Those who came later would only wait as long again for the same end. */
  #giveUp(lane: Lane<L, I, A>, cause: unknown): void {
    const left = lane.waiting.splice(0);
    this.#waiting -= left.length;
    for (const { reject } of left) reject(unavailable("a call before this one failed", cause));
  }
}

/** Most standings in one call, which holds the server up for less than a millisecond. */
const membersPerCallMax = 128;

interface StandingQuery {
  readonly zset: string;
  readonly rows: string;
  /** True if positions are wanted: `S`, else `s`. */
  readonly op: "s" | "S";
}

/** Reads standings, several of one board in one call: entering a script costs Redis more than the commands in it do. */
export class StandingReader {
  readonly #connection: RedisConnection;
  readonly #gatherer: Gatherer<StandingQuery, string, Standing | null>;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
    this.#gatherer = new Gatherer({
      call: (query, members, options) => this.#call(query, members, options),
      sizeOf: () => 1,
      sizeMax: membersPerCallMax,
    });
  }

  read(query: StandingQuery, member: string): Promise<Standing | null> {
    return this.#gatherer.ask(query.op + query.zset, query, member);
  }

  async #call(
    { zset, rows, op }: StandingQuery,
    members: readonly string[],
    options: CallOptions,
  ): Promise<(Standing | null)[]> {
    const asked = [
      [zset, rows],
      [op, ...members],
    ] as const;
    const reply = await this.#connection.askScript(standingScript, asked, options);
    const flat = reply as readonly (string | number | null)[];
    const width = op === "S" ? 4 : 3;
    return members.map((_, index) => decode(flat, index * width, width));
  }
}

function decode(flat: readonly (string | number | null)[], index: number, width: number): Standing | null {
  const score = flat[index];
  if (typeof score !== "string") return null;
  const standing = { score: Number(score), tie: Number(flat[index + 1]), below: Number(flat[index + 2]) };
  return width === 4 ? { ...standing, position: Number(flat[index + 3]) } : standing;
}

const standingScript = scriptOf(`
-- Purpose: answers the standings of several members of one board.
--
-- KEYS: [1] the ZSET of the board; [2] the HASH of its stamped rows
-- ARGV: [1] 'S' for positions too, else 's'; then the members
-- Returns: per member three elements, or four with positions: score, tie, number of strictly lower scores, position;
--          nil for each if it is absent

local call, sub, zset, rows, positions = redis.call, string.sub, KEYS[1], KEYS[2], ARGV[1] == 'S'
local hasRows = call('EXISTS', rows) == 1
local answer, n = {}, 0
for i = 2, #ARGV do
  local member, score, tie, below = ARGV[i], false, '0', false
  local row = hasRows and call('HGET', rows, member)
  if row then
    score, tie = sub(row, 30), sub(row, 1, 13)
  else
    score = call('ZSCORE', zset, '0' .. member)
  end
  if score then below = call('ZCOUNT', zset, '-inf', '(' .. score) end
  answer[n + 1], answer[n + 2], answer[n + 3] = score, tie, below
  n = n + 3
  if positions then
    n = n + 1
    local head = tonumber(tie) == 0 and '0' or '1' .. tie
    answer[n] = score and call('ZRANK', zset, head .. member)
  end
end
return answer
`);
