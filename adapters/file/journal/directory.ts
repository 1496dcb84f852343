/**
 * The files of a journal directory.
 *
 * A directory is a chain of generations: `log-<n>` holds the frames appended during generation n, `snapshot-<n>`
 * describes the state from which log n starts. The newest snapshot and the logs from its number on are the journal;
 * everything older is removed once a snapshot is complete.
 *
 * @module
 */
import { open, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const pattern = /^(log|snapshot)-(\d{10})$/;
const partialSuffix = ".partial";

/** The files that make up a journal. */
export interface Chain {
  /** The generation of the newest complete snapshot; undefined if there is none and the journal starts empty. */
  readonly snapshot: number | undefined;
  /** The generations of the logs behind it, ascending. */
  readonly logs: readonly number[];
}

export function logPath(directory: string, generation: number): string {
  return join(directory, fileName("log", generation));
}

export function snapshotPath(directory: string, generation: number): string {
  return join(directory, fileName("snapshot", generation));
}

/** Returns the file into which the snapshot of a generation is written until it is complete. */
export function partialPath(directory: string, generation: number): string {
  return snapshotPath(directory, generation) + partialSuffix;
}

/** Finds the chain of a directory. */
export async function listChain(directory: string): Promise<Chain> {
  const { logs, snapshots } = await listGenerations(directory);
  const snapshot = snapshots.at(-1);
  return { snapshot, logs: logs.filter(log => snapshot === undefined || log >= snapshot) };
}

/** Removes the files that a snapshot of this generation has made superfluous, and snapshots that were never completed. */
export async function removeSuperseded(directory: string, generation: number): Promise<void> {
  const { logs, snapshots, partials } = await listGenerations(directory);
  const stale = [
    ...logs.filter(log => log < generation).map(log => logPath(directory, log)),
    ...snapshots.filter(snapshot => snapshot < generation).map(snapshot => snapshotPath(directory, snapshot)),
    ...partials.map(partial => join(directory, partial)),
  ];
  for (const path of stale) await rm(path, { force: true });
}

/** Makes the creation, renaming and removal of files in a directory durable (`fsync` of the directory). */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function listGenerations(
  directory: string,
): Promise<{ logs: number[]; snapshots: number[]; partials: string[] }> {
  const names = (await readdir(directory)).sort();
  const numbers = (kind: string) =>
    names.flatMap(name => {
      const parts = pattern.exec(name);
      return parts !== null && parts[1] === kind ? [Number(parts[2])] : [];
    });
  const partials = names.filter(name => name.startsWith("snapshot-") && name.endsWith(partialSuffix));
  return { logs: numbers("log"), snapshots: numbers("snapshot"), partials };
}

function fileName(kind: "log" | "snapshot", generation: number): string {
  return `${kind}-${String(generation).padStart(10, "0")}`;
}
