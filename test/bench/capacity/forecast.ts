/** What shows of many fans need, from the costs of operations. */

import { type Plan, steps } from "../live_final/plan.ts";
import type { Costs, Operation } from "./operations.ts";
import { eachResource, type Usage } from "./resources.ts";

/** How many operations a show has. */
export type Counts = Readonly<Record<Operation, number>>;

/** Counts the operations of a plan, whose listeners received some messages. */
export function countsOf(plan: Plan, messages: number): Counts {
  const counts = new Map<string, number>();
  for (const step of plan.step) counts.set(steps[step] ?? "", (counts.get(steps[step] ?? "") ?? 0) + 1);
  const of = (name: Operation): number => counts.get(name) ?? 0;
  return {
    ...{ arrive: of("arrive"), predict: of("predict"), outcome: of("predict"), share: of("share") },
    ...{ profile: of("profile"), board: of("board"), history: of("history"), message: messages },
  };
}

/** Returns what a show uses. */
export function forecast({ idle, each }: Costs, counts: Counts, seconds: number): Usage {
  return eachResource(resource => {
    const names = Object.keys(counts) as Operation[];
    return names.reduce((sum, name) => sum + counts[name] * each[name][resource], idle[resource] * seconds);
  });
}

/** Listeners that a process takes. */
const listenersOfServer = 2_000;

/** A show by its figures for one fan. */
export const profile = {
  seconds: 7_200,
  /** Busiest minute to the mean. */
  peak: 6,
  /** Part of a core that may be used in the busiest minute. */
  utilisation: 0.6,
  /** Fans who listen to the live board throughout; each receives a message a second. */
  listeners: 0.02,
  counts: { arrive: 1, predict: 2, outcome: 2, share: 1.5, profile: 1.5, board: 2, history: 0.1 },
  /** Memory of one Redis process that data may fill, in bytes. */
  redisBytes: 16 * 2 ** 30,
} as const;

/** What a show needs. */
export interface Needs {
  readonly fans: number;
  readonly requestsPerSecond: number;
  /** Servers for the processor, and for listeners: the larger number is needed. */
  readonly serversByProcessor: number;
  readonly serversByListeners: number;
  readonly workers: number;
  /** Redis processes for the processor, and for memory: the larger number is needed. */
  readonly redisByProcessor: number;
  readonly redisByMemory: number;
  readonly redisGib: number;
  readonly commandsPerSecond: number;
  readonly outcomesPerSecond: number;
  readonly boardReadsPerSecond: number;
  readonly httpMbitPerSecond: number;
  readonly aofGib: number;
}

/** Returns the processes that a show needs in its busiest minute; a process is a core. */
export function needs(costs: Costs, fans: number): Needs {
  const { seconds, peak, utilisation, listeners, counts, redisBytes } = profile;
  const idle = eachResource(() => 0);
  const acts = forecast({ ...costs, idle }, { ...counts, message: 0 }, seconds);
  const none = { arrive: 0, predict: 0, outcome: 0, share: 0, profile: 0, board: 0, history: 0 };
  const listening = forecast({ ...costs, idle }, { ...none, message: listeners }, seconds);
  /** In a second of the busiest minute. Listening has no peak. */
  const busy = eachResource(resource => fans * ((acts[resource] * peak) / seconds + listening[resource]));
  const cores = (ms: number): number => Math.ceil(ms / 1_000 / utilisation);
  const { arrive, predict, share, profile: profiles, board, history } = counts;
  const requests = 2 * arrive + predict + share + profiles + board + history;
  const bytes = fans * acts.redisBytes;
  return {
    fans,
    requestsPerSecond: (fans * requests * peak) / seconds,
    serversByProcessor: cores(busy.serverMs),
    serversByListeners: Math.ceil((fans * listeners) / listenersOfServer),
    workers: cores(busy.workerMs),
    redisByProcessor: cores(busy.redisMs),
    redisByMemory: Math.ceil(bytes / redisBytes),
    redisGib: bytes / 2 ** 30,
    commandsPerSecond: busy.redisCommands,
    outcomesPerSecond: (fans * counts.outcome * peak) / seconds,
    boardReadsPerSecond: (fans * counts.board * peak) / seconds,
    httpMbitPerSecond: (busy.httpBytes * 8) / 1e6,
    aofGib: (fans * acts.aofBytes) / 2 ** 30,
  };
}
