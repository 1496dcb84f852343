/** The port to which structured log lines go. */

/** Severities, least first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** A severity. */
export type LogLevel = (typeof logLevels)[number];

/** Facts of a line; plain values only, so that writing a line cannot fail. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Receives log lines. It must not throw and must not wait. */
export interface Logger {
  /** True if lines of this level are written; asked before the fields of frequent lines are made. */
  enabled(level: LogLevel): boolean;
  /** Writes a line; `event` is a constant name, everything that varies is in `fields`. */
  log(level: LogLevel, event: string, fields: LogFields): void;
}

/** Drops everything. */
export const silentLogger: Logger = { enabled: () => false, log: () => {} };

/** Time in which equal warnings and errors are counted, in ms. */
const repeatMsMax = 60_000;
/** Equal lines that are written in that time: a failure that comes, goes and comes again is worth a line each. */
const equalLinesMax = 3;
/** Most different lines whose repetitions are counted at a time. */
const countedLinesMax = 256;

interface CountedLine {
  readonly until: number;
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
  count: number;
}

/**
 * Returns a function that writes at most three equal warnings or errors a minute, however many come. With the first line
 * after that minute it writes the line again with `repeated`, the number of those that it left out.
 */
function countRepeats(write: Logger["log"], clock: () => number): Logger["log"] {
  const counted = new Map<string, CountedLine>();
  function writeCounts(now: number): void {
    // The oldest come first. A clock that was set back ends every count.
    for (const [key, { until, level, event, fields, count }] of counted) {
      if (until > now && until <= now + repeatMsMax) break;
      counted.delete(key);
      const repeated = count - equalLinesMax;
      if (repeated > 0) write(level, event, { ...fields, repeated });
    }
  }
  return (level, event, fields) => {
    const now = clock();
    writeCounts(now);
    if (level === "warn" || level === "error") {
      const key = JSON.stringify([level, event, fields]);
      const same = counted.get(key);
      if (same !== undefined) {
        same.count += 1;
        if (same.count > equalLinesMax) return;
      } else if (counted.size < countedLinesMax) {
        counted.set(key, { until: now + repeatMsMax, level, event, fields, count: 1 });
      }
    }
    write(level, event, fields);
  };
}

/** Writes warnings and errors to `console`, as the event and its fields; of equal ones three a minute. */
export const consoleLogger: Logger = {
  enabled: level => level === "warn" || level === "error",
  log: /* @__PURE__ */ countRepeats((level, event, fields) => {
    // biome-ignore lint/suspicious/noConsole: the console is the destination
    if (level === "warn" || level === "error") console[level](`grandstand: ${event}`, fields);
  }, Date.now),
};

/** Options of {@linkcode createJsonLogger}. */
export interface JsonLoggerOptions {
  /** Receives each line with its newline. */
  readonly write: (line: string) => void;
  /** Least severity that is written. @default "info" */
  readonly level?: LogLevel;
  /** Unix ms. @default Date.now */
  readonly clock?: () => number;
}

/**
 * Creates a logger that writes one line of JSON per event: `{time, level, event, …fields}`, with `time` in ISO 8601.
 *
 * At most three equal warnings or errors a minute are written; then one more line has the number of the others, `repeated`.
 */
export function createJsonLogger(options: JsonLoggerOptions): Logger {
  const { write, level = "info", clock = Date.now } = options;
  const least = logLevels.indexOf(level);
  const printTime = createTimePrinter();
  const log = countRepeats((at, event, fields) => {
    // Joined, as a server writes a line for every request: an object of all members would be made for its text alone.
    const rest = JSON.stringify(fields);
    const head = `{"time":"${printTime(clock())}","level":"${at}","event":${JSON.stringify(event)}`;
    write(`${head}${rest === "{}" ? "" : ","}${rest.slice(1)}\n`);
  }, clock);
  function enabled(asked: LogLevel): boolean {
    return logLevels.indexOf(asked) >= least;
  }
  return {
    enabled,
    log(at, event, fields) {
      if (enabled(at)) log(at, event, fields);
    },
  };
}

/** Creates a printer of times in ISO 8601, which prints a second once for all lines of it. */
function createTimePrinter(): (ms: number) => string {
  let second = Number.NaN;
  let text = "";
  return ms => {
    const whole = Math.floor(ms);
    const fraction = ((whole % 1_000) + 1_000) % 1_000;
    if (whole - fraction !== second) {
      second = whole - fraction;
      text = new Date(second).toISOString().slice(0, -4);
    }
    return `${text}${String(fraction).padStart(3, "0")}Z`;
  };
}
