/**
 * Indexes of metrics: declared in the settings of an organisation, and built from the records of users who had the metric before.
 *
 * ```json
 * { "audience": { "indexes": ["metrics.points"] } }
 * ```
 *
 * The score feed writes a value to the index when the same change goes to boards, "as of" a revision of the user's state, so
 * that late or repeated delivery changes nothing. A value that fails stays in the user's own record, from which it is delivered
 * when that user is next loaded.
 *
 * @module
 */

import * as v from "valibot";
import type { Clock } from "../../auth/mod.ts";
import { chain } from "../../http/mod.ts";
import { Batcher, memoize } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  followRecord,
  keyName,
  readPageAfter,
  type Score,
  type Store,
  storageLimits,
  type Write,
} from "../../storage/mod.ts";
import type { Directory, Organisation, Settings } from "../directory/mod.ts";
import type { ScoreFeed, ScoreTarget, ScoreUpdate } from "../leaderboards/mod.ts";
import { readNamesBuilt } from "./name_index.ts";
import {
  indexPartition,
  projectsKey,
  userBoards,
  userIndexPartition,
  userShardPartitions,
} from "./user_index.ts";

/** Most metrics that an organisation may index. */
export const metricIndexesMax = 8;
/** Longest name of an index, in characters. */
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

/** Validates the list of indexes in settings. */
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

/** Returns the ids of the metrics that settings declare as indexed; none where the section is not valid. */
export const declaredIndexes = memoize((settings: Settings): readonly string[] => {
  const parsed = v.safeParse(SectionSchema, settings);
  return parsed.success ? namesWith(parsed.output.audience.indexes, prefix) : [];
});

/** Returns the names of the custom fields that settings declare as indexed; none where the section is not valid. */
export const declaredFields = memoize((settings: Settings): readonly string[] => {
  const parsed = v.safeParse(SectionSchema, settings);
  return parsed.success ? namesWith(parsed.output.audience.indexes, fieldPrefix) : [];
});

/** Returns the boards of all indexes that settings declare. */
export function declaredBoards(settings: Settings): readonly string[] {
  return [
    ...declaredIndexes(settings).map(userBoards.metric),
    ...declaredFields(settings).map(userBoards.field),
  ];
}

/** Returns the rest of a name after a prefix; empty without the prefix. */
function withoutPrefix(name: string, start: string): string {
  return name.startsWith(start) ? name.slice(start.length) : "";
}

function namesWith(names: readonly string[], start: string): readonly string[] {
  return names.map(name => withoutPrefix(name, start)).filter(name => name !== "");
}

/** Returns the ids of an organisation's indexed metrics; without a promise while its settings are cached. */
export function metricIndexesOf(
  directory: Pick<Directory, "organisation">,
  organisationId: string,
): readonly string[] | Promise<readonly string[]> {
  return chain(directory.organisation(organisationId), indexesOf);
}

/** One object, as the indexes of settings are kept by the object. */
const noSettings: Settings = {};

function indexesOf(organisation: Organisation | null): readonly string[] {
  return declaredIndexes(organisation?.settings ?? noSettings);
}

/** The records from which an index is built. */
export interface MetricIndexSource {
  readonly store: Store;
  readonly clock: Clock;
  /** Reads the metrics of a user that have ever changed; null where there is no record. */
  readonly metricsOf: (user: {
    readonly organisationId: string;
    readonly userId: string;
  }) => Promise<{ readonly revision: number; readonly metrics: Readonly<Record<string, number>> } | null>;
}

/** Names an index. */
export interface MetricIndex {
  readonly organisationId: string;
  readonly metricId: string;
}

/**
 * Writes every user's value to the index, then marks the index as complete. Changes meanwhile are written as always. It may
 * be interrupted and repeated. Returns the number of users that it read.
 */
export function buildMetricIndex(
  { metricsOf, ...source }: MetricIndexSource,
  { organisationId, metricId }: MetricIndex,
): Promise<number> {
  return buildIndex(source, {
    organisationId,
    key: userBoards.metric(metricId),
    mark: metricMark(metricId).built,
    scoreOf: userId => readMetric(metricsOf, { organisationId, userId, metricId }),
  });
}

type IndexedScore = { readonly score: number; readonly asOf: number };

/** Reads a user's value of a metric; null where it has never changed. */
async function readMetric(
  metricsOf: MetricIndexSource["metricsOf"],
  { organisationId, userId, metricId }: MetricIndex & { readonly userId: string },
): Promise<IndexedScore | null> {
  const found = await metricsOf({ organisationId, userId });
  const score =
    found !== null && Object.hasOwn(found.metrics, metricId) ? found.metrics[metricId] : undefined;
  return found === null || score === undefined ? null : { score, asOf: found.revision };
}

