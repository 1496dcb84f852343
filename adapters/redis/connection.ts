import { AppError } from "../../lib/errors/mod.ts";
import { answerMsMax, pendingCallsMax, retryAfterMs } from "./bounds.ts";
import type { RedisClient } from "./client.ts";
import { CommandFailure } from "./failure.ts";
import { TrackedCommand } from "./tracked_command.ts";

/** A Lua script and the SHA-1 digest by which Redis knows it. */
export interface Script {
  readonly lua: string;
  readonly sha: string;
}

/** Commands over one client: bounded in time and number, never sent twice, with failures that say what is certain. */
export class RedisConnection implements AsyncDisposable {
  readonly #client: RedisClient;
  #pending = 0;
  #lastError: Error | undefined;
  #opening: Promise<boolean> | undefined;

  constructor(client: RedisClient) {
    this.#client = client;
    // Without a listener an error event would end the process; calls report it as the cause of their failure.
    client.on("error", (error: Error) => {
      this.#lastError = error;
    });
  }

  /** Runs a command that changes nothing; one whose connection was lost is sent once more. */
  async ask(name: string, args: readonly string[]): Promise<unknown> {
    return this.#asRead(deadline => this.#exchange(name, args, deadline));
  }

  /** Runs a script that changes nothing; one whose connection was lost is sent once more. */
  async askScript(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#asRead(deadline => this.#evaluate(script, keys, args, deadline));
  }

  /**
   * Runs a script that may change the data, at most once.
   *
   * @throws {AppError} `storage_unavailable`: it had no effect. `outcome_unknown`: it may have had one.
   */
  async run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    try {
      return await this.#evaluate(script, keys, args, performance.now() + answerMsMax);
    } catch (error) {
      throw error instanceof CommandFailure ? error.ofWrite : error;
    }
  }

  /** Lets calls that are under way finish, for at most {@linkcode answerMsMax}, and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#client.status === "ready") {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise(resolve => {
        timer = setTimeout(resolve, answerMsMax);
      });
      await Promise.race([this.#client.quit().catch(() => undefined), late]);
      clearTimeout(timer);
    }
    this.#client.disconnect();
  }

  async #asRead(exchange: (deadline: number) => Promise<unknown>): Promise<unknown> {
    const deadline = performance.now() + answerMsMax;
    for (let retried = false; ; retried = true) {
      try {
        return await exchange(deadline);
      } catch (error) {
        if (!(error instanceof CommandFailure)) throw error;
        if (retried || !error.wasLost || error.hadNoEffect || performance.now() > deadline)
          throw error.ofRead;
      }
    }
  }

  async #evaluate(
    { lua, sha }: Script,
    keys: readonly string[],
    args: readonly string[],
    deadline: number,
  ): Promise<unknown> {
    const count = String(keys.length);
    try {
      return await this.#exchange("evalsha", [sha, count, ...keys, ...args], deadline);
    } catch (error) {
      // After a restart, a failover or SCRIPT FLUSH; nothing was executed.
      if (!(error instanceof CommandFailure && error.isUnknownScript)) throw error;
      return await this.#exchange("eval", [lua, count, ...keys, ...args], deadline);
    }
  }

  async #exchange(name: string, args: readonly string[], deadline: number): Promise<unknown> {
    if (this.#pending >= pendingCallsMax)
      throw unavailable(`${pendingCallsMax} calls already wait for Redis`);
    this.#pending += 1;
    let command: TrackedCommand | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      if (this.#client.status !== "ready") await this.#open();
      command = new TrackedCommand(name, args);
      timer = setTimeout(expire, Math.max(1, deadline - performance.now()), command);
      return await this.#client.sendCommand(command);
    } catch (error) {
      if (!(error instanceof Error) || command === undefined) throw error;
      throw new CommandFailure(error, command.sent);
    } finally {
      clearTimeout(timer);
      this.#pending -= 1;
    }
  }

  /** Waits until the client is ready, for at most one attempt to connect and {@linkcode answerMsMax}. */
  async #open(): Promise<void> {
    this.#opening ??= this.#nextAttempt().finally(() => {
      this.#opening = undefined;
    });
    if (!(await this.#opening)) throw unavailable("the server cannot be reached", this.#lastError);
  }

  #nextAttempt(): Promise<boolean> {
    const client = this.#client;
    if (client.status === "end") return Promise.resolve(false);
    return new Promise(resolve => {
      const timer = setTimeout(settle, answerMsMax, false);
      function settle(isReady: boolean): void {
        clearTimeout(timer);
        client.off("ready", succeed).off("close", fail).off("end", fail);
        resolve(isReady);
      }
      function succeed(): void {
        settle(true);
      }
      function fail(): void {
        settle(false);
      }
      client.on("ready", succeed).on("close", fail).on("end", fail);
      if (client.status === "wait") client.connect().catch(() => undefined);
    });
  }
}

function expire(command: TrackedCommand): void {
  // The replies that have already arrived are read first: a busy process is not a silent server.
  setImmediate(() => {
    if (!command.isSettled) command.reject(new Error(`Redis has not answered within ${answerMsMax} ms`));
  });
}

function unavailable(state: string, cause?: Error): AppError {
  return new AppError("storage_unavailable", `Cannot use Redis: ${state}`, { cause, retryAfterMs });
}
