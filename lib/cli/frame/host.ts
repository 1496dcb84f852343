/**
 * What the runtime passes to commands: everything outside of them, so that tests run commands without a terminal, files or a
 * store.
 */

import type { IssuedApiKey, KeyRing } from "../../auth/mod.ts";
import type { CheckRow } from "../../authoring/control/apps/read_app.ts";
import type { FieldError } from "../../base/errors/mod.ts";
import type { LocatedDocument } from "../../base/text/document.ts";
import type { ScenarioCheck } from "../../fans/loyalty/views/scenario_player.ts";
import type { Handler } from "../../http/mod.ts";
import type { DoctorVerdict } from "../../platform/doctor.ts";
import type { Platform } from "../../platform/platform.ts";
import type { UserIndexProgress } from "../../platform/users.ts";
import type { Store } from "../../storage/mod.ts";

interface Diagnosis {
  /** About the surroundings: store, mail, files, address and waiting work. */
  readonly findings: readonly {
    readonly check: string;
    readonly status: "ok" | "warning" | "failed" | "skipped";
    readonly seen: string;
    readonly advice: string | null;
  }[];
  /** About what is stored; empty where the store does not answer. */
  readonly verdicts: readonly DoctorVerdict[];
}

export interface OpenedFile {
  readonly bytes: number | null;
  /** Opens its content; every attempt of a request opens it anew. */
  readonly stream: () => ReadableStream<Uint8Array>;
}

/** The files that commands read and write. `-` is stdin, which can be read once, and stdout. */
export interface CliFiles {
  /**
   * Reads JSON or YAML; null if there is no such file.
   *
   * @throws {CliError} It is a folder, too large or no such document; every fault is named with line and column.
   */
  read(path: string): Promise<LocatedDocument | null>;
  /**
   * Reads UTF-8 text of at most `bytesMax` bytes; null if there is no such file.
   *
   * @throws {CliError} It is a folder, too large or no UTF-8.
   */
  readText(path: string, bytesMax: number): Promise<string | null>;
  /** Opens a file for sending; null if there is no such file. @throws {CliError} It is a folder. */
  open(path: string): Promise<OpenedFile | null>;
  /** Returns the names of the files in a folder, in any order; none if there is no such folder. */
  names(folder: string): Promise<readonly string[]>;
  /** Writes a document as YAML or JSON by the name of the file, as {@linkcode writeText} does. */
  write(path: string, document: unknown): Promise<void>;
  /**
   * Replaces a file in one step, readable by its owner only, with the folders above it. The bytes are on the disk when it
   * resolves.
   *
   * @throws {CliError} It cannot be written; nothing is left behind.
   */
  writeText(path: string, text: string): Promise<void>;
}

