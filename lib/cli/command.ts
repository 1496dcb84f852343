/**
 * Commands as data: one table parses, checks, runs and documents them. A command returns its output and never writes to the
 * terminal.
 *
 * @module
 */

import type { IssuedApiKey, KeyRing } from "../auth/mod.ts";
import type { FieldError } from "../errors/mod.ts";
import type { ScenarioCheck } from "../loyalty/mod.ts";
import type { DoctorVerdict } from "../platform/doctor.ts";
import type { Platform } from "../platform/platform.ts";
import type { UserIndexProgress } from "../platform/user_index.ts";

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
  /** Returns the position of a JSON Pointer, or of its nearest existing parent: `<path>:<line>:<column>`. */
  readonly locate: (pointer: string) => string;
}

/** The files that commands read and write. */
export interface CliFiles {
  /** Reads JSON or YAML; null if there is no such file. */
  read(path: string): Promise<LocatedDocument | null>;
  /** Replaces the file by a document, as YAML or JSON by its name. */
  write(path: string, document: unknown): Promise<void>;
}

/** Numbers of the records of a seed. */
export type SeedCounts = Readonly<
  Record<"organisations" | "spaces" | "projects" | "events" | "loyalty", number>
>;

/** Values of the flags that name the store of a deployment. */
export type StoreFlags = Readonly<Record<"redis" | "data", string | undefined>>;

/** A new operator. */
export interface NewOperator {
  readonly token: string;
  readonly userId: string;
  /** Null: there are organisations already. */
  readonly organisationId: string | null;
  readonly spaceId: string | null;
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
   * Plays scenarios against a valid configuration.
   *
   * @throws {AppError} `validation_failed`, with the pointers of the errors in the scenarios.
   */
  readonly playScenarios: (configuration: unknown, scenarios: unknown) => Promise<readonly ScenarioCheck[]>;
  /**
   * Creates an API key with every permission in the store.
   *
   * @throws {CliError} The store cannot be opened, or the organisation has keys and `isForced` is false.
   */
  readonly bootstrapKey: (
    store: StoreFlags,
    organisationId: string,
    name: string,
    isForced: boolean,
  ) => Promise<IssuedApiKey>;
  /**
   * Makes a person an operator with an access token, and where there is no organisation the first one with a space.
   *
   * @throws {CliError} The store cannot be opened, or the secret is not that of its servers.
   */
  readonly bootstrapOperator: (
    store: StoreFlags,
    wanted: { readonly email: string; readonly name: string },
  ) => Promise<NewOperator>;
  /**
   * Opens the key ring of a store. `command` is named in errors.
   *
   * @throws {CliError} The store cannot be opened, or the secret is not that of its servers; and what refuses the work.
   */
  readonly inKeyRing: <R>(
    store: StoreFlags,
    command: string,
    work: (ring: KeyRing) => Promise<R>,
  ) => Promise<R>;
  /**
   * Adds stored users to the index of users.
   *
   * @throws {CliError} The store cannot be opened.
   */
  readonly indexUsers: (
    store: StoreFlags,
    onProgress: (progress: UserIndexProgress) => void,
  ) => Promise<UserIndexProgress>;
  /**
   * Creates or replaces the records of a seed file.
   *
   * @throws {CliError} The store cannot be opened, or the file is not valid; nothing is written.
   */
  readonly applySeed: (store: StoreFlags, path: string) => Promise<SeedCounts>;
  /**
   * Recomputes a board from stored user histories.
   *
   * @throws {CliError} The store cannot be opened; there is no such board, or back ends write to it.
   */
  readonly rebuildBoard: (
    store: StoreFlags,
    board: Parameters<Platform["rebuildBoard"]>[0],
  ) => ReturnType<Platform["rebuildBoard"]>;
  /**
   * Runs the checks of the doctor.
   *
   * @throws {CliError} The store cannot be opened, or the clock of this machine is wrong.
   */
  readonly doctor: (store: StoreFlags, repairs: boolean) => Promise<readonly DoctorVerdict[]>;
  /** Prints the progress of a long command. */
  readonly reportProgress: (progress: string) => void;
  /**
   * Decrypts an export into a file, which appears when it is complete, and returns the number of bytes.
   *
   * @throws {CliError} The file is not an export, the password is wrong, or a file cannot be read or written; `out` exists and
   *   `isForced` is false.
   */
  readonly decryptExport: (file: string, out: string, isForced: boolean) => Promise<number>;
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

/** Creates the error for a wrong command line. */
export function wrongUsage(message: string): CliError {
  return new CliError(exits.usage, message, { code: "wrong_usage" });
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
