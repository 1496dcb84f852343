import type { Redis } from "ioredis";
import { AppError } from "../../lib/base/errors/mod.ts";
import { answerMsMax, pendingCallsMax, redisRetryMs } from "./bounds.ts";
import { clusterAround, isCluster, type OwnClient, whyUnreachable } from "./client.ts";
import type { Script } from "./script_cache.ts";
import { CommandFailure, isRedirection, TrackedCommand } from "./tracked_command.ts";

export interface CallOptions {
  /** Time by which the call must have its answer, in terms of `performance.now`. @default `answerMsMax` from now */
  readonly deadline?: number;
  /** True if arguments may be bytes and texts of the answer are. @default false */
  readonly binary?: boolean;
}

type Argument = string | Buffer;

interface Call {
  readonly name: string;
  readonly args: Argument[];
  readonly script?: Script;
  readonly isRead: boolean;
  readonly binary?: boolean;
  readonly isRepeated?: boolean;
}

/** Commands over one client: bounded in time and number, never sent twice, with errors that say if they had an effect. */
export class RedisConnection implements AsyncDisposable {
  #client: OwnClient;
  #pending = 0;
  #lastError: Error | undefined;
  /** The last node (`host:port`) that the client of a Cluster could not ask. */
  #lostNode: string | undefined;
  #opening: Promise<boolean> | undefined;
  /** True until it is known if the server is a node of a Cluster. */
  #mayBeNode: boolean;

  /** @param isNode Set if the client speaks to one node of a Cluster on purpose. */
  constructor(client: OwnClient, { isNode = false }: { readonly isNode?: boolean } = {}) {
    this.#mayBeNode = !isNode;
    this.#client = client;
    this.#listen(client);
  }

  /** Returns true if the keys of a call must share a slot. */
  get isCluster(): boolean {
    return isCluster(this.#client);
  }

  /** Returns a connection to each server that holds keys of its own. They live as long as this one does. */
  async primaries(): Promise<readonly RedisConnection[]> {
    await this.ask("ping", []);
    const client = this.#client;
    if (!isCluster(client)) return [this];
    return client.nodes("master").map(node => new RedisConnection(node, { isNode: true }));
  }

  /** Runs a command that changes nothing; one whose connection was lost is sent once more. */
  ask(name: string, args: string[], { deadline, binary = false }: CallOptions = {}): Promise<unknown> {
    return this.#call({ name, args, isRead: true, binary }, deadline);
  }

  /** Runs a script that changes nothing; one whose connection was lost is sent once more. */
  askScript(
    script: Script,
    [keys, args]: readonly [keys: readonly string[], args: readonly string[]],
    { deadline }: CallOptions = {},
  ): Promise<unknown> {
    const all = scriptArguments(script.sha, keys, args);
    return this.#call({ name: "evalsha", args: all, script, isRead: true }, deadline);
  }

  /**
   * Runs a script that may change the data, at most once.
   *
   * @throws {AppError} `storage_unavailable`: it had no effect. `outcome_unknown`: it may have had one.
   */
  run(
    script: Script,
    [keys, args]: readonly [keys: readonly string[], args: readonly Argument[]],
    { deadline, binary = false }: CallOptions = {},
  ): Promise<unknown> {
    const all = scriptArguments(script.sha, keys, args);
    return this.#call({ name: "evalsha", args: all, script, isRead: false, binary }, deadline);
  }

  /** Lets calls in flight finish, for at most {@linkcode answerMsMax}, and closes the connection. */
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

  /** Everything in one asynchronous function: each further one would cost as much as the rest of it. */
  async #call(call: Call, deadline: number = performance.now() + answerMsMax): Promise<unknown> {
    if (this.#pending >= pendingCallsMax)
      throw unavailable(`${pendingCallsMax} calls already wait for Redis`);
    this.#pending += 1;
    let command: TrackedCommand | undefined;
    let timer: NodeJS.Timeout | undefined;
    let failure: CommandFailure;
    try {
      if (this.#client.status !== "ready" || this.#opening !== undefined) await this.#open();
      // A command that is sent too late to be answered would only leave its outcome unknown.
      if (performance.now() >= deadline) throw unavailable(`there was no answer within ${answerMsMax} ms`);
      command = new TrackedCommand(call.name, call.args, call);
      timer = setTimeout(expire, Math.max(1, Math.ceil(deadline - performance.now())), command);
      const answer = this.#client.sendCommand(command);
      command.noticeRefusals();
      return await answer;
    } catch (error) {
      if (!(error instanceof Error) || command === undefined) throw error;
      failure = new CommandFailure(error, command.sent);
    } finally {
      clearTimeout(timer);
      this.#pending -= 1;
    }
    // The server executed nothing: it is a node of a Cluster, which was not known before.
    if (isRedirection(failure) && this.#joinCluster()) return this.#call(call, deadline);
    const next = nextTry(call, failure);
    // A server that lacks a script has answered: a process too busy to read that in time begins anew.
    const isLate = !failure.isUnknownScript && performance.now() >= deadline;
    if (next === undefined || isLate) throw call.isRead ? failure.ofRead : failure.ofWrite;
    return this.#call(next, failure.isUnknownScript ? undefined : deadline);
  }

  /** Waits until the client is ready and speaks to all of a Cluster, for at most {@linkcode answerMsMax}. */
  async #open(): Promise<void> {
    this.#opening ??= this.#connectWithin(answerMsMax).finally(() => {
      this.#opening = undefined;
    });
    if (await this.#opening) return;
    throw unavailable(`the server cannot be reached${reasonOf(this.#lastError)}`, this.#lastError);
  }

  async #connectWithin(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>(resolve => {
      timer = setTimeout(resolve, ms, false);
    });
    const isOpen = await Promise.race([late, this.#connect()]);
    clearTimeout(timer);
    return isOpen;
  }

  /** Makes one attempt to connect, and another one where the server is a node of a Cluster. */
  async #connect(): Promise<boolean> {
    const client = this.#client;
    if (!(await attempt(client))) {
      if (isCluster(client) && this.#lostNode !== undefined) {
        this.#lastError = (await whyUnreachable(client, this.#lostNode)) ?? this.#lastError;
      }
      return false;
    }
    if (!this.#mayBeNode || isCluster(client)) return true;
    const hasOthers = await isOneOfMany(client);
    this.#mayBeNode = false;
    return hasOthers && this.#joinCluster() ? await this.#connect() : true;
  }

  /** Takes a client of the Cluster in place of that of one node, which answers what it has been asked; false where that cannot be. */
  #joinCluster(): boolean {
    const client = this.#client;
    const cluster = isCluster(client) ? null : clusterAround(client);
    if (cluster === null) return false;
    this.#listen(cluster);
    this.#client = cluster;
    client.quit().catch(() => client.disconnect());
    return true;
  }

