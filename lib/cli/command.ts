/**
 * Commands as data: one table parses, checks, runs and documents them. A command never writes to the terminal itself; it
 * gives back what is to be shown.
 *
 * @module
 */

import type { FieldError } from "../errors/mod.ts";
import type { Exit } from "./exits.ts";

/** A flag, `--name`. */
export interface FlagSpec {
  /** What its value looks like; omitted: the flag has none. */
  readonly value?: string;
  readonly description: string;
  /** The variable of the environment that stands for it. */
  readonly variable?: string;
  /** Whether flag or variable must be given. @default false */
  readonly required?: boolean;
  /** Whether it may be given more than once. @default false */
  readonly repeated?: boolean;
}

/** A value that is given by its place. */
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
  /** @throws {CliError} The command could not do what it was asked to. */
  readonly run: (input: CommandInput, context: CliContext) => Promise<Result>;
}

/** What a command is run with. */
export interface CommandInput {
  readonly args: readonly string[];
  /** Values of flags by name, or of the variables that stand for them; a flag without a value is `""`. */
  readonly flags: Readonly<Record<string, string>>;
  /** Values of flags that may be repeated. */
  readonly lists: Readonly<Record<string, readonly string[]>>;
}

/** A table for people and scripts. */
export interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What a command gives back. */
export interface Result {
  /** What `--json` prints. */
  readonly data: unknown;
  /** What is printed to stdout otherwise: a table, or text. */
  readonly shown?: Rows | string;
  /** What people are told beside it. */
  readonly notes?: readonly string[];
  /** @default exits.ok */
  readonly exit?: Exit;
}

/** A document that was read from a file. */
export interface LocatedDocument {
  readonly document: unknown;
  /** Says where a JSON Pointer leads: `<path>:<line>:<column>`. */
  readonly locate: (pointer: string) => string;
}

/** The files that commands read and write. */
export interface CliFiles {
  /** Reads JSON or YAML; null where there is no such file. */
  read(path: string): Promise<LocatedDocument | null>;
  /** Writes a document in place of the file, as YAML where the name says so, else as JSON. */
  write(path: string, document: unknown): Promise<void>;
}

/** A first API key for a deployment, and where its store is. */
export interface KeyBootstrap {
  readonly organisationId: string;
  readonly name: string;
  /** Whether it is made although the organisation has keys. */
  readonly isForced: boolean;
  /** Values of the flags that name the store, as the server takes them. */
  readonly store: Readonly<Record<string, string | undefined>>;
}

/** An API key whose secret has just been made. */
export interface NewKey {
  readonly key: string;
  readonly secret: string;
  readonly permissions: readonly string[];
}

/** How far building the index of users is. */
export interface IndexingProgress {
  /** Records that were looked at. */
  readonly examined: number;
  /** Users who were not listed before. */
  readonly listed: number;
  /** Indexes of metrics that are whole now. */
  readonly metrics: number;
}

/** Building the index of users in the store of a deployment. */
export interface UserIndexing {
  /** Values of the flags that name the store, as the server takes them. */
  readonly store: Readonly<Record<string, string | undefined>>;
  readonly onProgress: (progress: IndexingProgress) => void;
}

/** A board to rebuild in the store of a deployment. */
export interface BoardRebuild {
  /** Values of the flags that name the store, as the server takes them. */
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

/** What rebuilding a board did. */
export interface RebuiltBoard {
  /** Users whose entry was written. */
  readonly written: number;
  /** Entries that did not belong on the board. */
  readonly removed: number;
}

/** A file to decrypt, and where its plaintext goes. */
export interface ExportDecryption {
  readonly file: string;
  readonly out: string;
  /** Whether a file that exists is replaced. */
  readonly isForced: boolean;
}

/** What commands work with. */
export interface CliContext {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Resolves after a time in ms. */
  readonly pause: (ms: number) => Promise<void>;
  /** A number from 0 to 1, to spread what many do at once. */
  readonly random: () => number;
  /** A signal that aborts after a time in ms. */
  readonly timeLimit: (ms: number) => AbortSignal;
  readonly files: CliFiles;
  /** Unix ms. */
  readonly clock: () => number;
  /** Everything that is wrong with a loyalty configuration. */
  readonly loyaltyFaults: (document: unknown) => Promise<readonly FieldError[]>;
  /**
   * Makes an API key in the store of a deployment, past its server.
   *
   * @throws {CliError} The store cannot be opened, or the key should not be made.
   */
  readonly bootstrapKey: (bootstrap: KeyBootstrap) => Promise<NewKey>;
  /**
   * Lists users who are on record and not in the index of users, past the servers of a deployment.
   *
   * @throws {CliError} The store cannot be opened.
   */
  readonly indexUsers: (indexing: UserIndexing) => Promise<IndexingProgress>;
  /**
   * Brings a board to what is recorded of its users, past the servers of a deployment.
   *
   * @throws {CliError} The store cannot be opened; there is no such board, or back ends write to it.
   */
  readonly rebuildBoard: (rebuild: BoardRebuild) => Promise<RebuiltBoard>;
  /** Tells people at the terminal how far a long command is. */
  readonly tell: (progress: string) => void;
  /**
   * Decrypts an export into a file that is there only once all of it is, and gives the number of bytes. The password comes
   * from wherever the user keeps it.
   *
   * @throws {CliError} The file is no export, or not what the password opens; or it cannot be read or written.
   */
  readonly decryptExport: (decryption: ExportDecryption) => Promise<number>;
  /** The API secret, which is no flag because command lines are visible to others; undefined where it is not set. */
  readonly secret: string | undefined;
}

/** Facts of a failure beside its message. */
export interface CliErrorOptions {
  /** Stable code for scripts. */
  readonly code: string;
  /** HTTP status where a server answered. */
  readonly status?: number;
  /** What to do about it. */
  readonly hint?: string;
  /** What is wrong in detail, a line each. */
  readonly details?: readonly string[];
  readonly requestId?: string;
}

/** Why a command could not do what it was asked to. */
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
