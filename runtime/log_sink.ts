/**
 * Where log lines go: batched, so that a request does not pay for a system call, and bounded, so that a reader who does
 * not keep up costs lines and not memory.
 *
 * @module
 */

/** Longest time that a line waits for others, in ms. */
export const logWaitMsMax = 50;
/** Characters after which a batch is written at once. */
export const logBatchCharsMax = 65_536;
/** Most bytes that may wait for the reader; lines beyond are dropped and counted. */
export const logPendingBytesMax = 8_388_608;

/** What a sink writes to, such as `process.stderr`. */
export interface LogStream {
  readonly writableLength: number;
  write(text: string, done?: () => void): unknown;
}

/** A sink for a JSON logger. */
export interface LogSink {
  /** Takes one line with its newline. */
  readonly write: (line: string) => void;
  /** Writes what waits and resolves once the stream has taken it. */
  flush(): Promise<void>;
}

/** Makes a sink that writes to a stream. */
export function createLogSink(stream: LogStream): LogSink {
  let batch = "";
  let dropped = 0;
  let timer: NodeJS.Timeout | null = null;

  function take(): string {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const text = dropped === 0 ? batch : `${batch}${droppedLine(dropped)}`;
    batch = "";
    dropped = 0;
    return text;
  }

  function write(line: string): void {
    if (stream.writableLength + batch.length > logPendingBytesMax) {
      dropped++;
      return;
    }
    batch += line;
    if (batch.length >= logBatchCharsMax) stream.write(take());
    else timer ??= setTimeout(() => stream.write(take()), logWaitMsMax);
  }

  return {
    write,
    flush: () => new Promise(resolve => stream.write(take(), resolve)),
  };
}

function droppedLine(count: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ time, level: "warn", event: "log_lines_dropped", count })}\n`;
}
