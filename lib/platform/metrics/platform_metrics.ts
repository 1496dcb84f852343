/** The metrics of a platform: its registry, and the measuring of its ports. */

import { isOutcomeUnknown } from "../../base/errors/mod.ts";
import { type Histogram, Metrics, type MetricsOptions } from "../../base/metrics/mod.ts";
import { WebhookError } from "../../base/outbound/outbound.ts";
import type { ActionService } from "../../fans/audience/mod.ts";
import type { Leaderboards } from "../../fans/leaderboards/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { Commit, Queue } from "../../storage/mod.ts";
import { type Observe, observedPorts, type PortCall, type Ports } from "../observed_ports.ts";

/** The metrics of one process, for the option `metrics` of `createPlatform`. */
export class PlatformMetrics extends Metrics {
  readonly #elapsed: Elapsed;

  constructor(options: MetricsOptions = {}) {
    super(options);
    this.#elapsed = options.clock ?? (() => performance.now());
  }

  /** Returns ports that measure their calls. */
  ports<P extends Ports>(ports: P): P {
    return {
      ...observedPorts(ports, measuring(this, this.#elapsed)),
      logger: countingLogger(ports.logger, this),
      queue: ports.queue && measuredQueue(ports.queue, this),
    };
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

/** Records how long each call takes, by how it ends. */
function measuring(metrics: Metrics, elapsed: Elapsed): Observe {
  const storeDuration = (operation: string, outcome: string): Histogram =>
    metrics.histogram("grandstand_store_operation_duration_seconds", { operation, outcome });
  // Every request calls the store: its usual histograms are looked up once.
  const usual: Readonly<Record<string, Histogram>> = {
    "read ok": storeDuration("read", "ok"),
    "commit ok": storeDuration("commit", "ok"),
    "commit conflict": storeDuration("commit", "conflict"),
  };
  function durationOf(call: PortCall, outcome: string): Histogram {
    switch (call.port) {
      case "store":
        return usual[`${call.operation} ${outcome}`] ?? storeDuration(call.operation, outcome);
      case "webhook":
        return metrics.histogram("grandstand_webhook_duration_seconds", { outcome });
      case "mail":
        return metrics.histogram("grandstand_mail_duration_seconds", { kind: call.kind, outcome });
      case "outbound": {
        const { operation } = call;
        return metrics.histogram("grandstand_outbound_duration_seconds", { operation, outcome });
      }
    }
  }
  return async (call, work) => {
    const startedAt = elapsed();
    const end = (outcome: string): void => durationOf(call, outcome).record((elapsed() - startedAt) / 1_000);
    try {
      const result = await work(noFields);
      end(successOf(call, result));
      return result;
    } catch (error) {
      end(failureOf(call, error));
      throw error;
    }
  };
}

const noFields = {};

const successes = { webhook: "delivered", mail: "accepted", outbound: "answered" } as const;

function successOf(call: PortCall, result: unknown): string {
  if (call.port !== "store") return successes[call.port];
  return call.operation === "commit" && !(result as Commit).ok ? "conflict" : "ok";
}

function failureOf({ port }: PortCall, error: unknown): string {
  if (port === "store") return isOutcomeUnknown(error) ? "unknown" : "failed";
  if (port === "webhook")
    return error instanceof WebhookError && error.status !== null ? "refused" : "unreachable";
  return "failed";
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
