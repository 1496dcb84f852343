import type { Duplex } from "node:stream";
import { Command } from "ioredis";
import { AppError } from "../../lib/base/errors/mod.ts";
import { redisRetryMs } from "./bounds.ts";

/** Answers of a server that has ceased to be the primary, or is not ready yet: a new connection may find another one. */
const displaced = ["READONLY", "LOADING", "MASTERDOWN"];
/** Answers of a node of a Cluster about keys of other nodes. */
const elsewhere = ["MOVED", "ASK", "CLUSTERDOWN"];
/**
 * Answers by which Redis proves that it did not execute a command. Those about memory, replication and persistence
 * also stop a script, but only at its first write: once a script has written, Redis lets it finish.
 */
const refusals = [
  ...displaced,
  ...elsewhere,
  ...["NOSCRIPT", "TRYAGAIN", "CROSSSLOT", "OOM", "MISCONF", "NOREPLICAS", "BUSY"],
  ...["NOAUTH", "NOPERM", "WRONGPASS"],
];

/** Matches a code at the beginning, and behind what a script adds: `ERR …` on 7, `… @user_script: 9: -…` on 6.2. */
function anyOf(codes: readonly string[]): RegExp {
  return new RegExp(`(?:^|[\\s:-])(?:${codes.join("|")})\\b`);
}

const refusal = new RegExp(`${anyOf(refusals).source}|Script killed by user`);
const displacement = anyOf(displaced);
const redirection = anyOf(elsewhere);

/** Returns true if the error proves that the server did not execute the command. */
function isRefusal(error: Error): boolean {
  return refusal.test(error.message);
}

/** Returns true if the server takes no writes, or no commands, that another one at its address may take. */
export function isDisplaced(error: Error): boolean {
  return displacement.test(error.message);
}

/** Returns true if the server is a node of a Cluster and other nodes have the keys. */
export function isRedirection(error: Error): boolean {
  return redirection.test(error.message);
}

/** Why a command has no answer that can be used. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** True if it is certain that the command had no effect. */
  readonly hadNoEffect: boolean;
  /** True if the connection failed, and not the command. */
  readonly wasLost: boolean;

  /** @param sent Set if the command may have reached the server. */
  constructor(cause: Error, sent: boolean) {
    // ioredis would send operators to an option that is set as it has to be.
    super(cause.name === "MaxRetriesPerRequestError" ? "the connection was lost" : cause.message, { cause });
    this.hadNoEffect = !sent || isRefusal(cause);
    this.wasLost = cause.name !== "ReplyError";
  }

  /** Returns true if the server does not know the script that it was asked to run. */
  get isUnknownScript(): boolean {
    return this.message.startsWith("NOSCRIPT");
  }

  /** The error of something that changes nothing: it can always be asked again. */
  get ofRead(): AppError {
    if (!this.wasLost && !this.hadNoEffect) {
      return new AppError("internal_error", `Cannot read from Redis: ${this.message}`, { cause: this.cause });
    }
    return this.#unavailable();
  }

  /** The error of something that changes the data. */
  get ofWrite(): AppError {
    if (this.hadNoEffect) return this.#unavailable();
    const message = `Cannot tell if Redis applied the change: ${this.message}`;
    return new AppError("outcome_unknown", message, { cause: this.cause });
  }

  #unavailable(): AppError {
    const message = `Cannot use Redis: ${this.message}`;
    return new AppError("storage_unavailable", message, { cause: this.cause, retryAfterMs: redisRetryMs });
  }
}

/** A harmless command in place of one that is no longer wanted: the reply to it keeps the replies in step. */
const pingFrame = "*1\r\n$4\r\nPING\r\n";

/**
 * A command that records if it may have reached the server, which ioredis does not report: it rejects what still
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

  /** Returns true if the command was written to a connection and the server has not refused it. */
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

/** Collects the writes of one turn of the event loop into one system call. */
function corkForThisTick(socket: Duplex): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  process.nextTick(uncork, socket);
}

function uncork(socket: Duplex): void {
  socket.uncork();
}
