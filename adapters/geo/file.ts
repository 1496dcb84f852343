import { readFile, stat } from "node:fs/promises";
import { clearInterval, setInterval } from "node:timers";
import type { CountryResult, GeoReader } from "../../lib/location/geo_reader.ts";
import { databaseBytesMax } from "./check_database.ts";
import { type GeoDatabase, loadGeoDatabase } from "./database.ts";
import { UnusableDatabaseError } from "./unusable_database.ts";

/** How often the file is looked at where nothing else is said, in ms. */
export const pollMsDefault = 10_000;

/** How a file is opened and watched. */
export interface GeoFileOptions {
  /** How often the file is looked at, in ms. @default {@linkcode pollMsDefault} */
  readonly pollMs?: number;
  /** Calls a function every so many ms until what it answers is called. @default an interval that keeps no process alive */
  readonly every?: (ms: number, look: () => void) => () => void;
  /** Told of every new version that is in use from now on. */
  readonly onReload?: (database: GeoDatabase) => void;
  /** Told why a new version is not used; the one before stays. */
  readonly onRefuse?: (error: unknown) => void;
}

/** A country database in a file; a new version of the file is used as soon as it is seen. */
export interface GeoFile extends GeoReader, AsyncDisposable {
  /** The version in use. */
  readonly database: GeoDatabase;
  /** Looks at the file now. Never rejects. */
  refresh(): Promise<void>;
}

/**
 * Opens a MaxMind DB file and watches it. Replace the file by renaming a complete one onto it: while it is being
 * written, and where the new version cannot be used, the version before keeps answering.
 *
 * @throws {UnusableDatabaseError} The file cannot be used.
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
  /** The version that was last judged, in use or not. */
  #judged: string;
  #database: GeoDatabase;
  #refreshing: Promise<void> | null = null;
  #unwatch: () => void = () => {};

  constructor(path: string, { version, database }: Current, options: GeoFileOptions) {
    this.#path = path;
    this.#judged = version;
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
    const { pollMs = pollMsDefault, every = interval } = this.#options;
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
      if (version === this.#judged) return;
      this.#database = await read(this.#path, version);
      this.#judged = version;
      this.#options.onReload?.(this.#database);
    } catch (error) {
      if (error instanceof ChangedWhileReadError || version === this.#judged) return;
      this.#judged = version;
      this.#options.onRefuse?.(unusable(this.#path, error));
    }
  }
}

/** The next look at the file finds it complete. */
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

/** What changes with every version of the file. Nothing is read before this has looked at its kind and size. */
async function versionOf(path: string): Promise<string> {
  const found = await stat(path, { bigint: true });
  if (!found.isFile()) throw new UnusableDatabaseError("it is no file");
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