/** An index that is built from the records of users. */
export interface BuiltIndex {
  readonly organisationId: string;
  /** The board of each shard. */
  readonly key: string;
  /** The record that says that the index is complete. */
  readonly mark: string;
  /** Returns the value of a user, as of a revision of the record; null without a value. */
  readonly scoreOf: (userId: string) => Promise<IndexedScore | null>;
}

/** Builds an index from the records of all users. */
export async function buildIndex(
  { store, clock }: Pick<MetricIndexSource, "store" | "clock">,
  { organisationId, key, mark, scoreOf }: BuiltIndex,
): Promise<number> {
  let examined = 0;
  for (const partition of userShardPartitions(organisationId)) {
    for (let after: BoardEntry | null = null; ; ) {
      const query = { key: userBoards.created, direction: "asc", after, limit: concurrency } as const;
      const part = await readPageAfter(store, partition, query);
      const writes = await Promise.all(
        part.entries.map(async ({ member }): Promise<readonly Write[]> => {
          const value = await scoreOf(member);
          return value === null ? [] : [{ type: "score", op: "set", key, member, tie: clock(), ...value }];
        }),
      );
      await store.commit(partition, { writes: writes.flat() });
      examined += part.entries.length;
      after = part.entries.at(-1) ?? after;
      if (part.isEnd) break;
    }
  }
  await store.commit(indexPartition(organisationId), {
    writes: [{ type: "put", key: mark, value: String(clock()) }],
  });
  return examined;
}

/** The indexes of an organisation that searches may use. */
export interface UsableIndexes {
  /** Metrics whose index is complete. */
  readonly metrics: ReadonlySet<string>;
  /** Custom fields whose index is complete. */
  readonly fields: ReadonlySet<string>;
  /** Whether the index of registered names is complete. */
  readonly names: boolean;
  /** Projects that have users, the oldest ones; more are not searched by keys. */
  readonly projectIds: readonly string[];
}

/** Returns which indexes are complete, of these metrics and custom fields, and which projects have users: one read. */
export async function usableIndexes(
  store: Store,
  organisationId: string,
  { metrics: metricIds, fields }: { readonly metrics: readonly string[]; readonly fields: readonly string[] },
): Promise<UsableIndexes> {
  const marks = [...metricIds.map(metricMark), ...fields.map(fieldMark)].map(
    ({ built: key }) => ({ type: "record", key }) as const,
  );
  const [projects, names, ...found] = await store.read(indexPartition(organisationId), [
    { type: "board", key: projectsKey, limit: storageLimits.rangeLimitMax } as const,
    readNamesBuilt,
    ...marks,
  ]);
  return {
    metrics: new Set(metricIds.filter((_, index) => found[index] !== null)),
    fields: new Set(fields.filter((_, index) => found[metricIds.length + index] !== null)),
    names: names !== null,
    projectIds: projects.entries.map(({ member }) => member),
  };
}

/** A declared index and how it is built. */
export interface DeclaredIndex {
  /** The records that say when it was declared, and that it is complete. */
  readonly marks: { readonly declared: string; readonly built: string };
  readonly build: () => Promise<unknown>;
}

/**
 * Builds the declared indexes that are not complete; a new declaration is built by a later call. Returns how many were built.
 */
export async function buildDeclaredIndexes(
  { store, clock }: Pick<MetricIndexSource, "store" | "clock">,
  organisationId: string,
  indexes: readonly DeclaredIndex[],
): Promise<number> {
  const partition = indexPartition(organisationId);
  let count = 0;
  for (const { marks, build } of indexes) {
    const [built, declared] = await store.read(partition, [
      { type: "record", key: marks.built },
      { type: "record", key: marks.declared },
    ]);
    if (built !== null) continue;
    if (declared === null) {
      const write = { type: "put", key: marks.declared, value: String(clock()) } as const;
      await store.commit(partition, { writes: [write] });
      continue;
    }
    if (Number(declared.value) + buildDelayMs > clock()) continue;
    await build();
    count += 1;
  }
  return count;
}

export function metricMark(metricId: string): DeclaredIndex["marks"] {
  return { declared: keyName("declared", metricId), built: keyName("built", metricId) };
}

/** Returns the marks of a custom field's index. */
export function fieldMark(name: string): DeclaredIndex["marks"] {
  return { declared: keyName("declared_field", name), built: keyName("built_field", name) };
}

const batchMax = 500;
const attemptsMax = 3;

/** A score feed that also writes the index of users. */
export interface IndexedScoreFeed extends ScoreFeed {
  /** Resolves when no value waits for the index any more. */
  idle(): Promise<void>;
}

