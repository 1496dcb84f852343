/**
 * Indexes of metrics: declared in the settings of an organisation, and built from the records of users who had the metric before.
 *
 * ```json
 * { "audience": { "indexes": ["metrics.points"] } }
 * ```
 *
 * Loyalty says when a user's state has changed. Values are written "as of" its revision, so that late or repeated delivery changes
 * nothing. A value that fails stays in the user's own record, from which it is delivered when that user is next loaded.
 */

import * as v from "valibot";
import type { Clock } from "../../auth/mod.ts";
import { applyWrites, Delivery, followRecord, memoize } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  type Partition,
  readPageAfter,
  type Score,
  type Store,
  storageLimits,
} from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { Directory, Organisation, Settings } from "../directory/mod.ts";
import {
  indexPartition,
  projectsKey,
  type UserName,
  unlistingWrites,
  userBoards,
  userIndexPartition,
  userShardPartitions,
} from "./user_index.ts";

export const metricIndexesMax = 8;
export const indexNameCharactersMax = 128;
/** Number of users whose records are read at the same time. */
const concurrency = 200;
/**
 * Time from the discovery of a declared index until it is built, in ms: by then every process has read the settings and writes to the
 * index.
 */
const buildDelayMs = 5_000;

const prefix = "metrics.";
const fieldPrefix = "customFields.";
const detail = "Expected metrics. and the id of a metric, or customFields. and the name of a custom field";

export const MetricIndexesSchema = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.maxLength(indexNameCharactersMax, detail),
      v.check(name => withoutPrefix(name, prefix) !== "" || withoutPrefix(name, fieldPrefix) !== "", detail),
    ),
  ),
  v.maxLength(metricIndexesMax, `Expected at most ${metricIndexesMax} indexes`),
  v.check(names => new Set(names).size === names.length, "Expected each index once"),
);

const SectionSchema = v.object({ audience: v.object({ indexes: MetricIndexesSchema }) });

function withoutPrefix(name: string, start: string): string {
  return name.startsWith(start) ? name.slice(start.length) : "";
}

interface DeclaredNames {
  readonly metrics: readonly string[];
  readonly fields: readonly string[];
}

const declaredIn = memoize((settings: Settings): DeclaredNames => {
  const parsed = v.safeParse(SectionSchema, settings);
  const names = parsed.success ? parsed.output.audience.indexes : [];
  const after = (start: string) => names.map(name => withoutPrefix(name, start)).filter(name => name !== "");
  return { metrics: after(prefix), fields: after(fieldPrefix) };
});
/** One object, as the indexes of settings are kept by the object. */
const noSettings: Settings = {};

/** Returns the indexes that an organisation declares; none where the section of its settings is not valid. */
export function declaredIndexes(organisation: Organisation | null): DeclaredNames {
  return declaredIn(organisation?.settings ?? noSettings);
}

export function declaredBoards(organisation: Organisation | null): readonly string[] {
  const { metrics, fields } = declaredIndexes(organisation);
  return [...metrics.map(userBoards.metric), ...fields.map(userBoards.field)];
}

