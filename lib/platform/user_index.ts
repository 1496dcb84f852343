/**
 * Builds the index of users from stored records, for deployments whose users are older than the index.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../fans/directory/mod.ts";
import { findStoredUser, type StoredUser } from "../fans/identity/mod.ts";
import { listUsersOf, readMetrics, spaceUserPartition } from "../fans/loyalty/mod.ts";
import {
  buildMetricIndex,
  listedOrganisations,
  listRecordedUsers,
  metricIndexesOf,
  type RecordedUser,
  recordedUsersMax,
} from "../fans/users/mod.ts";
import { createPause } from "../storage/background/mod.ts";
import { type PartitionLister, type Store, tenantPartitions } from "../storage/mod.ts";

/** Options of {@linkcode buildUserIndex}. */
export interface UserIndexOptions {
  readonly store: Store & PartitionLister;
  readonly directory: Pick<Directory, "organisation" | "project">;
  readonly clock: Clock;
  /** Receives the progress after each batch. */
  readonly onProgress?: (progress: UserIndexProgress) => void;
}

/** Progress of building the index of users. */
export interface UserIndexProgress {
  /** Records examined; a user who signed up and acted has two. */
  readonly examined: number;
  /** Users who were not listed before. */
  readonly listed: number;
  /** Indexes of metrics that are complete. */
  readonly metrics: number;
}

/**
 * Adds users who signed up or acted to the index, then builds the indexes of metrics that settings declare. Servers may run
 * meanwhile. The run can be interrupted and repeated: it adds missing entries, and corrects names.
 */
export async function buildUserIndex(options: UserIndexOptions): Promise<UserIndexProgress> {
  const { store, directory, clock, onProgress = () => {} } = options;
  let progress: UserIndexProgress = { examined: 0, listed: 0, metrics: 0 };
  function report(change: Partial<UserIndexProgress>): void {
    progress = { ...progress, ...change };
    onProgress(progress);
  }
  const pause = createPause();
  async function list(users: AsyncIterable<RecordedUser>): Promise<void> {
    for await (const group of groupsOf(users)) {
      const listed = await listRecordedUsers({ store, partitionOf: spaceUserPartition }, group);
      report({ examined: progress.examined + group.length, listed: progress.listed + listed });
      await pause();
    }
  }
  await list(registeredUsers(options));
  for await (const organisationId of listedOrganisations(store)) {
    await list(usersWithHistory(store, organisationId));
    for (const metricId of await metricIndexesOf(directory, organisationId)) {
      const source = { store, clock, metricsOf: readMetrics.bind(null, store) };
      await buildMetricIndex(source, { organisationId, metricId });
      report({ metrics: progress.metrics + 1 });
    }
  }
  return progress;
}

/** Yields the users of all projects. Lookup keys have the same record key and are skipped. */
async function* registeredUsers({
  store,
  directory,
  clock,
}: UserIndexOptions): AsyncGenerator<RecordedUser, void> {
  for await (const partitions of tenantPartitions(store, { tenant: "project", record: "user" })) {
    const found = await Promise.all(
      partitions.map(async ({ tenant, kind, ids }): Promise<readonly RecordedUser[]> => {
        const [userId] = ids;
        if (tenant.project === undefined || kind !== "user" || userId === undefined) return [];
        const readAt = clock();
        const project = await directory.project(tenant.project);
        const user = project === null ? null : await findStoredUser(store, tenant.project, userId);
        if (project === null || user === null || user.isRetired === true) return [];
        const { organisationId } = project;
        return [{ ...recordOf(user, { projectId: tenant.project, organisationId }), readAt }];
      }),
    );
    yield* found.flat();
  }
}

function recordOf(
  { userId, provider, username: name, signUp, loginHistory }: StoredUser,
  { projectId, organisationId }: { readonly projectId: string; readonly organisationId: string },
): Omit<RecordedUser, "readAt"> {
  const last = Math.max(signUp, ...loginHistory);
  return {
    ...{ organisationId, userId },
    cameAt: signUp * msPerSecond,
    lastActiveAt: last * msPerSecond,
    account: { projectId, provider, name },
  };
}

const msPerSecond = 1_000;

/** Yields the users who acted or were changed by back ends. */
async function* usersWithHistory(store: Store, organisationId: string): AsyncGenerator<RecordedUser, void> {
  for await (const { userId, firstSeenAt } of listUsersOf(store, organisationId)) {
    const times = { cameAt: firstSeenAt, lastActiveAt: firstSeenAt, readAt: firstSeenAt };
    yield { organisationId, userId, ...times, account: null };
  }
}

async function* groupsOf(users: AsyncIterable<RecordedUser>): AsyncGenerator<readonly RecordedUser[], void> {
  let group: RecordedUser[] = [];
  for await (const user of users) {
    group.push(user);
    if (group.length < recordedUsersMax) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}
