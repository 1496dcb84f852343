import { Socket } from "node:net";
import { Client, DatabaseError, type QueryArrayConfig } from "pg";
import { AppError } from "../../lib/base/errors/mod.ts";
import { storageTimes } from "../../lib/storage/contract.ts";
import type { Rows } from "./arrays.ts";
import {
  answerMsMax,
  attemptsMax,
  checkOptions,
  closeMsMax,
  connectMsMax,
  defaultSchema,
  type MadeSchema,
  type PostgresAdapterOptions,
  pendingCallsMax,
  statementMsMax,
  unavailable,
} from "./options.ts";
import { requireSchema } from "./schema.ts";

/** What is read after a lock was waited for must be as it is then, which only this isolation sees. */
const sessionSettings = `set statement_timeout = ${statementMsMax}; set default_transaction_isolation = 'read committed'`;

/** Shortest time in which a call is sent again, in ms: the timer that ended it may have been early. */
const repeatMsMin = 10;

/** A statement that is prepared once per connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** True if bytes of the answer are UTF-8: then they, and all columns, arrive as texts. @default false */
  readonly isText?: boolean;
}

interface CallOptions {
  /** True if the statement changes nothing: then it is sent once more if the connection is lost. @default false */
  readonly isRead?: boolean;
  /** Time of `performance` by which the call is answered or fails. @default {@linkcode answerMsMax} after its turn */
  readonly deadline?: number;
}

export class Database {
  readonly url: string;
  readonly schema: string;
  /** False behind a pooler that knows no prepared statements. */
  hasNames = true;

  /** @throws {TypeError} The options cannot be used. */
  constructor(options: PostgresAdapterOptions) {
    checkOptions(options);
    this.url = options.server;
    this.schema = options.schema ?? defaultSchema;
  }

  /** Names a function of the schema. */
  statement(
    name: string,
    parameters: number,
    { isText = false }: { readonly isText?: boolean } = {},
  ): Statement {
    const list = Array.from({ length: parameters }, (_, index) => `$${index + 1}`);
    return { name, text: `select * from ${this.schema}.${name}(${list})`, isText };
  }
}

interface Opening {
  readonly client: OwnClient;
  opened: Promise<void>;
  /** True while the schema is made, which takes the time that it needs. */
  isMigrating: boolean;
}

/**
 * One connection, which is opened when it is needed and opened again when it was lost. Its calls run one after the other, are
 * bounded in time, and change something at most once.
 */
