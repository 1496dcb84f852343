/**
 * Commands as data: one table parses, checks, runs and documents them. A command returns its output and never writes to the
 * terminal.
 *
 * @module
 */

import type { FieldError } from "../errors/mod.ts";

/** A flag, `--name`. */
export interface FlagSpec {
  /** Form of the value. Omitted: the flag has none. */
  readonly value?: string;
  readonly description: string;
  /** The environment variable that replaces it. */
  readonly variable?: string;
  /** True if flag or variable is required. @default false */
  readonly required?: boolean;
  /** True if it may be given more than once. @default false */
  readonly repeated?: boolean;
}

/** A positional argument. */
export interface ArgumentSpec {
  readonly name: string;
  readonly description: string;
}

/** A command. */
export interface CommandSpec {
  /** Its words, such as `loyalty push`. */
  readonly words: readonly string[];
  readonly summary: string;
  readonly args: readonly ArgumentSpec[];
  readonly flags: Readonly<Record<string, FlagSpec>>;
  /** @throws {CliError} The command failed. */
  readonly run: (input: CliInput, context: CliContext) => Promise<CliResult>;
}

/** The arguments and flags of a command. */
export interface CliInput {
  readonly args: readonly string[];
  /** Values of flags, or of the variables that replace them, by name; a flag without a value is `""`. */
  readonly flags: Readonly<Record<string, string>>;
  /** Values of repeatable flags. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

/** A table. */
export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The output of a command. */
export interface CliResult {
  /** Printed with `--json`. */
  readonly data: unknown;
  /** Printed to stdout otherwise: a table or text. */
  readonly shown?: Rows | string;
  /** Printed to stderr. */
  readonly notes?: readonly string[];
  /** @default exits.ok */
  readonly exit?: Exit;
}

/** A document read from a file. */
export interface LocatedDocument {
  readonly document: unknown;
  /** Returns the position of a JSON Pointer: `<path>:<line>:<column>`. */
  readonly locate: (pointer: string) => string;
}

/** The files that commands read and write. */
export interface CliFiles {
  /** Reads JSON or YAML; null if there is no such file. */
  read(path: string): Promise<LocatedDocument | null>;
  /** Replaces the file by a document, as YAML or JSON by its name. */
  write(path: string, document: unknown): Promise<void>;
}

/** The first API key of an organisation. */
export interface KeyBootstrap {
  readonly organisationId: string;
  readonly name: string;
  /** True to create it even if the organisation has keys. */
  readonly isForced: boolean;
  /** Flags that name the store. */
  readonly store: Readonly<Record<string, string | undefined>>;
}

/** An API key with its new secret. */
export interface NewKey {
  readonly key: string;
  readonly secret: string;
  readonly permissions: readonly string[];
}

/** Progress of building the index of users. */
export interface IndexingProgress {
  /** Records examined. */
  readonly examined: number;
  /** Users newly listed. */
  readonly listed: number;
  /** Indexes of metrics completed. */
  readonly metrics: number;
}

/** A run that builds the index of users. */
export interface UserIndexing {
  /** Flags that name the store. */
  readonly store: Readonly<Record<string, string | undefined>>;
  readonly onProgress: (progress: IndexingProgress) => void;
}

/** A board to rebuild. */
export interface BoardRebuild {
  /** Flags that name the store. */
  readonly store: Readonly<Record<string, string | undefined>>;
  readonly board: {
    readonly projectId: string;
    /** Null: a board of the project. */
    readonly eventId: string | null;
    readonly leaderboardId: string;
    /** @default the running one, else the one that ended last */
    readonly season?: string;
  };
}

/** The result of a rebuild. */
export interface RebuiltBoard {
  /** Users whose entry was written. */
  readonly written: number;
  /** Entries removed. */
  readonly removed: number;
}

/** A file to decrypt. */
export interface ExportDecryption {
  readonly file: string;
  readonly out: string;
  /** True to replace an existing file. */
  readonly isForced: boolean;
}

/** The environment of a command. */
export interface CliContext {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Resolves after a time in ms. */
  readonly pause: (ms: number) => Promise<void>;
  /** A number from 0 to 1, for jitter. */
  readonly random: () => number;
  /** Returns a signal that aborts after a time in ms. */
  readonly timeLimit: (ms: number) => AbortSignal;
  readonly files: CliFiles;
  /** Unix ms. */
  readonly clock: () => number;
  /** Lists the faults of a loyalty configuration. */
  readonly loyaltyFaults: (document: unknown) => Promise<readonly FieldError[]>;
  /**
   * Creates an API key in the store.
   *
   * @throws {CliError} The store cannot be opened, or the organisation has keys.
   */
  readonly bootstrapKey: (bootstrap: KeyBootstrap) => Promise<NewKey>;
  /**
   * Adds stored users to the index of users.
   *
   * @throws {CliError} The store cannot be opened.
   */
  readonly indexUsers: (indexing: UserIndexing) => Promise<IndexingProgress>;
  /**
   * Recomputes a board from stored user histories.
   *
   * @throws {CliError} The store cannot be opened; there is no such board, or back ends write to it.
   */
  readonly rebuildBoard: (rebuild: BoardRebuild) => Promise<RebuiltBoard>;
  /** Prints the progress of a long command. */
  readonly reportProgress: (progress: string) => void;
  /**
   * Decrypts an export into a file, which appears when it is complete, and returns the number of bytes.
   *
   * @throws {CliError} The file is not an export, the password is wrong, or a file cannot be read or written.
   */
  readonly decryptExport: (decryption: ExportDecryption) => Promise<number>;
  /** The API secret. It is no flag, because command lines are visible to others. */
  readonly secret: string | undefined;
}

/** Details of a failure. */
export interface CliErrorOptions {
  /** Stable code for scripts. */
  readonly code: string;
  /** HTTP status of the answer, if any. */
  readonly status?: number;
  /** Suggested action. */
  readonly hint?: string;
  /** Faults, a line each. */
  readonly details?: readonly string[];
  readonly requestId?: string;
}

/** The failure of a command. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exit: Exit;
  readonly options: CliErrorOptions;

  constructor(exit: Exit, message: string, options: CliErrorOptions) {
    super(message);
    this.exit = exit;
    this.options = options;
  }
}

/** Exit codes of all commands. */
export const exits = {
  /** Done, or nothing to do. */
  ok: 0,
  failed: 1,
  usage: 2,
  /** Differences were found. */
  differs: 3,
  unauthenticated: 4,
  forbidden: 5,
  notFound: 6,
  /** A concurrent change. */
  conflict: 7,
  invalid: 8,
  /** Throttled, timed out or unreachable. */
  unavailable: 9,
} as const;

/** An exit code. */
export type Exit = (typeof exits)[keyof typeof exits];

/** Returns the exit code of an HTTP error status. */
export function exitOf(status: number): Exit {
  switch (status) {
    case 401:
      return exits.unauthenticated;
    case 403:
      return exits.forbidden;
    case 404:
      return exits.notFound;
    case 409:
    case 412:
    case 428:
      return exits.conflict;
    case 400:
    case 413:
    case 415:
    case 422:
      return exits.invalid;
    case 429:
    case 503:
      return exits.unavailable;
    default:
      return exits.failed;
  }
}
