/**
 * The audit of attempts: records them, writes their entries in the background, and reads them back.
 *
 * The entries of a batch become one commit for each project in it and one for each user. Entries that cannot be written
 * after the last attempt are dropped and counted: a trail must never delay the operations that it records.
 */

import * as v from "valibot";
import { networkTag } from "../../../auth/client_address.ts";
import { deriveKey, keyedTag } from "../../../auth/crypto/mod.ts";
import type { Clock, MasterSecret } from "../../../auth/mod.ts";
import { AppError, type ErrorCode } from "../../../base/errors/mod.ts";
import type { Call, ClientInfo, Logger } from "../../../http/mod.ts";
import { Batcher, Cache, retry } from "../../../storage/background/mod.ts";
import {
  type Commit,
  decide,
  type Partition,
  type ReadLog,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../../storage/mod.ts";
import { userAuditKey, userPartition } from "../users.ts";

const networkBits = { ipv4: 24, ipv6: 64 } as const;
/** 72 bits. */
const userAgentTagCharacters = 12;

const waitingMax = 10_000;
const batchMax = 500;
const attemptsMax = 3;
const refusalQuietMs = 60_000;
const refusalsMax = 10_000;

interface NewEntry {
  readonly projectId: string;
  readonly entry: AuditEntry;
  readonly isProjectOnly: boolean;
}

/** Entries for one trail: a user's, or the project's if there is no user. */
interface TrailEntries {
  readonly projectId: string;
  readonly userId: string | null;
  readonly entries: AuditEntry[];
}

/** Records attempts and reads them back. */
export class Audit {
  readonly #store: Store;
  readonly #logger: Logger;
  readonly #tagKey: Uint8Array;
  readonly #batcher = new Batcher<NewEntry>({ batchMax, run: (_, batch) => this.#run(batch) });
  /** Unix ms of the last refusal of its kind. */
  readonly #refusals = new Cache<number>({ entriesMax: refusalsMax });
  #waiting = 0;
  #lost = 0;
  #log = 0;

  /** `secret` keys the tags of user agents. */
  constructor(store: Store, secret: MasterSecret, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
    this.#tagKey = deriveKey(secret, "user_agent_tag");
  }

  /**
   * Records an entry in the background, without ever failing or delaying a request. It goes to the trail of the project,
   * and to that of its user unless `isProjectOnly`. Refusals of limits are recorded once a minute.
   */
  record(
    projectId: string,
    entry: AuditEntry,
    { isProjectOnly = false }: { readonly isProjectOnly?: boolean } = {},
  ): void {
    if (this.#isRepeatedRefusal(projectId, entry)) return;
    if (this.#waiting >= waitingMax) {
      this.#lost += 1;
      return;
    }
    this.#waiting += 1;
    this.#batcher.push("", { projectId, entry, isProjectOnly });
  }

  /** Makes the tags of the client of a request. Equal user agents have equal tags in all projects. */
  tagsOf(request: Request, { address }: ClientInfo): Pick<AuditEntry, "addressTag" | "userAgentTag"> {
    const addressTag = address === undefined ? undefined : networkTag(address, networkBits);
    const userAgent = request.headers.get("user-agent");
    return {
      ...(addressTag === undefined ? {} : { addressTag }),
      ...(userAgent === null
        ? {}
        : { userAgentTag: keyedTag(this.#tagKey, [userAgent]).slice(0, userAgentTagCharacters) }),
    };
  }

  /** Reads the trail of one user. */
  ofUser(projectId: string, userId: string, page?: AuditPageOptions): Promise<AuditPage> {
    return readUserTrail(this.#store, projectId, userId, page);
  }

  /** Reads the trail of a project. */
  ofProject(projectId: string, page?: AuditPageOptions): Promise<AuditPage> {
    return readProjectTrail(this.#store, projectId, page);
  }

  /** Resolves when everything recorded so far is stored or dropped. */
  idle(): Promise<void> {
    return this.#batcher.idle();
  }

  /**
   * Tests if a refusal like this one was recorded within a minute. Otherwise attempts against a limit would push all
   * other entries off the trail, which an attacker would like.
   */
  #isRepeatedRefusal(projectId: string, { at, event, outcome, addressTag, userId }: AuditEntry): boolean {
    if (outcome !== "rate_limited" && outcome !== "too_many_attempts") return false;
    const kind = JSON.stringify([projectId, event, outcome, addressTag, userId]);
    const last = this.#refusals.get(kind);
    if (last !== undefined && at - last < refusalQuietMs) return true;
    this.#refusals.set(kind, at);
    return false;
  }

  async #run(batch: readonly NewEntry[]): Promise<void> {
    // Each batch takes the next of a project's logs, so that all are used.
    this.#log = (this.#log + 1) % auditLogs;
    const log = this.#log;
    await Promise.all(byTrail(batch).map(entries => this.#commit(entries, log)));
    this.#waiting -= batch.length;
    if (this.#lost > 0) this.#noteLost(this.#lost, "too many were waiting");
    this.#lost = 0;
  }

  async #commit({ projectId, userId, entries }: TrailEntries, log: number): Promise<void> {
    const store = this.#store;
    const commit = (): Promise<Commit | true> =>
      userId === null
        ? store.commit(auditPartition(projectId, log), { writes: entries.map(append) })
        : extendUserTrail(store, projectId, userId, entries);
    // After an unknown outcome another attempt could write the entries twice.
    const isRetryable = (error: unknown) => error instanceof AppError && error.code !== "outcome_unknown";
    await retry(commit, { attemptsMax, isRetryable }).catch(error => {
      this.#noteLost(entries.length, String(error));
    });
  }

  #noteLost(count: number, reason: string): void {
    this.#logger.log("error", "audit_entries_lost", { count, reason });
  }
}

function byTrail(batch: readonly NewEntry[]): TrailEntries[] {
  const trails = new Map<string, TrailEntries>();
  function add(projectId: string, userId: string | null, entry: AuditEntry): void {
    const name = JSON.stringify([projectId, userId]);
    const trail = trails.get(name) ?? { projectId, userId, entries: [] };
    trails.set(name, trail);
    trail.entries.push(entry);
  }
  for (const { projectId, entry, isProjectOnly } of batch) {
    add(projectId, null, entry);
    if (entry.userId !== undefined && !isProjectOnly) add(projectId, entry.userId, entry);
  }
  return [...trails.values()];
}

function append(entry: AuditEntry): Write {
  const value = JSON.stringify(entry);
  return { type: "append", key: auditLog, at: entry.at, value, maxLength: projectEntriesMax };
}

interface AuditedAttempt extends Pick<AuditEntry, "event" | "provider" | "actor"> {
  readonly projectId: string;
  readonly call: Pick<Call<unknown, unknown, unknown, unknown>, "request" | "info" | "requestId">;
  /** Records failures only, as success changes nothing and is most of the traffic. @default false */
  readonly isLookup?: boolean;
  /** Records success on the trail of the project only, not on the user's. @default false */
  readonly isProjectOnly?: boolean;
}

export async function recordAttempt<T>(
  { clock, audit }: { readonly clock: Clock; readonly audit: Audit },
  attempt: AuditedAttempt,
  act: (note: (facts: AuditFacts) => void) => Promise<T>,
): Promise<T> {
  const { projectId, event, provider, actor, call, isLookup = false, isProjectOnly = false } = attempt;
  const { request, info, requestId } = call;
  // Merged only where the attempt is recorded.
  const facts: AuditFacts[] = [];
  function record(outcome: AuditEntry["outcome"]): void {
    const by = actor === undefined ? {} : { actor };
    const tags = audit.tagsOf(request, info);
    const noted: AuditFacts = Object.assign({}, ...facts);
    const entry = { at: clock(), event, outcome, provider, ...by, ...noted, ...tags, requestId };
    audit.record(projectId, entry, { isProjectOnly: isProjectOnly && outcome === "ok" });
    info.waitUntil?.(audit.idle());
  }
  try {
    const result = await act(given => void facts.push(given));
    if (!isLookup) record("ok");
    return result;
  } catch (error) {
    record(error instanceof AppError ? error.code : "internal_error");
    throw error;
  }
}

/** Number of logs over which the trail of a project is spread, as each log is one hash slot of a cluster. */
export const auditLogs = 16;
/** Most entries of each log of a project; the oldest are dropped. */
export const projectEntriesMax = 4_096;
/** Most entries of a user's trail; the oldest are dropped. */
export const userEntriesMax = 50;
export const auditPageDefault = 50;
export const auditPageMax = 100;

const auditLog = "audit";

function auditPartition(projectId: string, log: number): Partition {
  return tenantPartition({ project: projectId }, "audit", String(log));
}

/** The subject of an attempt, as far as the operation knows it. */
export interface AuditFacts {
  readonly userId?: string;
  readonly sessionId?: string;
  readonly deviceId?: string;
  /** Why an operator did it. */
  readonly reason?: string;
}

/** One attempt. */
export interface AuditEntry extends AuditFacts {
  /** Unix ms. */
  readonly at: number;
  /** The operation, for example `login`. */
  readonly event: string;
  readonly outcome: "ok" | ErrorCode;
  readonly provider: string;
  /** The id of the API key that acted on the user. */
  readonly actor?: string;
  /** The /24 (IPv4) or /64 (IPv6) network of the client. */
  readonly addressTag?: string;
  /** A keyed hash of the user agent, which distinguishes two and reveals none. */
  readonly userAgentTag?: string;
  readonly requestId: string;
}

/** The page of a trail to read. */
export interface AuditPageOptions {
  /** @default 50 */
  readonly limit?: number;
  /** The cursor of the page before. @default the newest entries */
  readonly cursor?: string;
}

/** A page of a trail, newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The start of the next page, or null for the last one. */
  readonly cursor: string | null;
}

interface AuditCursor {
  /** Unix ms. */
  readonly at: number;
  readonly sequence: number;
  readonly log: number;
}

const cursorShape = /^([1-9]\d{0,13})-(\d{1,15})\.(\d{1,2})$/;

export const AuditCursorSchema = v.pipe(
  v.string(),
  v.description("Cursor of the page before"),
  v.regex(cursorShape, "Expected the cursor of a page"),
);

export function formatCursor({ at, sequence, log }: AuditCursor): string {
  return `${at}-${sequence}.${log}`;
}

/**
 * Parses a cursor.
 *
 * @throws {AppError} `validation_failed`: the text is no cursor.
 */
export function parseCursor(text: string): AuditCursor {
  const [, at, sequence, log] = cursorShape.exec(text) ?? [];
  if (at === undefined || sequence === undefined || log === undefined) {
    throw new AppError(
      "validation_failed",
      "Cannot read the trail from there as the cursor is not of a page",
    );
  }
  return { at: Number(at), sequence: Number(sequence), log: Number(log) };
}

async function readProjectTrail(
  store: Store,
  projectId: string,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const after = cursor === undefined ? null : parseCursor(cursor);
  const logs = Array.from({ length: auditLogs }, (_, log) => log);
  // One more than requested shows if another page follows.
  const found = await Promise.all(
    logs.map(async log => {
      const [entries] = await store.read(auditPartition(projectId, log), [
        logRead({ after, log, limit: limit + 1 }),
      ]);
      return entries.map(entry => ({ entry, log }));
    }),
  );
  const merged = found.flat().toSorted((a, b) => b.entry.at - a.entry.at || a.log - b.log);
  const page = merged.slice(0, limit);
  const last = page.at(-1);
  return {
    entries: page.map(({ entry }) => JSON.parse(entry.value) as AuditEntry),
    cursor: last === undefined || merged.length <= limit ? null : `${last.entry.id}.${last.log}`,
  };
}

/** Reads the part of a log that follows a cursor, in the order of the trail. */
function logRead(of: { after: AuditCursor | null; log: number; limit: number }): ReadLog {
  const { after, log, limit } = of;
  const read = { type: "log", key: auditLog, reverse: true, limit } as const;
  if (after === null) return read;
  const { at, sequence } = after;
  if (log === after.log) return { ...read, cursor: `${at}-${sequence}` };
  return { ...read, to: log > after.log ? at : at - 1 };
}

interface StoredTrail {
  /** Number of entries that were dropped before the first one. */
  readonly dropped: number;
  /** The oldest first. */
  readonly entries: readonly AuditEntry[];
}

const read = { type: "record", key: userAuditKey } as const;

/**
 * Adds entries, and drops the oldest beyond the bound.
 *
 * @throws {AppError} What `decide` throws.
 */
async function extendUserTrail(
  store: Store,
  projectId: string,
  userId: string,
  added: readonly AuditEntry[],
): Promise<true> {
  return await decide(store, userPartition(projectId, userId), {
    reads: [read],
    apply: ([stored]) => {
      const before = trailOf(stored);
      const all = [...before.entries, ...added];
      const excess = Math.max(0, all.length - userEntriesMax);
      const trail: StoredTrail = { dropped: before.dropped + excess, entries: all.slice(excess) };
      return {
        writes: [{ type: "put", key: userAuditKey, value: JSON.stringify(trail) }],
        answer: true,
      };
    },
  });
}

/** Most entries of one read of a log. */
const readEntriesMax = 500;

/** Yields the entries about a user on the trail of a project, which it reads as a whole. */
export async function* entriesAbout(
  store: Store,
  projectId: string,
  userId: string,
): AsyncGenerator<AuditEntry, void> {
  for (let log = 0; log < auditLogs; log++) {
    for (let after: { readonly cursor?: string } | null = {}; after !== null; ) {
      const query: ReadLog = { type: "log", key: auditLog, limit: readEntriesMax, ...after };
      const [page] = await store.read(auditPartition(projectId, log), [query]);
      for (const { value } of page) {
        const entry = JSON.parse(value) as AuditEntry;
        if (entry.userId === userId) yield entry;
      }
      const last = page.at(-1);
      after = last === undefined || page.length < readEntriesMax ? null : { cursor: last.id };
    }
  }
}

export async function readUserTrail(
  store: Store,
  projectId: string,
  userId: string,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const [stored] = await store.read(userPartition(projectId, userId), [read]);
  const { dropped, entries } = trailOf(stored);
  const end = cursor === undefined ? entries.length : Math.max(0, parseCursor(cursor).sequence - dropped);
  const start = Math.max(0, end - limit);
  const page = entries.slice(start, end);
  const [oldest] = page;
  const isLast = start === 0 || oldest === undefined;
  return {
    entries: page.toReversed(),
    cursor: isLast ? null : formatCursor({ at: oldest.at, sequence: dropped + start, log: 0 }),
  };
}

function trailOf(stored: Stored | null): StoredTrail {
  return stored === null ? { dropped: 0, entries: [] } : (JSON.parse(stored.value) as StoredTrail);
}
