import type { Duplex } from "node:stream";
import { Cluster, type ClusterOptions, Command, Redis, type RedisOptions } from "ioredis";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { TimedServer } from "../../lib/storage/server_clock.ts";
import {
  answerMsMax,
  pendingCallsMax,
  type RedisClient,
  reconnectMsMax,
  redisRetryMs,
  serverSilenceMsMax,
} from "./keys.ts";
import type { Script } from "./script_cache.ts";

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
export class RedisConnection implements AsyncDisposable, TimedServer {
  readonly name = "Redis";
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

  async primaries(): Promise<readonly RedisConnection[]> {
    await this.ask("ping", []);
    const client = this.#client;
    if (!isCluster(client)) return [this];
    return client.nodes("master").map(node => new RedisConnection(node, { isNode: true }));
  }

  /** Asks for the time of the server, Unix ms. */
  async time(): Promise<number> {
    const [seconds, microseconds] = (await this.ask("time", [])) as readonly [string, string];
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
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

export function unavailable(state: string, cause?: unknown): AppError {
  return new AppError("storage_unavailable", `Cannot use Redis: ${state}`, {
    cause,
    retryAfterMs: redisRetryMs,
  });
}

type OwnClient = Redis | Cluster;

const reconnectMsMin = 20;

function reconnectDelay(attempt: number): number {
  return Math.min(reconnectMsMin * 2 ** Math.min(attempt - 1, 10), reconnectMsMax);
}

/** Settings that the adapter's guarantees depend on; all other settings of a given client are kept. */
const settings = {
  lazyConnect: true,
  protocol: 2,
  replyMapping: "legacy",
  // A commit must never be sent twice, and what cannot be sent soon must not be sent later.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectDelay,
  // After a failover the old primary is a replica: only a new connection finds the new one.
  reconnectOnError: isDisplaced,
  connectTimeout: answerMsMax,
  socketTimeout: serverSilenceMsMax,
  maxLoadingRetryTime: reconnectMsMax,
  // Commands wait for it, and so never reach the wrong database or a server that still loads.
  enableReadyCheck: true,
  // Measured slower than corking the socket for the turn of the event loop: see tracked_command.ts.
  enableAutoPipelining: false,
} satisfies RedisOptions;

const clusterSettings = {
  lazyConnect: true,
  enableAutoPipelining: false,
  scaleReads: "master",
  clusterRetryStrategy: reconnectDelay,
  slotsRefreshTimeout: answerMsMax,
  // Both would send a command again whose first sending may have had an effect, or would hold it back.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 50,
} satisfies ClusterOptions;

/** Keeps the names of nodes: a certificate for names is valid for none of their addresses. */
const byName: ClusterOptions["dnsLookup"] = (name, found) => found(null, name);

/**
 * Makes a client of the adapter's own from a URL, a comma-separated list of URLs (a Cluster) or another client's settings.
 *
 * @throws {TypeError} A URL or a setting of the client cannot be used.
 */
export function createClient(source: string | RedisClient): OwnClient {
  if (typeof source !== "string") return copyOf(source);
  const [first = {}, ...others] = source.split(",").map(url => addressOf(url.trim()));
  if (others.length === 0) return new Redis({ ...first, ...settings });
  const nodes = [first, ...others];
  if (nodes.some(({ db = 0 }) => db !== 0)) throw unusable("a Cluster has no database but 0");
  if (nodes.some(({ path }) => path !== undefined))
    throw unusable("a Cluster is reached by redis:// or rediss:// alone");
  return clusterOf(
    nodes.map(({ host = "127.0.0.1", port = 6379 }) => ({ host, port })),
    first,
  );
}

export function isCluster(client: OwnClient): client is Cluster {
  return client instanceof Cluster;
}

/** Makes a client of the Cluster of which a client's server is a node; null where that server is reached by a socket or Sentinel. */
function clusterAround({ options }: Redis): Cluster | null {
  const { host, port, path, sentinels } = options;
  if (host === undefined || port === undefined || path || sentinels) return null;
  return clusterOf([{ host, port }], options);
}

/** Tries a node (`host:port`) of a Cluster alone: the client of the Cluster does not tell why it cannot reach one. */
async function whyUnreachable({ options }: Cluster, node: string): Promise<Error | undefined> {
  const end = node.lastIndexOf(":");
  const [host, port] = [node.slice(0, end), Number(node.slice(end + 1))];
  const client = new Redis({ ...options.redisOptions, ...settings, host, port, retryStrategy: () => null });
  let reason: Error | undefined;
  client.on("error", (error: Error) => {
    reason ??= error;
  });
  await client.connect().catch(() => undefined);
  client.disconnect();
  return reason;
}

function copyOf(client: RedisClient): OwnClient {
  if (client.options.keyPrefix) {
    throw new TypeError(
      "Cannot use an ioredis client with a keyPrefix: give the option prefix of the adapter instead",
    );
  }
  if (client instanceof Redis) return client.duplicate(settings);
  const cluster = client as Cluster;
  const redisOptions = { ...cluster.options.redisOptions, ...settings };
  return cluster.duplicate([], { ...clusterSettings, redisOptions });
}

function clusterOf(
  nodes: readonly { readonly host: string; readonly port: number }[],
  shared: RedisOptions,
): Cluster {
  const { host: _host, port: _port, path: _path, db: _db, ...redisOptions } = shared;
  return new Cluster([...nodes], {
    ...clusterSettings,
    dnsLookup: byName,
    redisOptions: { ...redisOptions, ...settings },
  });
}

function addressOf(text: string): RedisOptions {
  const address = text.startsWith("/") ? `unix://${text}` : text;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !schemes.includes(url.protocol)) {
    throw unusable("the URL must begin with redis://, rediss:// or unix://");
  }
  const isSocket = url.protocol === "unix:";
  const {
    db = isSocket ? "0" : url.pathname.slice(1) || "0",
    family,
    ...unknown
  } = Object.fromEntries(url.searchParams);
  const [name] = Object.keys(unknown);
  if (name !== undefined)
    throw unusable(`the URL has the parameter ${name}; db and family are the ones it may have`);
  if (!/^\d{1,9}$/.test(db)) {
    throw unusable("the database in the URL must be a number, as in redis://127.0.0.1:6379/1");
  }
  if (family !== undefined && !/^[046]$/.test(family))
    throw unusable("family in the URL must be 4, 6 or 0 for both");
  const options: RedisOptions = { db: Number(db) };
  if (url.username) options.username = decoded(url.username);
  if (url.password) options.password = decoded(url.password);
  if (family !== undefined) options.family = Number(family);
  if (isSocket) return { ...options, path: decoded(url.pathname) };
  if (url.protocol === "rediss:") options.tls = {};
  const host = url.hostname.replace(/^\[|\]$/g, "") || "127.0.0.1";
  return { ...options, host, port: Number(url.port || 6379) };
}

const schemes: readonly string[] = ["redis:", "rediss:", "unix:"];

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable("a percent sign in the URL must be written as %25");
  }
}

function unusable(reason: string): TypeError {
  return new TypeError(`Cannot connect to Redis: ${reason}`);
}

/** Answers of a server that has ceased to be the primary, or is not ready yet: a new connection may find another one. */
const displaced = ["READONLY", "LOADING", "MASTERDOWN"];
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
function isDisplaced(error: Error): boolean {
  return displacement.test(error.message);
}

/** Returns true if the server is a node of a Cluster and other nodes have the keys. */
function isRedirection(error: Error): boolean {
  return redirection.test(error.message);
}

/** Why a command has no answer that can be used. */
class CommandFailure extends Error {
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
class TrackedCommand extends Command {
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

function corkForThisTick(socket: Duplex): void {
  if (socket.writableCorked > 0) return;
  socket.cork();
  process.nextTick(uncork, socket);
}

function uncork(socket: Duplex): void {
  socket.uncork();
}
