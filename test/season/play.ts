/**
 * Plays a season: fans sign up, and each weekend the results of their predictions are reported match by match.
 *
 * On the first weekend every fan's own device reports. Later a third of the devices do, in turns, and the back end
 * reports for the other fans. Of two equal reports at the same moment the back end sends the second.
 */

import type { Random } from "../../adapters/conformance/random.ts";
import { onceGenerationMs } from "../../lib/fans/loyalty/user/stored_state.ts";
import type { Handler } from "../../lib/mod.ts";
import { type BackEnd, createFan, enter, enterAgain, enterAsBackEnd, type Fan, report } from "./client.ts";
import { type Match, type Slot, slotsOf } from "./fixtures.ts";
import { type Report, reportsOf } from "./predictions.ts";
import { Tables } from "./tables.ts";
import type { Timeline } from "./timeline.ts";

/** Options of a season. */
export interface SeasonOptions {
  /** The platforms that share the load. */
  readonly handlers: readonly [Handler, ...Handler[]];
  readonly timeline: Timeline;
  readonly backEnd: BackEnd;
  readonly matches: readonly Match[];
  readonly random: Random;
  readonly fans: number;
  /** Time from a slot's begin within which fans report, in ms; 1 if the timeline is shared. */
  readonly spreadMs: number;
  /** Maximum number of concurrent calls. */
  readonly width: number;
}

/** Result of a season. */
export interface Season {
  readonly fans: readonly Fan[];
  readonly tables: Tables;
  /** Reports that were sent, the repeated ones included. */
  readonly sent: number;
  /** Time that sending them took, in ms; signing up and entering the space are apart. */
  readonly sendMs: number;
}

/** Plays the whole season. Repeated reports go to another platform than the first where there is one. */
export async function playSeason(options: SeasonOptions): Promise<Season> {
  const { handlers, timeline, width } = options;
  const names = Array.from({ length: options.fans }, (_, index) => `Fan ${index + 1} ⚽`);
  const signUps = names.map((name, index) => () => createFan(handlerAt(handlers, index), name));
  const signedUp = await inParallel(signUps, width);
  const tables = new Tables();
  let sent = 0;
  let sendMs = 0;
  let weekend: Weekend = { number: -1, fans: signedUp, backEndToken: "" };
  let previous: { readonly slot: Slot; readonly reports: readonly Report[] } | undefined;
  for (const slot of slotsOf(options.matches)) {
    const pauseMs = previous === undefined ? Number.POSITIVE_INFINITY : slot.at - previous.slot.at;
    if (pauseMs > weekendMsMax) weekend = await timeline.at(slot.at, () => nextWeekend(weekend, options));
    const reports = reportsOf(slot, options);
    const late = pauseMs < onceGenerationMs ? repeated(previous?.reports ?? [], slot) : [];
    const startedAt = performance.now();
    sent += await send([...late, ...reports], weekend, options);
    sendMs += performance.now() - startedAt;
    for (const report of reports) tables.count(report);
    previous = { slot, reports };
  }
  const entries = weekend.fans.map((fan, index) => () => enter(handlerAt(handlers, index), fan));
  return { fans: await inParallel(entries, width), tables, sent, sendMs };
}

/** Shorter than a token lives, and longer than any slots of one weekend are apart. */
const weekendMsMax = 30 * 60 * 1_000;

interface Weekend {
  readonly number: number;
  readonly fans: readonly Fan[];
  readonly backEndToken: string;
}

/** Tokens do not last from one weekend to the next. */
async function nextWeekend(last: Weekend, { handlers, backEnd, width }: SeasonOptions): Promise<Weekend> {
  const number = last.number + 1;
  const entries = last.fans.map((fan, index) => async () => {
    return isOnDevice(index, number) ? await enterAgain(handlerAt(handlers, index), fan) : fan;
  });
  const fans = await inParallel(entries, width);
  return { number, fans, backEndToken: await enterAsBackEnd(handlers[0], backEnd) };
}

function isOnDevice(fan: number, weekend: number): boolean {
  return weekend === 0 || (fan + weekend) % 3 === 0;
}

/** Returns the reports to repeat with the next slot, while the platform must still know their ids. */
function repeated(reports: readonly Report[], { at }: Slot): readonly Report[] {
  return reports.filter(({ again }) => again === "later").map(report => ({ ...report, at, again: "no" }));
}

/** Sends all reports and returns the number of requests. */
async function send(
  reports: readonly Report[],
  { number, fans, backEndToken }: Weekend,
  { handlers, timeline, width }: SeasonOptions,
): Promise<number> {
  function sendOnce(each: Report, turn: number, isRepeated: boolean): Promise<void> {
    const reporter = {
      fan: fanAt(fans, each.fan),
      backEndToken: isRepeated || !isOnDevice(each.fan, number) ? backEndToken : null,
    };
    return timeline.at(each.at, () => report(handlerAt(handlers, turn), reporter, each));
  }
  const calls = reports.map((each, index) => async () => {
    if (each.again === "atOnce") {
      await Promise.all([sendOnce(each, index, false), sendOnce(each, index + 1, true)]);
    } else {
      await sendOnce(each, index, false);
    }
  });
  await inParallel(calls, width);
  return reports.length + reports.filter(({ again }) => again === "atOnce").length;
}

/** Runs tasks with bounded concurrency and returns their results in order. */
export async function inParallel<T>(
  tasks: readonly (() => Promise<T>)[],
  width: number,
): Promise<readonly T[]> {
  const results = new Array<T>(tasks.length);
  const entries = tasks.entries();
  async function work(): Promise<void> {
    for (const [index, task] of entries) results[index] = await task();
  }
  await Promise.all(Array.from({ length: Math.min(width, tasks.length) }, work));
  return results;
}

function handlerAt(handlers: SeasonOptions["handlers"], index: number): Handler {
  return handlers[index % handlers.length] ?? handlers[0];
}

function fanAt(fans: readonly Fan[], index: number): Fan {
  const fan = fans[index];
  if (fan === undefined) throw new RangeError(`Cannot find fan ${index}`);
  return fan;
}
