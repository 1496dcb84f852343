/** The way between a process and what it shares with others: calls are late, refused, or lose their answers. */

import { AppError } from "../../lib/base/errors/mod.ts";
import type { Mail, WebhookMessage } from "../../lib/base/outbound/outbound.ts";
import { WebhookError } from "../../lib/base/outbound/outbound.ts";
import type {
  Batch,
  Blobs,
  Limiter,
  Partition,
  PartitionLister,
  Queue,
  Read,
  Store,
} from "../../lib/storage/mod.ts";
import type { OpenIdProvider } from "./openid_provider.ts";
import type { Scheduler } from "./scheduler.ts";

/** The other end of all processes. */
export interface Servers {
  readonly store: Store & PartitionLister;
  readonly queue: Queue;
  readonly blobs: Blobs;
  readonly limiter: Limiter;
  readonly mails: Mail[];
  readonly webhooks: WebhookMessage[];
  readonly provider: OpenIdProvider;
}

/** How often calls fail, from 0 to 1 each. */
export interface Weather {
  refused: number;
  /** The call takes effect, and its answer is lost. */
  lost: number;
  /** The call has no effect, which nobody knows. */
  dropped: number;
  /** The call takes effect after it was given up. */
  overdue: number;
  slow: number;
}

/** Counts what happened, so that a simulation cannot become empty unseen. */
export type Counters = Map<string, number>;

/** Adds one to a counter. */
export function count(counters: Counters, name: string): void {
  counters.set(name, (counters.get(name) ?? 0) + 1);
}

/** One process's connections. Those of a dead process never answer. */
export interface Connection {
  readonly scheduler: Scheduler;
  readonly weather: Weather;
  readonly counters: Counters;
  /** The name of the process in the trace. */
  readonly name: string;
  /** False once the process has died. */
  isAlive(): boolean;
  /** Ms by which the clock of the process is ahead. */
  skew(): number;
}

type Fate = "done" | "refused" | "lost" | "dropped" | "overdue";

/** As of the Redis adapter: a process whose clock is further ahead writes nothing. */
const aheadMsMax = 300_000;
const readySkewMsMax = 30_000;
/** Part of the polls of empty topics that travel to the queue. */
const polledPart = 0.1;

/** Connects a process to the servers. */
export function connect(servers: Servers, connection: Connection) {
  const link = new Link(connection);
  const { store, queue, blobs, limiter } = servers;
  const { random } = connection.scheduler;
  const none = async (): Promise<void> => {};
  const wrongClock = () => new AppError("storage_unavailable", "Cannot use the store: the clock is wrong");
  return {
    store: {
      traits: store.traits,
      now: store.now,
      read: (partition: Partition, queries: readonly Read[]) =>
        link.ask(`read ${partition}`, () => store.read(partition, queries)),
      commit: (partition: Partition, batch: Batch) =>
        connection.skew() > aheadMsMax
          ? Promise.reject(wrongClock())
          : link.change(`commit ${partition}`, () => store.commit(partition, batch)),
      ping: () =>
        Math.abs(connection.skew()) > readySkewMsMax
          ? Promise.reject(wrongClock())
          : link.ask("ping", () => store.ping()),
      [Symbol.asyncDispose]: none,
    } as Store,
    queue: {
      push: (topic, bodies) => link.change(`push ${topic}`, () => queue.push(topic, bodies)),
      async take(topic, lease) {
        // Most calls of all are polls of empty topics; only some of them are worth a journey.
        if ((await queue.depth(topic)) === 0 && !random.chance(polledPart)) return [];
        return await link.change(`take ${topic}`, () => queue.take(topic, lease));
      },
      ack: (topic, ids) => link.change(`ack ${topic}`, () => queue.ack(topic, ids)),
      release: topic => link.change(`release ${topic}`, () => queue.release(topic)),
      oldest: topic => link.ask(`oldest ${topic}`, () => queue.oldest(topic)),
      depth: topic => link.ask(`depth ${topic}`, () => queue.depth(topic)),
      [Symbol.asyncDispose]: none,
    } as Queue,
    blobs: {
      put: (name, body) => link.change("put blob", () => blobs.put(name, body)),
      get: (name, range) => link.ask("get blob", () => blobs.get(name, range)),
      remove: name => link.change("remove blob", () => blobs.remove(name)),
      [Symbol.asyncDispose]: none,
    } as Blobs,
    limiter: {
      take: (subject, rules, cost) => link.ask("limit", async () => await limiter.take(subject, rules, cost)),
      reset: (subject, rules) => link.ask("limit", () => limiter.reset(subject, rules)),
      [Symbol.asyncDispose]: none,
    } as Limiter,
    mailer: {
      send: (mail: Mail) => link.change("mail", async () => void servers.mails.push(mail)),
    },
    webhooks: {
      send: (message: WebhookMessage) =>
        link
          .change("webhook", async () => void servers.webhooks.push(message))
          .catch((error: unknown) => {
            throw error instanceof AppError ? new WebhookError(error.message) : error;
          }),
    },
    remote: {
      deadline: () => new AbortController().signal,
      fetch: (url: string, init: RequestInit) =>
        link
          .change("openid provider", async () => servers.provider.answer(url, init))
          .catch((error: unknown) => {
            throw error instanceof AppError ? new TypeError("fetch failed") : error;
          }),
    },
  };
}

