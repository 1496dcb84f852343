import { Client, DatabaseError, type QueryArrayConfig } from "pg";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { Rows } from "./arrays.ts";
import {
  answerMsMax,
  attemptsMax,
  checkOptions,
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
  /** Longest time for an answer, in ms. @default answerMsMax */
  readonly answerMs?: number;
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

/**
 * One connection, which is opened when it is needed and opened again when it was lost. Its calls run one after the other, are
 * bounded in time, and change something at most once.
 */
export class Session implements AsyncDisposable {
  readonly #database: Database;
  #client: Client | undefined;
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

  /** Lets the calls under way finish, and closes the connection. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #call(statement: Statement, values: readonly unknown[], options: CallOptions): Promise<Rows> {
    const { isRead = false, answerMs = answerMsMax } = options;
    for (let attempt = 1; ; attempt++) {
      const client = this.#client ?? (await this.#connect(answerMs));
      try {
        return await this.#send(client, statement, values, answerMs);
      } catch (error) {
        const failure = new CallFailure(error, isRead);
        if (failure.isLost || failure.isDisplaced) this.#drop(client);
        if (failure.isUnprepared) this.#database.hasNames = false;
        if (attempt >= attemptsMax || !(failure.mayRepeat || (isRead && failure.isLost && attempt === 1))) {
          throw failure.appError;
        }
      }
    }
  }

  async #send(client: Client, statement: Statement, values: readonly unknown[], ms: number): Promise<Rows> {
    // What is not answered in time is answered never: the reply could be taken for that of another call.
    const timer = setTimeout(() => this.#drop(client), ms);
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

  async #connect(answerMs: number): Promise<Client> {
    if (this.#isClosed) throw unavailable("it is closed");
    const client = clientOf(this.#database, Math.min(answerMs, connectMsMax));
    // Without a listener an error event would end the process; calls report it as the cause of their failure.
    client.on("error", () => this.#drop(client));
    client.on("end", () => this.#drop(client));
    const timer = setTimeout(() => this.#drop(client), answerMsMax);
    try {
      await prepare(client, this.#database);
    } catch (error) {
      this.#drop(client);
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#client = client;
    return client;
  }

  #drop(client: Client): void {
    if (this.#client === client) this.#client = undefined;
    // A call that is under way fails at once.
    client.end().catch(() => undefined);
  }
}

export function clientOf({ url }: Database, connectMs: number = connectMsMax): Client {
  return new Client({
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    application_name: "grandstand",
    types: { getTypeParser: () => asItIs },
  });
}

/** Connects, and creates the schema where it is missing. @throws {AppError} `storage_unavailable`. */
export async function prepare(client: Client, { schema }: Database): Promise<MadeSchema> {
  try {
    await client.connect();
    await client.query(sessionSettings);
    return await requireSchema(client, schema);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw unavailable(`the server cannot be reached (${reason})`, error);
  }
}

/** Returns the time of the server, Unix ms. @throws {AppError} `storage_unavailable`: it does not answer soon, or takes no writes. */
export async function readTime(session: Session): Promise<number> {
  const [[time = null, readOnly = null] = []] = await session.call(timeStatement, [], timeOptions);
  if (readOnly !== "off") throw unavailable("the server takes no writes");
  return Number(time);
}

const timeStatement: Statement = {
  name: "time",
  text: "select extract(epoch from clock_timestamp()) * 1000, current_setting('transaction_read_only')",
};
const timeOptions: CallOptions = { isRead: true, answerMs: 1_000 };

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

  constructor(cause: unknown, isRead: boolean) {
    const answer = cause instanceof DatabaseError ? cause : undefined;
    const code = answer?.code ?? "";
    // An error rolls the statement back. After one that ends the connection, the statement may have been committed before.
    this.isLost = answer === undefined || answer.severity === "FATAL" || answer.severity === "PANIC";
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
