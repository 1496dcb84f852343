/**
 * A queue whose messages are kept in a store, for one process: messages kept by a file store are handed out again after a
 * restart.
 *
 * Handing out, leases and order are the memory queue's. The store holds what is not settled, one record for the messages of
 * a push that fit into one, and a board that names the records in order. A record goes when all of its messages are settled,
 * so that after a restart some may be handed out that were settled before.
 */

import { utf8Length } from "../../lib/base/text/mod.ts";
import type { Partition, Store, Write } from "../../lib/storage/contract.ts";
import { storageLimits } from "../../lib/storage/contract.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import type { Queue, QueueLease, QueueMessage } from "../../lib/storage/ports.ts";
import { validatePush } from "../../lib/storage/validate.ts";
import { createMemoryQueue, type MemoryQueueOptions, queueDepthMax, requireRoom } from "./queue.ts";

interface StoreQueueOptions extends MemoryQueueOptions {
  /** Store of the messages; this process must be the only one that uses its queues. */
  readonly store: Store;
}

/**
 * Creates a queue that accepts a push once the store has kept it. The store stays open when the queue is closed.
 *
 * A push of more than `commitBytesMax` is refused with a `RangeError`.
 */
export function createStoreQueue(options: StoreQueueOptions): Queue {
  return new StoreQueue(options);
}

interface Chunk {
  readonly key: string;
  open: number;
}

interface Topic {
  readonly name: string;
  readonly partition: Partition;
  readonly chunks: Map<string, Chunk>;
  sequence: number;
  /** Pushes enter one after the other, so that store and memory have one order and the depth is exact. */
  last: Promise<unknown>;
}

const boardKey = "open";
const scoreOf = (key: string): number => Number(key.slice(1));

class StoreQueue implements Queue {
  readonly #store: Store;
  readonly #inner: Queue;
  readonly #depthMax: number;
  readonly #topics = new Map<string, Promise<Topic>>();

  constructor({ store, clock, depthMax = queueDepthMax }: StoreQueueOptions) {
    this.#store = store;
    this.#depthMax = depthMax;
    // Messages accepted under another bound are restored too.
    this.#inner = createMemoryQueue({ clock, depthMax: Number.MAX_SAFE_INTEGER });
  }

  async push(topic: string, bodies: readonly string[]): Promise<readonly string[]> {
    validatePush(topic, bodies);
    const found = await this.#topic(topic);
    const pushed = found.last.then(() => this.#push(found, bodies));
    found.last = pushed.catch(() => {});
    return await pushed;
  }

  async take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]> {
    await this.#topic(topic);
    return await this.#inner.take(topic, lease);
  }

  async ack(topic: string, ids: readonly string[]): Promise<void> {
    const { chunks, partition } = await this.#topic(topic);
    await this.#inner.ack(topic, ids);
    const writes: Write[] = [];
    for (const id of ids) {
      const chunk = chunks.get(id);
      if (chunk === undefined) continue;
      chunks.delete(id);
      chunk.open -= 1;
      if (chunk.open === 0) writes.push(...removal(chunk.key));
    }
    for (let start = 0; start < writes.length; start += storageLimits.writesMax) {
      await this.#store.commit(partition, { writes: writes.slice(start, start + storageLimits.writesMax) });
    }
  }

  async release(topic: string): Promise<void> {
    await this.#topic(topic);
    await this.#inner.release(topic);
  }

  async depth(topic: string): Promise<number> {
    await this.#topic(topic);
    return await this.#inner.depth(topic);
  }

  async oldest(topic: string): Promise<number | null> {
    await this.#topic(topic);
    return await this.#inner.oldest(topic);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]();
  }

  #topic(topic: string): Promise<Topic> {
    let found = this.#topics.get(topic);
    if (found === undefined) {
      found = this.#open(topic);
      this.#topics.set(topic, found);
      found.catch(() => this.#topics.delete(topic));
    }
    return found;
  }

  async #open(name: string): Promise<Topic> {
    validatePush(name, []);
    const partition = platformPartition("queue", name);
    const topic: Topic = { name, partition, chunks: new Map(), sequence: 0, last: Promise.resolve() };
    const stored: (readonly [key: string, bodies: readonly string[]])[] = [];
    for (let offset = 0; ; ) {
      const page = { type: "board", key: boardKey, offset, limit: storageLimits.readsMax } as const;
      const [{ entries, size }] = await this.#store.read(partition, [page]);
      const keys = entries.map(({ member }) => member);
      const reads = keys.map(key => ({ type: "record", key }) as const);
      const records = reads.length === 0 ? [] : await this.#store.read(partition, reads);
      for (const [index, key] of keys.entries())
        stored.push([key, bodiesOf(key, records[index]?.value ?? "")]);
      offset += keys.length;
      if (keys.length === 0 || offset >= size) break;
    }
    for (const [key, bodies] of stored) await this.#enter(topic, key, bodies);
    return topic;
  }

  async #push(topic: Topic, bodies: readonly string[]): Promise<readonly string[]> {
    if (bodies.length === 0) return [];
    requireRoom(topic.name, { depth: topic.chunks.size, added: bodies.length, depthMax: this.#depthMax });
    const chunks = chunksOf(bodies);
    const entries = chunks.map(
      chunk => [`${chunk.length === 1 ? "b" : "l"}${++topic.sequence}`, chunk] as const,
    );
    await this.#store.commit(topic.partition, {
      writes: entries.flatMap(([key, chunk]): Write[] => [
        { type: "put", key, value: recordOf(chunk) },
        { type: "score", op: "set", key: boardKey, member: key, score: scoreOf(key) },
      ]),
    });
    const ids: string[] = [];
    for (const [key, chunk] of entries) ids.push(...(await this.#enter(topic, key, chunk)));
    return ids;
  }

  async #enter(topic: Topic, key: string, bodies: readonly string[]): Promise<readonly string[]> {
    topic.sequence = Math.max(topic.sequence, scoreOf(key));
    const ids = await this.#inner.push(topic.name, bodies);
    const chunk: Chunk = { key, open: ids.length };
    for (const id of ids) topic.chunks.set(id, chunk);
    return ids;
  }
}

function chunksOf(bodies: readonly string[]): string[][] {
  const chunks: string[][] = [];
  let bytes = storageLimits.valueBytesMax;
  for (const body of bodies) {
    const size = (utf8Length(JSON.stringify(body)) ?? 0) + 1;
    const last = chunks.at(-1);
    if (last !== undefined && bytes + size < storageLimits.valueBytesMax) {
      last.push(body);
      bytes += size;
    } else {
      chunks.push([body]);
      bytes = size + 1;
    }
  }
  return chunks;
}

/** Returns a single message is kept as it is, for which any body that is allowed has room. */
function recordOf(chunk: readonly string[]): string {
  const [only = "", ...others] = chunk;
  return others.length === 0 ? only : JSON.stringify(chunk);
}

function bodiesOf(key: string, value: string): readonly string[] {
  return key.startsWith("b") ? [value] : (JSON.parse(value) as readonly string[]);
}

function removal(key: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key },
    { type: "unscore", key: boardKey, member: key },
  ];
}
