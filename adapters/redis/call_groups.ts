import { AppError } from "../../lib/base/errors/mod.ts";
import type { CallOptions, RedisConnection } from "./connection.ts";
import { Gatherer } from "./gatherer.ts";
import { readScript } from "./read_script.ts";
import type { Script } from "./script_cache.ts";

/** Greatest size of a call that carries several batches or reads, in UTF-16 units: well below 1 ms of the server's time. */
export const groupUnitsMax = 65_536;
/** Size of a batch without its arguments: no call carries more than 64. */
const batchUnits = 1_024;
/** Size of a read without its arguments, as its answer may be long: no call carries more than 32. */
const readUnits = 2_048;
/** Size of a record that is read: no call carries more than 256, which one command answers. */
const recordUnits = 256;
/** Size of an entry of a board or log that is read. */
const entryUnits = 64;

/** Keys and arguments that one batch or read adds to a call. */
interface Item {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly units: number;
  /** Number of replies to it, where they are not one. */
  readonly replies?: number;
}

/** Makes one call for all items, and answers each. */
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
    this.#gatherer = new Gatherer({
      call: (send, items, options) => this.#call(send, items, options),
      sizeOf: ({ units }) => units,
      sizeMax: groupUnitsMax,
    });
  }

  /** Applies a batch by a script that takes several. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const send: Send = async (items, options) =>
      (await this.#connection.run(script, joined(items), options)) as readonly unknown[];
    return this.#ask(`w${script.sha}`, send, { keys, args, units: unitsOf(args, batchUnits) });
  }

  /** Answers a read by a script that takes several. */
  ask(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const send: Send = async (items, options) =>
      (await this.#connection.askScript(script, joined(items), options)) as readonly unknown[];
    return this.#ask(`r${script.sha}`, send, { keys, args, units: unitsOf(args, readUnits) });
  }

  /** Reads the strings of these keys, null for each that is absent. */
  strings(keys: readonly string[]): Promise<unknown> {
    const units = recordUnits * keys.length;
    return this.#ask("mget", this.#readRecords, { keys, args: [], units, replies: keys.length });
  }

  /** Answers queries by {@linkcode readScript}; `entries` is the most that they ask of boards and logs. */
  queries(
    keys: readonly string[],
    args: readonly string[],
    { replies, entries }: { readonly replies: number; readonly entries: number },
  ): Promise<unknown> {
    const units = unitsOf(args, readUnits + entryUnits * entries);
    return this.#ask("read", this.#readAny, { keys, args, units, replies });
  }

  #ask(name: string, send: Send, item: Item): Promise<unknown> {
    const goesAlone = this.#goAlone || this.#connection.isCluster;
    return goesAlone ? alone(send, item) : this.#gatherer.ask(name, send, item);
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