class Link {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Calls something that changes nothing. */
  ask<T>(name: string, call: () => Promise<T>): Promise<T> {
    const { scheduler, weather } = this.#connection;
    return this.#call(name, call, scheduler.random.chance(weather.refused) ? "refused" : "done");
  }

  /** Calls something that changes data. */
  change<T>(name: string, call: () => Promise<T>): Promise<T> {
    const { scheduler, weather } = this.#connection;
    let rest = scheduler.random.next();
    const fates = ["refused", "lost", "dropped", "overdue"] as const;
    const fate = fates.find(name => {
      rest -= weather[name];
      return rest < 0;
    });
    return this.#call(name, call, fate ?? "done");
  }

  #call<T>(name: string, call: () => Promise<T>, fate: Fate): Promise<T> {
    const { scheduler, counters, name: process } = this.#connection;
    const label = fate === "done" ? `${process} ${name}` : `${process} ${fate} ${name}`;
    if (fate !== "done") count(counters, `fault:${fate}`);
    const settles = (task: () => void) => () => this.#connection.isAlive() && task();
    return new Promise((resolve, reject) => {
      if (fate === "refused" || fate === "dropped") {
        const error = fate === "refused" ? refused() : unknown();
        scheduler.after(
          this.#latency(),
          label,
          settles(() => reject(error)),
        );
        return;
      }
      if (fate === "overdue")
        scheduler.after(
          this.#latency(),
          `${label}: given up`,
          settles(() => reject(unknown())),
        );
      // A call that is on its way arrives although its process dies, or not, like any packet.
      const isStubborn = scheduler.random.chance(0.5);
      const delay = this.#latency() + (fate === "overdue" ? scheduler.random.integer(50) : 0);
      scheduler.after(delay, label, () => {
        if (!this.#connection.isAlive() && !isStubborn) return;
        call().then(
          value => this.#answer(label, () => (fate === "done" ? resolve(value) : reject(unknown()))),
          (error: unknown) => this.#answer(label, () => reject(error)),
        );
      });
    });
  }

  #answer(label: string, settle: () => void): void {
    const { scheduler } = this.#connection;
    scheduler.after(this.#latency(), `${label}: answered`, () => this.#connection.isAlive() && settle());
  }

  /** A time in ms: mostly short, now and then longer than leases. */
  #latency(): number {
    const { scheduler, weather, counters } = this.#connection;
    const { random } = scheduler;
    if (!random.chance(weather.slow)) return random.next() * 2;
    count(counters, "fault:slow");
    return random.chance(0.1) ? random.integer(40_000) : random.integer(2_000);
  }
}

function refused(): AppError {
  return new AppError("storage_unavailable", "Cannot use the store: it is simulated to be away", {
    retryAfterMs: 1_000,
  });
}

function unknown(): AppError {
  return new AppError("outcome_unknown", "Cannot tell if the change was applied: the answer is lost");
}
