import type { Duplex } from "node:stream";
import { Command } from "ioredis";
import { isRefusal } from "./failure.ts";

/** A harmless command in place of one that is no longer wanted: the reply to it keeps the replies in step. */
const pingFrame = "*1\r\n$4\r\nPING\r\n";

/**
 * A command that knows whether it may have reached the server, which ioredis does not tell: it rejects what still
 * waits for a connection and what was sent over a lost one alike.
 */
export class TrackedCommand extends Command {
  #sent = false;

  /** @param args All strings, unless the command is `binary`; ioredis would copy them twice on its way to that conclusion. */
  constructor(
    name: string,
    args: (string | Buffer)[],
    { binary = false }: { readonly binary?: boolean } = {},
  ) {
    super(name, binary ? args : [], { replyEncoding: binary ? null : "utf8" });
    if (!binary) this.args = args;
  }

  /** Whether the command was written to a connection and the server has not refused it. */
  get sent(): boolean {
    return this.#sent;
  }

  /**
   * Notices from now on when the server refuses the command, before a Cluster client sends it elsewhere. To be called
   * once the client has the command, because that puts a `reject` of its own in place.
   */
  noticeRefusals(): void {
    const reject = this.reject;
    this.reject = error => {
      if (isRefusal(error)) this.#sent = false;
      reject.call(this, error);
    };
  }

  /** ioredis calls this when it writes the command, which for a settled one must not have an effect any more. */
  override toWritable(socket: object): string | Buffer {
    corkForThisTick(socket as Duplex);
    if (this.isSettled) return pingFrame;
    this.#sent = true;
    return super.toWritable(socket);
  }
}

/** Gathers what is written in one turn of the event loop into one system call. */
function corkForThisTick(socket: Duplex): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  process.nextTick(uncork, socket);
}

function uncork(socket: Duplex): void {
  socket.uncork();
}