interface AskOptions {
  /** Hides what is typed. @default false */
  readonly isSecret?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface CliTerminal {
  readonly isTerminal: Readonly<Record<"stdin" | "stdout" | "stderr", boolean>>;
  readonly width: number;
  /** Prints to stdout; resolves when the reader took it or is gone. */
  print(text: string): Promise<void>;
  warn(text: string): void;
  /** Shows a line on the terminal of stderr, which the next output replaces; before a question that is open, if there is one. */
  status(line: string): void;
  /** Reads a line after a question on stderr. Null at the end of the input, or when the signal aborts. */
  ask(question: string, options?: AskOptions): Promise<string | null>;
}

export interface ConfigFile {
  readonly path: string;
  /** Its text, null if there is none; `isShared` is true if others may read it. @throws {CliError} It cannot be read. */
  read(): Promise<{ readonly text: string | null; readonly isShared: boolean }>;
  /** Replaces it, readable by its owner only. */
  write(text: string): Promise<void>;
  /** Reads a token from a file beside it, a variable or the output of a command. @throws {CliError} There is none. */
  token(source: TokenSource): Promise<string>;
  /** Keeps a token in a file beside it, readable by its owner only; null removes the file. */
  writeToken(file: string, token: string | null): Promise<void>;
}

export type TokenSource =
  | { readonly file: string }
  | { readonly env: string }
  | { readonly command: readonly string[] };

export type SeedCounts = Readonly<
  Record<"organisations" | "spaces" | "projects" | "events" | "loyalty", number>
>;

/** Values of the flags that name the store of a deployment; others are ignored. */
export type StoreFlags = Readonly<
  Partial<Record<"redis" | "postgres" | "store" | "data" | "env-file", string>>
>;

interface NewOperator {
  readonly token: string;
  readonly userId: string;
  /** Null: there are organisations already. */
  readonly organisationId: string | null;
  readonly spaceId: string | null;
  readonly issuer: string;
}

interface MadeSchema {
  readonly schema: string;
  readonly version: number;
  /** Version before; 0 where there was none. */
  readonly from: number;
}

interface MadeBackup {
  readonly bytes: number;
  readonly frames: number;
  readonly digest: string;
}

export interface CliHost {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Resolves after a time in ms, or rejects when the signal aborts. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly random: () => number;
  readonly uniqueId: () => string;
  readonly timeLimit: (ms: number) => AbortSignal;
  /** Unix ms. */
  readonly clock: () => number;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly files: CliFiles;
  readonly terminal: CliTerminal;
  readonly config: ConfigFile;
  /** Returns the signal that aborts at Ctrl-C; before the first call Ctrl-C ends the program. */
  readonly interruption: () => AbortSignal;
  /** Checks from this machine, step by step, that an app can be made of the `spec.json` at an address. */
  readonly specChecks: (url: string, userAgent?: string) => Promise<readonly CheckRow[]>;
  /** Serves a handler on a port of this machine, 0 for any free one. @throws {CliError} Another program has the port. */
  readonly serve: (
    port: number,
    handler: Handler,
  ) => Promise<{ readonly url: string; readonly stop: () => Promise<unknown> }>;
  readonly memoryStore: () => Promise<Store>;
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
  /** Adds stored users to the index of users. @throws {CliError} The store cannot be opened. */
  readonly indexUsers: (
    store: StoreFlags,
    onProgress: (progress: UserIndexProgress) => void,
  ) => Promise<UserIndexProgress>;
  /** Seals what is stored anew under the first secret, and returns the number of records. @throws {CliError} The store cannot be opened. */
  readonly sealAnew: (store: StoreFlags, onProgress: (records: number) => void) => Promise<number>;
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
  /** Creates the schema of PostgreSQL, or brings it up to date. @throws {CliError} It refuses, or the settings name none. */
  readonly migrate: (store: StoreFlags) => Promise<MadeSchema>;
  /** Runs the checks of the doctor. @throws {CliError} The settings name no durable store, or the clock of this machine is wrong. */
  readonly doctor: (store: StoreFlags, repairs: boolean) => Promise<Diagnosis>;
  /** Explains a token. @throws {CliError} The settings name no durable store. */
  readonly explainToken: (
    store: StoreFlags,
    token: string,
    projectId: string | undefined,
  ) => Promise<Diagnosis["findings"]>;
  /** Copies the journal of a data folder to a new file. @throws {CliError} The file exists, or the journal is damaged. */
  readonly backUp: (store: StoreFlags, file: string) => Promise<MadeBackup>;
  /** Puts a backup into an empty data folder. @throws {CliError} The folder is not empty, or the file is no whole backup. */
  readonly restore: (store: StoreFlags, file: string) => Promise<MadeBackup>;
  /**
   * Decrypts an export into a file, which appears when it is complete, and returns the number of bytes.
   *
   * @throws {CliError} The file is not an export, the password is wrong, or a file cannot be read or written; `out` exists and
   *   `isForced` is false.
   */
  readonly decryptExport: (file: string, out: string, isForced: boolean) => Promise<number>;
}
