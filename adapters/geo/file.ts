/// <reference lib="esnext.disposable" preserve="true" />
import { readFile, stat } from "node:fs/promises";
import { clearInterval, setInterval } from "node:timers";
import type { CountryResult, GeoReader } from "../../lib/fans/location/location.ts";
import { type GeoDatabase, loadGeoDatabase } from "./database.ts";
import { databaseBytesMax, UnusableDatabaseError } from "./format_checks.ts";

/** Options of watching a file. */
export interface GeoFileOptions {
  /** Interval of the checks for changes of the file, in ms. @default 10,000 */
  readonly pollMs?: number;
  /** Calls a function at an interval in ms; returns the function that stops it. @default an unreferenced interval */
  readonly every?: (ms: number, look: () => void) => () => void;
  /** Called when a new version is in use. */
  readonly onReload?: (database: GeoDatabase) => void;
  /** Called with the reason why a new version is not used; the previous one stays in use. */
  readonly onRefuse?: (error: unknown) => void;
}

/** A country database in a file; a new version of the file is used as soon as it is found. */
export interface GeoFile extends GeoReader, AsyncDisposable {
  /** The version in use. */
  readonly database: GeoDatabase;
  /** Checks the file now. Never rejects. */
  refresh(): Promise<void>;
}

/**
 * Opens a MaxMind DB file and watches it. Replace the file by renaming a complete one onto it: while a new version is
 * written, and if it cannot be used, the previous one stays in use. Needs the package `mmdb-lib`.
 *
 * @throws {UnusableDatabaseError} The file cannot be used.
 * @throws {Error} The package `mmdb-lib` is not installed.
 *
 * @example
 * ```ts
 * const geo = await openGeoFile("/var/lib/geo/GeoLite2-Country.mmdb");
 * const platform = await createPlatform({ store, secret, geo });
 * ```
 */
export async function openGeoFile(path: string, options: GeoFileOptions = {}): Promise<GeoFile> {
  const watched = new WatchedFile(path, await open(path), options);
  watched.watch();
  return watched;
}

interface Current {
  readonly version: string;
  readonly database: GeoDatabase;
}

class WatchedFile implements GeoFile {
  readonly #path: string;
  readonly #options: GeoFileOptions;
  /** The version that was checked last, in use or not. */
  #checked: string;
  #database: GeoDatabase;
  #refreshing: Promise<void> | null = null;
  #unwatch: () => void = () => {};

  constructor(path: string, { version, database }: Current, options: GeoFileOptions) {
    this.#path = path;
    this.#checked = version;
    this.#database = database;
    this.#options = options;
  }

  get database(): GeoDatabase {
    return this.#database;
  }

  lookup(address: string): CountryResult | null {
    return this.#database.lookup(address);
  }

  watch(): void {
    const { pollMs = 10_000, every = interval } = this.#options;
    this.#unwatch = every(pollMs, () => void this.refresh());
  }

  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#refreshing;
  }

  async #refresh(): Promise<void> {
    let version = "";
    try {
      version = await versionOf(this.#path);
      if (version === this.#checked) return;
      this.#database = await read(this.#path, version);
      this.#checked = version;
      this.#options.onReload?.(this.#database);
    } catch (error) {
      if (error instanceof ChangedWhileReadError || version === this.#checked) return;
      this.#checked = version;
      this.#options.onRefuse?.(unusable(this.#path, error));
    }
  }
}

/** The file changes while it is read; the next check finds it complete. */
class ChangedWhileReadError extends UnusableDatabaseError {}

async function open(path: string): Promise<Current> {
  try {
    const version = await versionOf(path);
    return { version, database: await read(path, version) };
  } catch (error) {
    throw unusable(path, error);
  }
}

async function read(path: string, version: string): Promise<GeoDatabase> {
  const bytes = await readFile(path);
  if ((await versionOf(path)) !== version) throw new ChangedWhileReadError("it changes while it is read");
  return await loadGeoDatabase(bytes);
}

async function versionOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true });
  if (!found.isFile()) throw new UnusableDatabaseError("it is not a file");
  if (found.size > databaseBytesMax)
    throw new UnusableDatabaseError(`it is larger than ${databaseBytesMax} bytes`);
  return `${found.ino} ${found.size} ${found.mtimeNs}`;
}

function unusable(path: string, cause: unknown): UnusableDatabaseError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new UnusableDatabaseError(`Cannot use ${path} as a country database: ${reason}`, { cause });
}

function interval(ms: number, look: () => void): () => void {
  const timer = setInterval(look, ms);
  timer.unref();
  return () => clearInterval(timer);
}