/** The metrics of a user that have ever changed, as of a revision of the user's state. */
export interface UserMetrics {
  readonly revision: number;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Reads the metrics of a user that have ever changed; null where there is no record. */
type ReadUserMetrics = (user: UserName) => Promise<UserMetrics | null>;

export interface MetricIndex {
  readonly organisationId: string;
  readonly metricId: string;
}

type IndexedScore = Pick<Score, "score" | "asOf">;

function scoreOf({ revision, metrics }: UserMetrics, metricId: string): IndexedScore | null {
  const score = Object.hasOwn(metrics, metricId) ? metrics[metricId] : undefined;
  return score === undefined ? null : { score, asOf: revision };
}

/** An index that is built from the records of users. */
export interface DeclaredIndex {
  readonly organisationId: string;
  readonly kind: "metric" | "field";
  /** The id of the metric, or the name of the custom field. */
  readonly name: string;
  /** Returns the value of a user, as of a revision of the record; null without a value. */
  readonly scoreOf: (userId: string) => Promise<IndexedScore | null>;
}

export function metricIndex(
  metricsOf: ReadUserMetrics,
  { organisationId, metricId }: MetricIndex,
): DeclaredIndex {
  return {
    organisationId,
    kind: "metric",
    name: metricId,
    async scoreOf(userId) {
      const found = await metricsOf({ organisationId, userId });
      return found === null ? null : scoreOf(found, metricId);
    },
  };
}

/** The record that says when an index was declared, or that it is complete. */
function readMark(mark: "declared" | "built", kind: DeclaredIndex["kind"], name: string) {
  return { type: "record", key: keyName(mark, kind, name) } as const;
}

interface IndexStore {
  readonly store: Store;
  readonly clock: Clock;
}

async function putMark(
  { store, clock }: IndexStore,
  mark: "declared" | "built",
  { organisationId, kind, name }: DeclaredIndex,
): Promise<void> {
  const { key } = readMark(mark, kind, name);
  await applyWrites(store, indexPartition(organisationId), [{ type: "put", key, value: String(clock()) }]);
}

/**
 * Writes every user's value to an index, then marks the index as complete. Changes meanwhile are written as always. It may
 * be interrupted and repeated. Returns the number of users that it read.
 */
export async function buildIndex(source: IndexStore, index: DeclaredIndex): Promise<number> {
  const { store, clock } = source;
  const key = userBoards[index.kind](index.name);
  let examined = 0;
  for (const partition of userShardPartitions(index.organisationId)) {
    for (let after: BoardEntry | null = null; ; ) {
      const query = { key: userBoards.created, direction: "asc", after, limit: concurrency } as const;
      const part = await readPageAfter(store, partition, query);
      const writes = await Promise.all(
        part.entries.map(async ({ member }): Promise<readonly Score[]> => {
          const value = await index.scoreOf(member);
          return value === null ? [] : [{ type: "score", op: "set", key, member, tie: clock(), ...value }];
        }),
      );
      await applyWrites(store, partition, writes.flat());
      examined += part.entries.length;
      after = part.entries.at(-1) ?? after;
      if (part.isEnd) break;
    }
  }
  await putMark(source, "built", index);
  return examined;
}

/**
 * Builds the declared indexes of an organisation that are not complete; a new declaration is built by a later call. Returns how many
 * were built.
 */
export async function buildDeclaredIndexes(
  source: IndexStore,
  organisationId: string,
  indexes: readonly DeclaredIndex[],
): Promise<number> {
  if (indexes.length === 0) return 0;
  const { store, clock } = source;
  const reads = (["built", "declared"] as const).flatMap(mark =>
    indexes.map(({ kind, name }) => readMark(mark, kind, name)),
  );
  const marks = await store.read(indexPartition(organisationId), reads);
  let count = 0;
  for (const [nth, index] of indexes.entries()) {
    const declared = marks[indexes.length + nth];
    if (marks[nth] !== null) continue;
    if (declared == null) {
      await putMark(source, "declared", index);
    } else if (Number(declared.value) + buildDelayMs <= clock()) {
      await buildIndex(source, index);
      count += 1;
    }
  }
  return count;
}

interface UsableIndexes {
  /** The boards of complete indexes, that of names included. */
  readonly boards: ReadonlySet<string>;
  /** Projects that have users, the oldest ones; more are not searched by keys. */
  readonly projectIds: readonly string[];
}

/** Returns which of the declared indexes are complete, and which projects have users: one read. */
export async function usableIndexes(
  store: Store,
  organisationId: string,
  { metrics, fields }: DeclaredNames,
): Promise<UsableIndexes> {
  const [projects, ...marks] = await store.read(indexPartition(organisationId), [
    { type: "board", key: projectsKey, limit: storageLimits.rangeLimitMax } as const,
    ...metrics.map(name => readMark("built", "metric", name)),
    ...fields.map(name => readMark("built", "field", name)),
  ]);
  const boards = [...metrics.map(userBoards.metric), ...fields.map(userBoards.field)];
  return {
    boards: new Set([userBoards.name, ...boards.filter((_, index) => marks[index] !== null)]),
    projectIds: projects.entries.map(({ member }) => member),
  };
}

/**
 * Compares what the index shows after a write with what was written. Gives an entry that has seen a later revision of its user the value
 * on record, which `read` returns; null where it is left as it is.
 */
export async function followUser(
  store: Store,
  partition: Partition,
  { shown, written }: { readonly shown: number | string | null | undefined; readonly written: Score },
  read: () => Promise<Pick<Score, "score" | "asOf" | "tie"> | null>,
): Promise<void> {
  if (typeof shown !== "number" || shown === written.score) return;
  const { key, member } = written;
  await followRecord({
    shown,
    read,
    async overwrite(value) {
      const [, score] = await applyWrites(store, partition, [
        { type: "unscore", key, member },
        { ...written, ...value },
      ]);
      return typeof score === "number" ? score : null;
    },
  });
}

const batchMax = 500;

interface MetricIndexingOptions extends IndexStore {
  readonly metricsOf: ReadUserMetrics;
  readonly directory: Pick<Directory, "organisation">;
  /** Called with the error of values that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most users who wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

type ChangedUser = UserName & UserMetrics;

/** Writes the indexed metrics of users as they change. */
export class MetricIndexing {
  readonly #options: MetricIndexingOptions;
  readonly #delivery: Delivery<ChangedUser>;

