import { AppError } from "../../lib/errors/mod.ts";
import { retryAfterMs } from "./bounds.ts";

/**
 * Answers by which Redis proves that it did not execute a command. Those about memory, replication and persistence
 * also stop a script, but only at its first write: once a script has written, Redis lets it finish.
 */
const refusal =
  /(?:^|[\s:-])(?:NOSCRIPT|MOVED|ASK|TRYAGAIN|CROSSSLOT|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|OOM|MISCONF|NOREPLICAS|BUSY|NOAUTH|NOPERM|WRONGPASS)\b|Script killed by user/;

/** Whether the error proves that the server did not execute the command. */
export function isRefusal(error: Error): boolean {
  return refusal.test(error.message);
}

/** Why a command has no answer that can be used. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** Whether it is certain that the command had no effect. */
  readonly hadNoEffect: boolean;
  /** Whether the connection failed, and not the command. */
  readonly wasLost: boolean;

  /** @param sent Whether the command may have reached the server. */
  constructor(cause: Error, sent: boolean) {
    super(cause.message, { cause });
    this.hadNoEffect = !sent || isRefusal(cause);
    this.wasLost = cause.name !== "ReplyError";
  }

  /** Whether the server does not know the script that it was asked to run. */
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
    const message = `Cannot tell whether Redis applied the change: ${this.message}`;
    return new AppError("outcome_unknown", message, { cause: this.cause });
  }

  #unavailable(): AppError {
    const message = `Cannot use Redis: ${this.message}`;
    return new AppError("storage_unavailable", message, { cause: this.cause, retryAfterMs });
  }
}