/** Dependencies of the indexes. */
interface IndexMetricsOptions extends MetricIndexSource {
  readonly directory: Pick<Directory, "organisation">;
  /** Receives everything that is not for the index. */
  readonly boards: ScoreFeed;
  /** Called with the error of values that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most values that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

const targetPrefix = "users/";

/** Creates a score feed that writes indexed metrics to the index, and everything else to the boards. */
export function indexMetrics(options: IndexMetricsOptions): IndexedScoreFeed {
  const { directory, clock, boards, waitingMax = 100_000 } = options;
  const running = new Set<Promise<void>>();
  let waiting = 0;
  const batches = new Batcher<IndexWrite, boolean>({
    batchMax,
    async run(partition, writes) {
      const isWritten = await commit(options, partition, writes);
      waiting -= writes.length;
      return writes.map(() => isWritten);
    },
  });

  /** Resolves with whether all of the values were written. */
  async function index(userId: string, updates: readonly ScoreUpdate[]): Promise<boolean> {
    if (waiting + updates.length > waitingMax) return false;
    waiting += updates.length;
    const written = updates.map(({ target, score, asOf }) => {
      const { organisationId, metricId } = parseTarget(target);
      const key = userBoards.metric(metricId);
      const partition = userIndexPartition(organisationId, userId);
      const write = { type: "score", op: "set", key, member: userId, score, tie: clock(), asOf } as const;
      return batches.add(partition, { write, organisationId, metricId });
    });
    return (await Promise.all(written)).every(isWritten => isWritten);
  }

  return {
    targets(projectId, query) {
      const indexed = metricIndexesOf(directory, query.organisationId);
      if (!(indexed instanceof Promise) && indexed.length === 0) return boards.targets(projectId, query);
      return chain(indexed, metricIds => {
        const found = boards.targets(projectId, query);
        const indexes = metricIds.map(metricId => targetOf(query.organisationId, metricId));
        return chain(found, targets => [...targets, ...indexes]);
      });
    },
    deliver(userId, updates, delivered, givenUp = () => {}) {
      if (!updates.some(isIndexed)) return boards.deliver(userId, updates, delivered, givenUp);
      const others = updates.filter(update => !isIndexed(update));
      const deliverOthers = new Promise<boolean>(resolve => {
        if (others.length === 0) resolve(true);
        else
          boards.deliver(
            userId,
            others,
            () => resolve(true),
            () => resolve(false),
          );
      });
      const indexed = index(userId, updates.filter(isIndexed));
      const done = Promise.all([indexed, deliverOthers]).then(results => {
        running.delete(done);
        if (results.every(isDelivered => isDelivered)) delivered();
        else givenUp();
      });
      running.add(done);
    },
    async idle() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

interface IndexWrite extends MetricIndex {
  readonly write: Score;
}

async function commit(
  options: IndexMetricsOptions,
  partition: string,
  batch: readonly IndexWrite[],
): Promise<boolean> {
  const { store, onGivenUp } = options;
  for (let attempt = 1; ; attempt++) {
    try {
      const commit = await store.commit(partition, { writes: batch.map(({ write }) => write) });
      if (!commit.ok) return false;
      for (const [index, written] of batch.entries()) {
        const shown = commit.results[index];
        if (typeof shown === "number" && shown !== written.write.score)
          await followUser(options, partition, written, shown);
      }
      return true;
    } catch (error) {
      if (attempt < attemptsMax) continue;
      onGivenUp(error);
      return false;
    }
  }
}

/** Gives an entry that has seen a later revision of its user the value on record. */
function followUser(
  { store, clock, metricsOf }: IndexMetricsOptions,
  partition: string,
  { write: { key, member }, organisationId, metricId }: IndexWrite,
  shown: number,
): Promise<void> {
  return followRecord<IndexedScore>({
    shown,
    read: () => readMetric(metricsOf, { organisationId, userId: member, metricId }),
    async overwrite(value) {
      const written = await store.commit(partition, {
        writes: [
          { type: "unscore", key, member },
          { type: "score", op: "set", key, member, tie: clock(), ...value },
        ],
      });
      const score = written.ok ? written.results[1] : null;
      return typeof score === "number" ? score : null;
    },
  });
}

function targetOf(organisationId: string, metricId: string): ScoreTarget {
  return { id: `${targetPrefix}${organisationId}/${metricId}`, kind: "total", metricId };
}

function isIndexed({ target }: ScoreUpdate): boolean {
  return target.startsWith(targetPrefix);
}

/** Ids of organisations have no slash. */
function parseTarget(target: string): { readonly organisationId: string; readonly metricId: string } {
  const slash = target.indexOf("/", targetPrefix.length);
  return { organisationId: target.slice(targetPrefix.length, slash), metricId: target.slice(slash + 1) };
}
