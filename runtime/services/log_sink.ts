/**
 * Writes log lines in batches, so that a request does not pay for a system call. The buffer is bounded: a slow reader loses
 * lines instead of filling memory.
 */

const waitMsMax = 50;
/** Size from which a batch is written at once, in characters. */
const batchCharactersMax = 65_536;
/** Most bytes that the reader may lag behind; lines beyond are dropped and counted. */
const pendingBytesMax = 8_388_608;

interface LogStream {
  readonly writableLength: number;
  write(text: string, done?: () => void): unknown;
}

export interface LogSink {
  readonly write: (line: string) => void;
  /** Writes the buffer. Resolves once the stream has taken it. */
  flush(): Promise<void>;
}

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
    if (stream.writableLength + batch.length > pendingBytesMax) {
      dropped++;
      return;
    }
    batch += line;
    if (batch.length >= batchCharactersMax) stream.write(take());
    else timer ??= setTimeout(() => stream.write(take()), waitMsMax);
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
