/**
 * Objects on their way into records and out of them: each is printed when its text is first asked for, if ever.
 *
 * @module
 */

import type { Partition, Put, Read, ReadRecord, Stored, Version, Write } from "./contract.ts";
import { flattenString } from "./one_piece.ts";
import { isOnceMarkRead, noMarks } from "./unseen.ts";

/** Who keeps the objects of one kind of record. */
export interface Keeper {
  /** The record as it was last known, or undefined where it is not known or not to be relied on. */
  recall(partition: Partition): Stored | undefined;
  /** Learns what the store says, and whether that was known. */
  compare(partition: Partition, stored: Stored | null): void;
  /** Learns whether a decision made from what was recalled could be committed. */
  judge(partition: Partition, wasCurrent: boolean): void;
  /** Learns what a commit has put. */
  keep(partition: Partition, held: CachedValue, version: Version): void;
}

/** A query for a record that a keeper may know. */
export interface CachedRead extends ReadRecord {
  readonly keeper: Keeper;
}

/** An object and, once it was needed, its text. */
export class CachedValue {
  readonly keeper: Keeper;
  readonly value: unknown;
  readonly #print: (value: unknown) => string;
  #text: string | undefined;

  constructor(keeper: Keeper, value: unknown, print: (value: unknown) => string) {
    this.keeper = keeper;
    this.value = value;
    this.#print = print;
  }

  /** The text of the object. */
  get text(): string {
    this.#text ??= flattenString(this.#print(this.value));
    return this.#text;
  }

  /** Lets go of the text: an object that is kept for long is rarely printed twice. */
  release(): void {
    this.#text = undefined;
  }
}

/** A record whose object is at hand. */
export class CachedRecord implements Stored {
  readonly held: CachedValue;
  readonly #version: Version | (() => Version);

  constructor(held: CachedValue, version: Version | (() => Version)) {
    this.held = held;
    this.#version = version;
  }

  get value(): string {
    return this.held.text;
  }

  get version(): Version {
    return typeof this.#version === "string" ? this.#version : this.#version();
  }
}

/** A write of an object. A store gets what {@linkcode plainWrites} makes of it. */
export class CachedPut implements Put {
  readonly type = "put";
  readonly key: string;
  readonly held: CachedValue;

  constructor(key: string, held: CachedValue) {
    this.key = key;
    this.held = held;
  }

  get value(): string {
    return this.held.text;
  }
}

/** The writes as stores know them. */
export function plainWrites(writes: readonly Write[]): readonly Write[] {
  return writes.map(plainWrite);
}

function plainWrite(write: Write): Write {
  return write instanceof CachedPut ? { type: "put", key: write.key, value: write.value } : write;
}

/** Tells the keepers what a commit has put. */
export function keepWritten(partition: Partition, writes: readonly Write[], version: Version): void {
  for (const write of writes) {
    if (write instanceof CachedPut) write.held.keeper.keep(partition, write.held, version);
  }
}

/** The results of the queries from memory, or null where one of them needs the store. */
export function recall(partition: Partition, queries: readonly Read[]): readonly unknown[] | null {
  // Most decisions read something else too.
  if (queries.length === 0 || !queries.every(isRecallable)) return null;
  const known = queries.map(query => (isHeldRead(query) ? query.keeper.recall(partition) : noMarks));
  return known.includes(undefined) ? null : known;
}

/** Tells the keepers what the store answered. */
export function compareRead(
  partition: Partition,
  queries: readonly Read[],
  results: readonly unknown[],
): void {
  let index = 0;
  for (const query of queries) {
    const result = results[index++];
    if (isHeldRead(query)) query.keeper.compare(partition, result as Stored | null);
  }
}

/** Tells the keepers whether what they recalled was current. */
export function judgeRecalled(partition: Partition, queries: readonly Read[], wasCurrent: boolean): void {
  for (const query of queries) if (isHeldRead(query)) query.keeper.judge(partition, wasCurrent);
}

function isRecallable(query: Read): boolean {
  return isHeldRead(query) || isOnceMarkRead(query);
}

function isHeldRead(query: Read): query is CachedRead {
  return query.type === "record" && "keeper" in query;
}