  #listen(client: OwnClient): void {
    // Without a listener an error event would end the process; calls report it as the cause of their failure.
    client.on("error", (error: Error & { readonly command?: { readonly name: string; args: unknown[] } }) => {
      this.#lastError = error;
      if (error.command?.name !== "select") return;
      const message = `database ${error.command.args[0]} cannot be selected: ${error.message}`;
      this.#lastError = new Error(message, { cause: error });
      // The client would go on, and read and write another database.
      client.disconnect(true);
    });
    client.on("node error", (_error: Error, node: string) => {
      this.#lostNode = node;
    });
  }
}

/** Resolves with true once the client is ready, with false once an attempt to connect has failed. */
function attempt(client: OwnClient): Promise<boolean> {
  if (client.status === "ready") return Promise.resolve(true);
  if (client.status === "end") return Promise.resolve(false);
  return new Promise(resolve => {
    function settle(isReady: boolean): void {
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

/** Returns true if other nodes have keys too. Servers without a Cluster, or that do not tell, answer with an error. */
async function isOneOfMany(server: Redis): Promise<boolean> {
  const info = await server.cluster("INFO").catch(() => "");
  return Number(/^cluster_size:(\d+)/m.exec(info)?.[1] ?? 0) > 1;
}

function scriptArguments(head: string, keys: readonly string[], args: readonly Argument[]): Argument[] {
  return [head, String(keys.length), ...keys, ...args];
}

/** Returns the call that may be sent again after a failure, or undefined if it might take effect twice. */
function nextTry(call: Call, failure: CommandFailure): Call | undefined {
  // After a restart, a failover or SCRIPT FLUSH; nothing was executed.
  if (call.script !== undefined && failure.isUnknownScript) {
    return { ...call, name: "eval", args: [call.script.lua, ...call.args.slice(1)] };
  }
  if (!call.isRead || call.isRepeated || !failure.wasLost || failure.hadNoEffect) return undefined;
  return { ...call, isRepeated: true };
}

/** A server that refuses clients says so and hangs up: often the client sees no more than a broken connection. */
function reasonOf(error: NodeJS.ErrnoException | undefined): string {
  const hint = "if it hangs up, see its protected-mode and maxclients";
  if (error === undefined) return ` (${hint})`;
  const isCut = error.code === "EPIPE" || error.code === "ECONNRESET";
  return ` (${error.message}${isCut ? `: ${hint}` : ""})`;
}

function expire(command: TrackedCommand): void {
  // The replies that have already arrived are read first: a busy process is not a silent server.
  setImmediate(() => {
    if (!command.isSettled) command.reject(new Error(`Redis has not answered within ${answerMsMax} ms`));
  });
}

function unavailable(state: string, cause?: Error): AppError {
  return new AppError("storage_unavailable", `Cannot use Redis: ${state}`, {
    cause,
    retryAfterMs: redisRetryMs,
  });
}
