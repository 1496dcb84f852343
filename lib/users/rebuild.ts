/**
 * Building the index of a metric from what is on record, for users who had it before it was declared.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import {
  type BoardEntry,
  keyName,
  type Partition,
  readPageAfter,
  type Store,
  tenantPartition,
  type Write,
} from "../storage/mod.ts";
import { userBoards, userShardPartitions } from "./places.ts";

/** Number of users whose records are read side by side. */
export const buildLanes = 200;
/**
 * How long after it was first seen a declaration is built by itself, in ms: by then every process has read the settings and
 * feeds the index.
 */
export const buildDelayMs = 5_000;

/** The value of a metric as of a revision of the user's state. */
export interface IndexedValue {
  readonly value: number;
  readonly asOf: number;
}

/** What an index is built from. */
export interface MetricIndexSource {
  readonly store: Store;
  readonly clock: Clock;
  /** A user's metrics that have ever changed; null where nothing is on record. */
  readonly metricsOf: (user: {
    readonly organisationId: string;
    readonly userId: string;
  }) => Promise<{ readonly revision: number; readonly metrics: Readonly<Record<string, number>> } | null>;
}

/** Which index. */
export interface MetricIndex {
  readonly organisationId: string;
  readonly metricId: string;
}

/**
 * Writes every user's value to the index, then notes that the index is whole. Users who change meanwhile are fed as always;
 * it may be interrupted and done again. Answers the number of users who were looked at.
 */
export async function buildMetricIndex(
  { store, clock, metricsOf }: MetricIndexSource,
  { organisationId, metricId }: MetricIndex,
): Promise<number> {
  const key = userBoards.metric(metricId);
  let examined = 0;
  for (const partition of userShardPartitions(organisationId)) {
    for (let after: BoardEntry | null = null; ; ) {
      const query = { key: userBoards.created, direction: "asc", after, limit: buildLanes } as const;
      const part = await readPageAfter(store, partition, query);
      const writes = await Promise.all(
        part.entries.map(async ({ member }): Promise<readonly Write[]> => {
          const found = await metricsOf({ organisationId, userId: member });
          const score =
            found !== null && Object.hasOwn(found.metrics, metricId) ? found.metrics[metricId] : undefined;
          if (found === null || score === undefined) return [];
          return [{ type: "score", op: "set", key, member, score, tie: clock(), asOf: found.revision }];
        }),
      );
      await store.commit(partition, { writes: writes.flat() });
      examined += part.entries.length;
      after = part.entries.at(-1) ?? after;
      if (part.isEnd) break;
    }
  }
  const { key: mark, partition } = builtMark({ organisationId, metricId });
  await store.commit(partition, { writes: [{ type: "put", key: mark, value: String(clock()) }] });
  return examined;
}

/** Which of the metrics have an index that is whole. */
export async function builtIndexes(
  store: Store,
  organisationId: string,
  metricIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (metricIds.length === 0) return new Set();
  const marks = metricIds.map(metricId => builtMark({ organisationId, metricId }));
  const found = await store.read(
    indexPartition(organisationId),
    marks.map(({ key }) => ({ type: "record", key }) as const),
  );
  return new Set(metricIds.filter((_, index) => found[index] !== null));
}

/**
 * Builds the declared indexes that are not whole yet; those that are declared since a moment ago next time. Answers how many
 * were built.
 */
export async function buildDeclaredIndexes(
  source: MetricIndexSource,
  organisationId: string,
  metricIds: readonly string[],
): Promise<number> {
  const { store, clock } = source;
  const built = await builtIndexes(store, organisationId, metricIds);
  let count = 0;
  for (const metricId of metricIds) {
    if (built.has(metricId)) continue;
    const partition = indexPartition(organisationId);
    const key = keyName("declared", metricId);
    const [seen] = await store.read(partition, [{ type: "record", key }]);
    if (seen === null) {
      await store.commit(partition, { writes: [{ type: "put", key, value: String(clock()) }] });
      continue;
    }
    if (Number(seen.value) + buildDelayMs > clock()) continue;
    await buildMetricIndex(source, { organisationId, metricId });
    count += 1;
  }
  return count;
}

function indexPartition(organisationId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "user_index");
}

function builtMark({ organisationId, metricId }: MetricIndex): {
  readonly partition: Partition;
  readonly key: string;
} {
  return { partition: indexPartition(organisationId), key: keyName("built", metricId) };
}