  constructor(options: MetricIndexingOptions) {
    const { onGivenUp, waitingMax } = options;
    this.#options = options;
    this.#delivery = new Delivery({
      write: (partition, users) => writeMetrics(options, partition, users),
      batchMax,
      onGivenUp,
      waitingMax,
    });
  }

  /** Writes the indexed metrics of a user in the background; calls `done` when they are written, or left to a later delivery. */
  deliver(
    { organisationId, userId }: UserName,
    { revision, metrics }: UserMetrics,
    done: (isDelivered: boolean) => void,
  ): void {
    const organisation = this.#options.directory.organisation(organisationId);
    if (organisation instanceof Promise) {
      // The batch asks again, and is tried again where that fails.
      organisation.catch(() => {});
    } else if (declaredIndexes(organisation).metrics.length === 0) {
      done(true);
      return;
    }
    const partition = userIndexPartition(organisationId, userId);
    this.#delivery.deliver([[partition, { organisationId, userId, revision, metrics }]], done);
  }

  /** Takes a user off the index, who is listed again by whatever registers the user as due. */
  async unlist({ organisationId, userId }: UserName): Promise<void> {
    const { store, directory } = this.#options;
    const indexes = declaredBoards(await directory.organisation(organisationId));
    await applyWrites(store, userIndexPartition(organisationId, userId), unlistingWrites(userId, indexes));
  }

  /** Resolves when no value waits for the index any more. */
  idle(): Promise<void> {
    return this.#delivery.idle();
  }
}

/** Writes the metrics of users of one partition, and so of one organisation. */
async function writeMetrics(
  { store, clock, directory, metricsOf }: MetricIndexingOptions,
  partition: Partition,
  users: readonly ChangedUser[],
): Promise<void> {
  const [{ organisationId }] = users as [ChangedUser];
  const { metrics } = declaredIndexes(await directory.organisation(organisationId));
  const values = users.flatMap(user =>
    metrics.flatMap(metricId => {
      const value = scoreOf(user, metricId);
      if (value === null) return [];
      const key = userBoards.metric(metricId);
      const written: Score = { type: "score", op: "set", key, member: user.userId, tie: clock(), ...value };
      return [{ metricId, written }];
    }),
  );
  for (let from = 0; from < values.length; from += batchMax) {
    const part = values.slice(from, from + batchMax);
    const results = await applyWrites(
      store,
      partition,
      part.map(({ written }) => written),
    );
    for (const [index, { metricId, written }] of part.entries()) {
      await followUser(store, partition, { shown: results[index], written }, async () => {
        const found = await metricsOf({ organisationId, userId: written.member });
        const value = found === null ? null : scoreOf(found, metricId);
        return value === null ? null : { ...value, tie: clock() };
      });
    }
  }
}
