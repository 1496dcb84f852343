/** Queues in memory, for one process. */

import { AppError } from "../../lib/base/errors/mod.ts";
import type { Queue, QueueLease, QueueMessage } from "../../lib/storage/ports.ts";
import { validateAck, validateLease, validatePush } from "../../lib/storage/validate.ts";

/** Most unsettled messages of one topic by default. */
export const queueDepthMax = 100_000;
/** Time in ms after which a refused push may be worth another try. */
const busyRetryMs = 1_000;

export interface MemoryQueueOptions {
  /** The time by which leases are counted, Unix ms. @default the clock of the process */
  readonly clock?: (() => number) | undefined;
  /** Most unsettled messages of one topic. @default queueDepthMax */
  readonly depthMax?: number;
}

/** Creates a queue whose messages live as long as the process. */
export function createMemoryQueue(options: MemoryQueueOptions = {}): Queue {
  return new MemoryQueue(options);
}

/** Messages in a topic, to be added, and allowed. */
interface Room {
  readonly depth: number;
  readonly added: number;
  readonly depthMax: number;
}

/** @throws {AppError} `busy`: the topic would hold more messages than it may. */
export function requireRoom(topic: string, { depth, added, depthMax }: Room): void {
  if (depth + added <= depthMax) return;
  throw new AppError("busy", `Cannot push to ${topic}: it holds ${depth} of ${depthMax} messages`, {
    retryAfterMs: busyRetryMs,
  });
}

interface Topic {
  readonly all: Map<string, QueuedMessage>;
  /** Those never handed out, in order of arrival. */
  readonly fresh: Map<string, QueuedMessage>;
  readonly leases: LeaseHeap;
}

class MemoryQueue implements Queue {
  readonly #clock: () => number;
  readonly #depthMax: number;
  readonly #topics = new Map<string, Topic>();
  #sequence = 0;

  constructor({ clock = Date.now, depthMax = queueDepthMax }: MemoryQueueOptions) {
    this.#clock = clock;
    this.#depthMax = depthMax;
  }

  async push(topic: string, bodies: readonly string[]): Promise<readonly string[]> {
    validatePush(topic, bodies);
    const depth = this.#topics.get(topic)?.all.size ?? 0;
    requireRoom(topic, { depth, added: bodies.length, depthMax: this.#depthMax });
    return bodies.map(body => this.#add(topic, body));
  }

  async take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]> {
    validateLease(topic, lease);
    const found = this.#topics.get(topic);
    if (found === undefined) return [];
    const now = this.#clock();
    const messages = takeEnded(found.leases, now, lease.limit);
    for (const message of found.fresh.values()) {
      if (messages.length >= lease.limit) break;
      messages.push(message);
      found.fresh.delete(message.id);
    }
    return messages.map(message => {
      message.attempts += 1;
      message.until = now + lease.leaseMs;
      found.leases.set(message);
      return { id: message.id, body: message.body, attempts: message.attempts };
    });
  }

  async ack(topic: string, ids: readonly string[]): Promise<void> {
    validateAck(topic, ids);
    const found = this.#topics.get(topic);
    if (found === undefined) return;
    for (const id of ids) {
      const message = found.all.get(id);
      if (message === undefined) continue;
      found.all.delete(id);
      if (message.place >= 0) found.leases.delete(message);
      else found.fresh.delete(id);
    }
    if (found.all.size === 0) this.#topics.delete(topic);
  }

  async release(topic: string): Promise<void> {
    validateAck(topic, []);
    const leases = this.#topics.get(topic)?.leases;
    if (leases === undefined) return;
    const messages: QueuedMessage[] = [];
    for (let first = leases.first(); first !== undefined; first = leases.first()) {
      leases.delete(first);
      messages.push(first);
    }
    for (const message of messages) {
      message.until = 0;
      leases.set(message);
    }
  }

  async depth(topic: string): Promise<number> {
    validateAck(topic, []);
    return this.#topics.get(topic)?.all.size ?? 0;
  }

  async oldest(topic: string): Promise<number | null> {
    validateAck(topic, []);
    const [first] = this.#topics.get(topic)?.all.values() ?? [];
    return first?.at ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#topics.clear();
  }

  #add(topic: string, body: string): string {
    let found = this.#topics.get(topic);
    if (found === undefined) {
      found = { all: new Map(), fresh: new Map(), leases: new LeaseHeap() };
      this.#topics.set(topic, found);
    }
    this.#sequence += 1;
    const id = String(this.#sequence);
    const message = {
      id,
      body,
      at: this.#clock(),
      sequence: this.#sequence,
      attempts: 0,
      until: 0,
      place: -1,
    };
    found.all.set(id, message);
    found.fresh.set(id, message);
    return id;
  }
}

/** Takes out up to `limit` leases that have ended, the messages that arrived first before the others. */
function takeEnded(leases: LeaseHeap, now: number, limit: number): QueuedMessage[] {
  const messages: QueuedMessage[] = [];
  for (let first = leases.first(); messages.length < limit; first = leases.first()) {
    if (first === undefined || first.until > now) break;
    leases.delete(first);
    messages.push(first);
  }
  return messages.sort((a, b) => a.sequence - b.sequence);
}

interface QueuedMessage {
  readonly id: string;
  readonly body: string;
  /** Unix ms at which it arrived, or came back from a file when the process started. */
  readonly at: number;
  readonly sequence: number;
  attempts: number;
  /** Unix ms at which the lease ends. */
  until: number;
  /** The index in the heap, or -1 while there is no lease. */
  place: number;
}

/** The leases of a topic; those that end at the same time are in order of arrival. */
class LeaseHeap {
  readonly #heap: QueuedMessage[] = [];

  first(): QueuedMessage | undefined {
    return this.#heap[0];
  }

  /** Adds a lease, or moves one whose end changed. */
  set(message: QueuedMessage): void {
    if (message.place < 0) message.place = this.#heap.push(message) - 1;
    this.#settle(message);
  }

  delete(message: QueuedMessage): void {
    const { place } = message;
    message.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === message) return;
    this.#put(last, place);
    this.#settle(last);
  }

  #settle(message: QueuedMessage): void {
    for (let above = parentOf(message.place); message.place > 0; above = parentOf(message.place)) {
      const parent = this.#heap[above];
      if (parent === undefined || !endsBefore(message, parent)) break;
      this.#swap(message, parent);
    }
    for (;;) {
      const [left, right] = [this.#heap[2 * message.place + 1], this.#heap[2 * message.place + 2]];
      const child = left !== undefined && right !== undefined && endsBefore(right, left) ? right : left;
      if (child === undefined || !endsBefore(child, message)) return;
      this.#swap(child, message);
    }
  }

  #swap(upwards: QueuedMessage, downwards: QueuedMessage): void {
    const { place } = downwards;
    this.#put(downwards, upwards.place);
    this.#put(upwards, place);
  }

  #put(message: QueuedMessage, place: number): void {
    this.#heap[place] = message;
    message.place = place;
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1;
}

function endsBefore(a: QueuedMessage, b: QueuedMessage): boolean {
  return a.until < b.until || (a.until === b.until && a.sequence < b.sequence);
}
