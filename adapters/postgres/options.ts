import { AppError } from "../../lib/base/errors/mod.ts";

/** What the users of the adapter give, and its bounds in addition to those of the storage contract. */

/** Server and schema of an adapter. */
export interface PostgresAdapterOptions {
  /** URL of the server and the database: `postgres://user:password@host:5432/database?sslmode=verify-full`. */
  readonly server: string;
  /** Schema of the tables, which nothing else may use. @default "grandstand" */
  readonly schema?: string;
  /** The current time, Unix ms. @default the time of the server */
  readonly clock?: () => number;
}

/** What a migration did. */
export interface MadeSchema {
  readonly schema: string;
  readonly version: number;
  /** Version before; 0 where there was none. */
  readonly from: number;
}

export const defaultSchema = "grandstand";

/** Oldest version of PostgreSQL that is supported. */
export const versionMin = 14;
/** Longest time that the server works on a statement, in ms: then it is cancelled and had no effect. */
export const statementMsMax = 4_000;
/** Longest time in which a call is answered or fails, connecting and sending it again included, in ms. */
export const answerMsMax = 5_000;
/** Longest time for a connection to open, in ms: a busy server takes its time to start a process for it. */
export const connectMsMax = 3_000;
/** Longest time for which the end of a connection waits for the server, in ms. */
export const closeMsMax = 1_000;
/** Most calls of one store that may wait for an answer at a time. */
export const pendingCallsMax = 20_000;
/** Attempts of a call that PostgreSQL breaks off as it conflicts with another. */
export const attemptsMax = 5;
/** Time in ms after which a client may try again when PostgreSQL cannot be used. */
export const postgresRetryMs = 1_000;
/** Most members of a board that is not counted in blocks. */
export const uncountedMembersMax = 1_024;
/** Most members of a block of a large board, which count together. */
export const blockMembersMax = 64;
/** Most blocks of a large board that count together. */
export const groupBlocksMax = 128;
/** Time in ms for which an expired record stays: the clock of the process decides expiry, the sweep only collects garbage. */
export const expirySlackMs = 60_000;

/** What a server must be, for people. */
export const serverForm = "a URL such as postgres://user:password@host:5432/database";

/** @throws {TypeError} It names no server. */
export function checkServer(server: string): void {
  const isUrl = /^postgres(?:ql)?:\/\/./.test(server) && URL.canParse(server);
  if (!isUrl) throw new TypeError(`Cannot connect to PostgreSQL: the server must be ${serverForm}`);
}

/** @throws {TypeError} The options cannot be used. */
export function checkOptions({ server, schema = defaultSchema }: PostgresAdapterOptions): void {
  checkServer(server);
  // Names that need no quoting anywhere, as an operator types them.
  if (!/^[a-z][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_")) {
    throw new TypeError(
      `Cannot use the schema ${schema}: its name must be of lower-case letters, digits and underscores`,
    );
  }
}

/** Returns the error of a call that had no effect. */
export function unavailable(state: string, cause?: unknown): AppError {
  return new AppError("storage_unavailable", `Cannot use PostgreSQL: ${state}`, {
    cause,
    retryAfterMs: postgresRetryMs,
  });
}
