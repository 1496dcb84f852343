/**
 * The metrics of a platform: its registry, and the measuring of its ports.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { Metrics, type MetricsOptions } from "../../base/metrics/mod.ts";
import {
  type Mailer,
  type Outbound,
  WebhookError,
  type WebhookSender,
} from "../../base/outbound/outbound.ts";
import type { ActionService } from "../../fans/audience/mod.ts";
import type { Leaderboards } from "../../fans/leaderboards/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { Queue, Store } from "../../storage/mod.ts";

/** The metrics of one process, for the option `metrics` of `createPlatform`. */
export class PlatformMetrics extends Metrics {
  readonly #elapsed: Elapsed;

  constructor(options: MetricsOptions = {}) {
    super(options);
    this.#elapsed = options.clock ?? (() => performance.now());
  }

  /** Returns ports that measure their calls. */
  ports<P extends Ports>(ports: P): P {
    return { ...ports, ...measuredPorts(ports, this, this.#elapsed) };
  }

  /** Returns what measures how long boards lag behind actions. */
  boardDelay(): ReturnType<typeof boardDelay> {
    return boardDelay(this, this.#elapsed);
  }

  /** Reads figures of the platform before each scrape. */
  readFigures(sources: FigureSources): void {
    readFigures(this, sources);
  }
}

/** Creates the metrics of a process. */
export function createMetrics(options: MetricsOptions = {}): PlatformMetrics {
  return new PlatformMetrics(options);
}

/** Clock of durations, in ms from any origin. */
type Elapsed = () => number;

export interface Ports {
  readonly store: Store;
  readonly logger: Logger;
  readonly queue?: Queue | undefined;
  readonly webhooks?: WebhookSender | undefined;
  readonly mailer?: Mailer | undefined;
  readonly outbound?: Outbound | undefined;
}

function measuredPorts(ports: Ports, metrics: Metrics, elapsed: Elapsed): Ports {
  const { store, logger, queue, webhooks, mailer, outbound } = ports;
  return {
    store: measuredStore(store, metrics, elapsed),
    logger: countingLogger(logger, metrics),
    queue: queue && measuredQueue(queue, metrics),
    webhooks: webhooks && measuredWebhooks(webhooks, metrics, elapsed),
    mailer: mailer && measuredMailer(mailer, metrics, elapsed),
    outbound: outbound && measuredOutbound(outbound, metrics, elapsed),
  };
}

function measuredStore(store: Store, metrics: Metrics, elapsed: Elapsed): Store {
  const timing = (operation: string, outcome: string) =>
    metrics.histogram("grandstand_store_operation_duration_seconds", { operation, outcome });
  const [reads, commits, conflicts] = [
    timing("read", "ok"),
    timing("commit", "ok"),
    timing("commit", "conflict"),
  ];
  function fail(operation: string, error: unknown, seconds: number): never {
    const isUnknown = error instanceof AppError && error.code === "outcome_unknown";
    timing(operation, isUnknown ? "unknown" : "failed").record(seconds);
    throw error;
  }
  return {
    traits: store.traits,
    async read(partition, queries) {
      const startedAt = elapsed();
      try {
        const results = await store.read(partition, queries);
        reads.record((elapsed() - startedAt) / 1_000);
        return results;
      } catch (error) {
        return fail("read", error, (elapsed() - startedAt) / 1_000);
      }
    },
    async commit(partition, batch) {
      const startedAt = elapsed();
      try {
        const outcome = await store.commit(partition, batch);
        (outcome.ok ? commits : conflicts).record((elapsed() - startedAt) / 1_000);
        return outcome;
      } catch (error) {
        return fail("commit", error, (elapsed() - startedAt) / 1_000);
      }
    },
    ping: () => store.ping(),
    now: store.now,
    warnings: async () => (await store.warnings?.()) ?? [],
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function measuredQueue(queue: Queue, metrics: Metrics): Queue {
  const counted = (step: string) => metrics.counter("grandstand_queue_messages_total", { step });
  const [pushed, taken] = [counted("pushed"), counted("taken")];
  const [redelivered, settled] = [counted("redelivered"), counted("settled")];
  return {
    async push(topic, bodies) {
      const ids = await queue.push(topic, bodies);
      pushed.add(ids.length);
      return ids;
    },
    async take(topic, lease) {
      const messages = await queue.take(topic, lease);
      const first = messages.filter(({ attempts }) => attempts === 1).length;
      taken.add(first);
      redelivered.add(messages.length - first);
      return messages;
    },
    async ack(topic, ids) {
      await queue.ack(topic, ids);
      settled.add(ids.length);
    },
    release: topic => queue.release(topic),
    depth: topic => queue.depth(topic),
    oldest: topic => queue.oldest(topic),
    [Symbol.asyncDispose]: () => queue[Symbol.asyncDispose](),
  };
}

function measuredWebhooks(sender: WebhookSender, metrics: Metrics, elapsed: Elapsed): WebhookSender {
  const failureOf = (error: unknown): string =>
    error instanceof WebhookError && error.status !== null ? "refused" : "unreachable";
  return {
    send: message =>
      timed(
        () => sender.send(message),
        elapsed,
        (seconds, error) => {
          const outcome = error === null ? "delivered" : failureOf(error);
          metrics.histogram("grandstand_webhook_duration_seconds", { outcome }).record(seconds);
        },
      ),
  };
}

function measuredMailer(mailer: Mailer, metrics: Metrics, elapsed: Elapsed): Mailer {
  return {
    send: mail =>
      timed(
        () => mailer.send(mail),
        elapsed,
        (seconds, error) => {
          const outcome = error === null ? "accepted" : "failed";
          metrics.histogram("grandstand_mail_duration_seconds", { kind: mail.kind, outcome }).record(seconds);
        },
      ),
  };
}

function measuredOutbound(outbound: Outbound, metrics: Metrics, elapsed: Elapsed): Outbound {
  function call<T>(operation: "get" | "post", work: () => Promise<T>): Promise<T> {
    return timed(work, elapsed, (seconds, error) => {
      const outcome = error === null ? "answered" : "failed";
      metrics.histogram("grandstand_outbound_duration_seconds", { operation, outcome }).record(seconds);
    });
  }
  return {
    get: request => call("get", () => outbound.get(request)),
    post: request => call("post", () => outbound.post(request)),
  };
}

/** Returns a function that begins to measure how long boards lag behind an action; the one that it returns ends that. */
function boardDelay(metrics: Metrics, elapsed: Elapsed): () => (isDelivered: boolean) => void {
  const timing = (outcome: string) => metrics.histogram("grandstand_board_feed_delay_seconds", { outcome });
  const [onTime, deferred] = [timing("delivered"), timing("deferred")];
  return () => {
    const startedAt = elapsed();
    return isDelivered => (isDelivered ? onTime : deferred).record((elapsed() - startedAt) / 1_000);
  };
}

/** Counts lines, written or not. Those of single requests are metrics of their own. */
function countingLogger(logger: Logger, metrics: Metrics): Logger {
  return {
    enabled: level => logger.enabled(level),
    log(level, event, fields) {
      if (event !== "request") metrics.counter("grandstand_log_events_total", { level, event }).add();
      logger.log(level, event, fields);
    },
  };
}

async function timed<T>(
  work: () => Promise<T>,
  elapsed: Elapsed,
  record: (seconds: number, error: unknown) => void,
): Promise<T> {
  const startedAt = elapsed();
  try {
    const result = await work();
    record((elapsed() - startedAt) / 1_000, null);
    return result;
  } catch (error) {
    record((elapsed() - startedAt) / 1_000, error);
    throw error;
  }
}

interface FigureSources {
  /** Unix ms. */
  readonly clock: () => number;
  /** Absent: actions are applied before their answer. */
  readonly queue?: Queue | undefined;
  readonly actions: ActionService;
  readonly leaderboards: Pick<Leaderboards, "live">;
  readonly version: string;
}

/** Reads the figures of a platform before each scrape. */
function readFigures(metrics: Metrics, sources: FigureSources): void {
  const { clock, queue, actions, leaderboards, version } = sources;
  metrics.gauge("grandstand_build_info", { version }).set(1);
  const listeners = metrics.gauge("grandstand_board_listeners", {});
  const dead = metrics.gauge("grandstand_dead_letters", {});
  metrics.beforeScrape(() => listeners.set(leaderboards.live.size));
  metrics.beforeScrape(async () => {
    const counts = await actions.deadLetters.count();
    dead.set(counts.reduce((sum, { count }) => sum + count, 0));
  });
  if (queue === undefined) return;
  const shards = metrics.gauge("grandstand_worker_shards", {});
  const alive = metrics.gauge("grandstand_worker_alive", {});
  const depth = metrics.gauge("grandstand_queue_depth", {});
  const age = metrics.gauge("grandstand_queue_oldest_age_seconds", {});
  metrics.beforeScrape(() => shards.set(actions.shardsHere));
  metrics.beforeScrape(async () => alive.set((await actions.hasWorker()) ? 1 : 0));
  metrics.beforeScrape(async () => {
    const backlog = await actions.backlog();
    depth.set(backlog.depth);
    age.set(backlog.oldestAt === null ? 0 : Math.max(0, clock() - backlog.oldestAt) / 1_000);
  });
}