export class Session implements AsyncDisposable {
  readonly #database: Database;
  #client: OwnClient | undefined;
  #opening: Opening | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #isClosed = false;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @throws {AppError} `storage_unavailable`: it had no effect. `outcome_unknown`: it may have had one. `internal_error`: the server
   *   refuses the statement, which had no effect.
   */
  async call(statement: Statement, values: readonly unknown[], options: CallOptions = {}): Promise<Rows> {
    if (this.#isClosed) throw unavailable("it is closed");
    if (this.#waiting >= pendingCallsMax) throw unavailable(`${pendingCallsMax} calls already wait for it`);
    this.#waiting += 1;
    const answer = this.#last.then(() => this.#call(statement, values, options));
    this.#last = answer.catch(() => undefined);
    try {
      return await answer;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Lets the calls under way finish, as far as they do so in the time of one, and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await inTime(this.#last, performance.now() + answerMsMax);
    this.#opening?.client.cut();
    const client = this.#client;
    this.#client = undefined;
    await client?.close();
  }

  async #call(statement: Statement, values: readonly unknown[], options: CallOptions): Promise<Rows> {
    const { isRead = false } = options;
    let { deadline = performance.now() + answerMsMax } = options;
    for (let attempt = 1; ; attempt++) {
      if (this.#client === undefined) deadline = await this.#open(deadline);
      const client = this.#client;
      if (client === undefined || performance.now() >= deadline) throw late();
      try {
        return await this.#send(client, statement, values, deadline);
      } catch (error) {
        const failure = new CallFailure(error, isRead, await this.#isLost(client, error, deadline));
        if (failure.isLost || failure.isDisplaced) this.#drop(client);
        if (failure.isUnprepared) this.#database.hasNames = false;
        const mayRepeat = failure.mayRepeat || (isRead && failure.isLost && attempt === 1);
        const hasTime = deadline - performance.now() >= repeatMsMin;
        if (!mayRepeat || attempt >= attemptsMax || !hasTime) throw failure.appError;
      }
    }
  }

  async #send(
    client: OwnClient,
    statement: Statement,
    values: readonly unknown[],
    deadline: number,
  ): Promise<Rows> {
    // What is not answered in time is answered never: the reply could be taken for that of another call.
    const timer = setTimeout(() => this.#drop(client), deadline - performance.now());
    try {
      const query: QueryArrayConfig & { readonly binary?: boolean | undefined } = {
        text: statement.text,
        values: [...values],
        rowMode: "array",
        binary: statement.isText,
      };
      // Behind a pooler, another schema may have a statement of the same name on the same connection.
      if (this.#database.hasNames) query.name = `${this.#database.schema}.${statement.name}`;
      const { rows } = await client.query<(string | null)[]>(query);
      return rows;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Severities are translated: the connection is lost if nothing more can be asked. */
  async #isLost(client: OwnClient, error: unknown, deadline: number): Promise<boolean> {
    if (!(error instanceof DatabaseError)) return true;
    const asked = client.query("");
    asked.catch(() => undefined);
    return !(await inTime(asked, deadline).catch(() => false));
  }

  /**
   * Waits for the connection, which goes on opening for the next call where this one has no more time. Returns the deadline of the
   * call: a ping that finds no schema has the time of other calls.
   */
  async #open(deadline: number): Promise<number> {
    const later = Math.max(deadline, performance.now() + answerMsMax);
    this.#opening ??= this.#begin();
    const opening = this.#opening;
    if (await inTime(opening.opened, deadline)) return deadline;
    if (!opening.isMigrating) throw late();
    if (await inTime(opening.opened, later)) return later;
    throw unavailable("its schema is not made yet");
  }

  #begin(): Opening {
    if (this.#isClosed) throw unavailable("it is closed");
    const client = clientOf(this.#database);
    // Without a listener an error event would end the process; calls report it as the cause of their failure.
    client.on("error", () => this.#drop(client));
    client.on("end", () => this.#drop(client));
    const timer = setTimeout(() => this.#drop(client), answerMsMax);
    const opening: Opening = { client, isMigrating: false, opened: Promise.resolve() };
    const onMigrate = (): void => {
      clearTimeout(timer);
      opening.isMigrating = true;
    };
    opening.opened = this.#prepare(client, onMigrate).finally(() => clearTimeout(timer));
    opening.opened.catch(() => undefined);
    return opening;
  }

  async #prepare(client: OwnClient, onMigrate: () => void): Promise<void> {
    try {
      await prepare(client, this.#database, onMigrate);
      this.#client = client;
    } catch (error) {
      this.#drop(client);
      throw error;
    } finally {
      this.#opening = undefined;
    }
  }

  #drop(client: OwnClient): void {
    if (this.#client === client) this.#client = undefined;
    client.cut();
  }
}

/** Returns true once it is done, or false at the deadline. */
async function inTime(done: Promise<unknown>, deadline: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, deadline - performance.now(), false);
  });
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function late(): AppError {
  return unavailable("it does not answer in time");
}

/** A client that closes although the server does not answer. */
class OwnClient extends Client {
  readonly #socket: Socket;

  constructor({ url }: Database) {
    const socket = new Socket();
    super({
      connectionString: url,
      connectionTimeoutMillis: connectMsMax,
      keepAlive: true,
      application_name: "grandstand",
      types: { getTypeParser: () => asItIs },
      stream: () => socket,
    });
    this.#socket = socket;
  }

  /** Ends the connection, and waits until the server has seen it for at most {@linkcode closeMsMax}. */
  async close(): Promise<void> {
    await inTime(this.end(), performance.now() + closeMsMax);
    this.cut();
  }

  /** Ends the connection at once, and fails the call that is under way. */
  cut(): void {
    this.#socket.destroy();
  }
}

export function clientOf(database: Database): OwnClient {
  return new OwnClient(database);
}

/** Connects, and creates the schema where it is missing. @throws {AppError} `storage_unavailable`. */
export async function prepare(
  client: OwnClient,
  { schema }: Database,
  onMigrate?: () => void,
): Promise<MadeSchema> {
  try {
    await client.connect();
    await client.query(sessionSettings);
    return await requireSchema(client, schema, onMigrate);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw unavailable(`the server cannot be reached (${reason})`, error);
  }
}

/** Returns the time of the server, Unix ms. @throws {AppError} `storage_unavailable`: it does not answer soon, or takes no writes. */
export async function readTime(session: Session): Promise<number> {
  const deadline = performance.now() + storageTimes.pingMsMax;
  const [[time = null, readOnly = null] = []] = await session.call(timeStatement, [], {
    isRead: true,
    deadline,
  });
  if (readOnly !== "off") throw unavailable("the server takes no writes");
  return Number(time);
}

const timeStatement: Statement = {
  name: "time",
  text: "select extract(epoch from clock_timestamp()) * 1000, current_setting('transaction_read_only')",
};

/** Texts, and bytes of texts, arrive as the driver has decoded them. */
function asItIs(value: unknown): unknown {
  return typeof value === "string" ? value : String(value);
}

/** Answers after which the same call may succeed: a conflict that PostgreSQL broke off, or a lock that was not to be had. */
const conflicts = ["40001", "40P01", "55P03"];
/** The server has ceased to take writes: a new connection may find another one. */
const displaced = ["25006", "57P01", "57P02", "57P03"];
/** A prepared statement is missing, or is there already: a pooler has changed the connection behind it. */
const unprepared = ["26000", "42P05"];
/** Classes of answers about the state of the server and not about the statement. */
const states = /^(?:08|25006|40|53|55|57|58)/;

/** Why a call has no answer that can be used. */
class CallFailure {
  readonly appError: AppError;
  /** True if the connection failed, and not the statement. */
  readonly isLost: boolean;
  readonly isDisplaced: boolean;
  readonly isUnprepared: boolean;
  /** True if the statement had no effect and may be sent again. */
  readonly mayRepeat: boolean;

  constructor(cause: unknown, isRead: boolean, isLost: boolean) {
    const answer = cause instanceof DatabaseError ? cause : undefined;
    const code = answer?.code ?? "";
    // An error rolls the statement back. After one that ends the connection, the statement may have been committed before.
    this.isLost = isLost;
    this.isDisplaced = displaced.includes(code);
    this.isUnprepared = unprepared.includes(code);
    this.mayRepeat = !this.isLost && (conflicts.includes(code) || this.isUnprepared);
    const reason = answer === undefined ? "the connection was lost" : answer.message;
    if (this.isLost && !isRead) {
      const message = `Cannot tell if PostgreSQL applied the change: ${reason}`;
      this.appError = new AppError("outcome_unknown", message, { cause });
    } else if (this.isLost || states.test(code)) {
      this.appError = unavailable(reason, cause);
    } else {
      this.appError = new AppError("internal_error", `PostgreSQL refuses a statement: ${reason}`, { cause });
    }
  }
}
