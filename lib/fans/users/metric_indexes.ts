/**
 * Indexes of metrics: declared in the settings of an organisation, and built from the records of users who had the metric before.
 *
 * ```json
 * { "audience": { "indexes": ["metrics.points"] } }
 * ```
 *
 * Loyalty says when a user's state has changed. Values are written "as of" its revision, so that late or repeated delivery changes
 * nothing. A value that fails stays in the user's own record, from which it is delivered when that user is next loaded.
 *
 * @module
 */

import * as v from "valibot";
import type { Clock } from "../../auth/mod.ts";
import { chain } from "../../http/mod.ts";
import { Delivery, followRecord, memoize } from "../../storage/background/mod.ts";
import {
  type BoardEntry,
  type Partition,
  readPageAfter,
  type Score,
  type Store,
  storageLimits,
  type Write,
} from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { Directory, Organisation, Settings } from "../directory/mod.ts";
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
  readonly metricsOf: (user: UserName) => Promise<UserMetrics | null>;
}

interface UserName {
  readonly organisationId: string;
  readonly userId: string;
}

/** The metrics of a user that have ever changed, as of a revision of the user's state. */
export interface UserMetrics {
  readonly revision: number;
  readonly metrics: Readonly<Record<string, number>>;
}

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
  return found === null ? null : scoreOf(found, metricId);
}

function scoreOf({ revision, metrics }: UserMetrics, metricId: string): IndexedScore | null {
  const score = Object.hasOwn(metrics, metricId) ? metrics[metricId] : undefined;
  return score === undefined ? null : { score, asOf: revision };
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

export function fieldMark(name: string): DeclaredIndex["marks"] {
  return { declared: keyName("declared_field", name), built: keyName("built_field", name) };
}

/** Most users, and most values, that one commit writes. */
const batchMax = 500;

interface MetricIndexingOptions extends MetricIndexSource {
  readonly directory: Pick<Directory, "organisation">;
  /** Called with the error of values that are left to a later delivery. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most users who wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number;
}

interface ChangedUser extends UserName, UserMetrics {}

/** Writes the indexed metrics of users as they change. */
export class MetricIndexing {
  readonly #options: MetricIndexingOptions;
  readonly #delivery: Delivery<ChangedUser>;

  constructor(options: MetricIndexingOptions) {
    const { onGivenUp, waitingMax } = options;
    this.#options = options;
    this.#delivery = new Delivery({
      write: (partition, users) => writeMetrics(options, partition, users),
      ...{ batchMax, onGivenUp, waitingMax },
    });
  }

  /** Writes the indexed metrics of a user in the background; calls `done` when they are written, or left to a later delivery. */
  deliver(
    { organisationId, userId }: UserName,
    { revision, metrics }: UserMetrics,
    done: (isDelivered: boolean) => void,
  ): void {
    const indexed = metricIndexesOf(this.#options.directory, organisationId);
    if (indexed instanceof Promise) {
      // The batch asks again, and is tried again where that fails.
      indexed.catch(() => {});
    } else if (indexed.length === 0) {
      done(true);
      return;
    }
    const partition = userIndexPartition(organisationId, userId);
    this.#delivery.deliver([[partition, { organisationId, userId, revision, metrics }]], done);
  }

  /** Resolves when no value waits for the index any more. */
  idle(): Promise<void> {
    return this.#delivery.idle();
  }
}

/** Writes the metrics of users of one partition, and so of one organisation. */
async function writeMetrics(
  options: MetricIndexingOptions,
  partition: Partition,
  users: readonly ChangedUser[],
): Promise<void> {
  const { store, clock, directory } = options;
  const [{ organisationId }] = users as [ChangedUser];
  const metricIds = await metricIndexesOf(directory, organisationId);
  const values = users.flatMap(user =>
    metricIds.flatMap(metricId => {
      const value = scoreOf(user, metricId);
      const write = {
        type: "score",
        op: "set",
        key: userBoards.metric(metricId),
        member: user.userId,
      } as const;
      return value === null ? [] : [{ metricId, write: { ...write, tie: clock(), ...value } }];
    }),
  );
  for (let from = 0; from < values.length; from += batchMax) {
    const part = values.slice(from, from + batchMax);
    const commit = await store.commit(partition, { writes: part.map(({ write }) => write) });
    for (const [index, { metricId, write }] of part.entries()) {
      const shown = commit.ok ? commit.results[index] : null;
      if (typeof shown !== "number" || shown === write.score) continue;
      await followUser(options, partition, { write, organisationId, metricId }, shown);
    }
  }
}

interface IndexWrite extends MetricIndex {
  readonly write: Score;
}

/** Gives an entry that has seen a later revision of its user the value on record. */
function followUser(
  { store, clock, metricsOf }: MetricIndexSource,
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
