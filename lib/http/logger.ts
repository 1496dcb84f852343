/**
 * The port to which structured log lines go.
 *
 * @module
 */

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

/** Writes warnings and errors to `console`, as the event and its fields. */
export const consoleLogger: Logger = {
  enabled: level => level === "warn" || level === "error",
  log(level, event, fields) {
    // biome-ignore lint/suspicious/noConsole: the console is the destination
    if (level === "warn" || level === "error") console[level](`grandstand: ${event}`, fields);
  },
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

/** Creates a logger that writes one line of JSON per event: `{time, level, event, …fields}`, with `time` in ISO 8601. */
export function createJsonLogger(options: JsonLoggerOptions): Logger {
  const { write, level = "info", clock = Date.now } = options;
  const least = logLevels.indexOf(level);
  function enabled(asked: LogLevel): boolean {
    return logLevels.indexOf(asked) >= least;
  }
  function log(at: LogLevel, event: string, fields: LogFields): void {
    if (!enabled(at)) return;
    write(`${JSON.stringify({ time: new Date(clock()).toISOString(), level: at, event, ...fields })}\n`);
  }
  return { enabled, log };
}
