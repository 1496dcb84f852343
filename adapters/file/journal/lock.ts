/**
 * The lock of a journal directory: a file that names the process which holds it.
 *
 * Node offers no `flock`, so a lock may outlive a process that was killed. It is taken over when its process is gone,
 * which can only be known on the host that it ran on. Process ids are used again, in containers at once and always: where
 * the system tells when a process was started (Linux), that time is part of the name.
 */
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { kill, pid } from "node:process";
import { AppError } from "../../../lib/base/errors/mod.ts";

interface Holder {
  readonly host: string;
  readonly pid: number;
  /** Start time of the process, in the unit of the system; null if it is unknown. */
  readonly started: string | null;
}

/** Held locks of this process: its own pid proves nothing about a lock file. */
const held: Set<string> = new Set();

/** The exclusive use of a directory by this process. */
export class DirectoryLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /**
   * Takes the lock of a directory, also from a process that is gone.
   *
   * @throws AppError `storage_unavailable` while another process, or another journal of this one, holds it
   */
  static async take(directory: string): Promise<DirectoryLock> {
    const path = join(directory, "lock");
    if (held.has(path)) throw inUse(directory, "this process");
    held.add(path);
    try {
      const holder = JSON.stringify({ host: hostname(), pid, started: await startOf(pid) });
      if (!(await create(path, holder))) {
        await setAside(directory, path);
        if (!(await create(path, holder))) throw inUse(directory, "another process");
      }
      return new DirectoryLock(path);
    } catch (error) {
      held.delete(path);
      throw error;
    }
  }

  async release(): Promise<void> {
    await rm(this.#path, { force: true });
    held.delete(this.#path);
  }
}

/** Creates the lock with its whole content at once: an empty one would look like that of a dead process. */
async function create(path: string, holder: string): Promise<boolean> {
  const draft = `${path}.draft-${pid}`;
  await writeFile(draft, holder);
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes a lock whose process is gone. */
async function setAside(directory: string, path: string): Promise<void> {
  const text = await readFile(path, "utf8");
  if (await isAlive(parseHolder(text))) throw inUse(directory, text);
  // Renaming first: of two processes that found the same stale lock only one gets it.
  const aside = `${path}.stale-${pid}`;
  await rename(path, aside);
  const moved = await readFile(aside, "utf8");
  if (moved !== text) {
    await rename(aside, path);
    throw inUse(directory, moved);
  }
  await rm(aside);
}

async function isAlive(holder: Holder | undefined): Promise<boolean> {
  // Only a crash of the whole system leaves a lock without its content.
  if (holder === undefined) return false;
  if (holder.host !== hostname()) return true;
  // A process that has ended keeps its id until its parent has noticed, for ever under some parents in containers.
  if (endedStates.has((await statOf(holder.pid))?.[0] ?? "")) return false;
  const started = await startOf(holder.pid);
  if (started !== null && holder.started !== null) return started === holder.started;
  return holder.pid !== pid && responds(holder.pid);
}

function responds(id: number): boolean {
  try {
    return kill(id, 0);
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

/** Returns the boot and the clock tick in which a process was started, from /proc; null if there is no such file. */
async function startOf(id: number): Promise<string | null> {
  try {
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const stat = await statOf(id);
    return stat === null ? null : `${boot}:${stat[19]}`;
  } catch {
    return null;
  }
}

/** States of a process that has ended: a zombie, or dead. */
const endedStates: ReadonlySet<string> = new Set(["Z", "X"]);

/** Returns the facts of a process from its state on, the third field of /proc; null if there is no such file. */
async function statOf(id: number): Promise<readonly string[] | null> {
  try {
    const stat = await readFile(`/proc/${id}/stat`, "utf8");
    // The second field is the command in parentheses and may contain spaces.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { host, pid: id, started } = JSON.parse(text);
    return typeof host === "string" && Number.isInteger(id) ? { host, pid: id, started } : undefined;
  } catch {
    return undefined;
  }
}

function inUse(directory: string, holder: string): AppError {
  return new AppError(
    "storage_unavailable",
    `Cannot open the journal: ${directory} is in use by ${holder}. Stop that process first, or, where it ran on a host ` +
      `that is gone, remove ${join(directory, "lock")}.`,
  );
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
