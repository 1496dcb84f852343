/**
 * Building the index of users from what is on record of them: for deployments that had users before they had the index.
 *
 * @module
 */

import type { Clock } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { createPause } from "../exports/mod.ts";
import { type User, Users } from "../identity/mod.ts";
import { listUsersOf, memberPartition, readMetrics } from "../loyalty/mod.ts";
import { type PartitionLister, type Store, tenantPartitions } from "../storage/mod.ts";
import {
  buildMetricIndex,
  listedOrganisations,
  listRecordedUsers,
  metricIndexesOf,
  type RecordedUser,
  recordedUsersMax,
} from "../users/mod.ts";

/** What building the index of users needs. */
export interface UserIndexOptions {
  readonly store: Store & PartitionLister;
  readonly directory: Pick<Directory, "organisation" | "project">;
  readonly clock: Clock;
  /** Told how far it is, every now and then. */
  readonly onProgress?: (progress: UserIndexProgress) => void;
}

/** How far building the index of users is. */
export interface UserIndexProgress {
  /** Records that were looked at; those of a user who signed up and acted are two. */
  readonly examined: number;
  /** Users who were not listed before. */
  readonly listed: number;
  /** Indexes of metrics that are whole now. */
  readonly metrics: number;
}

/**
 * Lists everybody who signed up or acted and is not listed, then builds the indexes of metrics that settings declare. Servers may
 * run meanwhile; it may be interrupted and done again, which changes nothing but what is missing.
 */
export async function buildUserIndex(options: UserIndexOptions): Promise<UserIndexProgress> {
  const { store, directory, clock, onProgress = () => {} } = options;
  let progress: UserIndexProgress = { examined: 0, listed: 0, metrics: 0 };
  function note(change: Partial<UserIndexProgress>): void {
    progress = { ...progress, ...change };
    onProgress(progress);
  }
  const pause = createPause();
  async function list(users: AsyncIterable<RecordedUser>): Promise<void> {
    for await (const group of groupsOf(users)) {
      const listed = await listRecordedUsers({ store, partitionOf: memberPartition }, group);
      note({ examined: progress.examined + group.length, listed: progress.listed + listed });
      await pause();
    }
  }
  await list(signedUp(options));
  for await (const organisationId of listedOrganisations(store)) {
    await list(metUsers(store, organisationId));
    for (const metricId of await metricIndexesOf(directory, organisationId)) {
      const source = { store, clock, metricsOf: readMetrics.bind(null, store) };
      await buildMetricIndex(source, { organisationId, metricId });
      note({ metrics: progress.metrics + 1 });
    }
  }
  return progress;
}

/** Users of all projects. Ways to users are found under the same key, and tell nothing that the users themselves do not. */
async function* signedUp({ store, directory }: UserIndexOptions): AsyncGenerator<RecordedUser, void> {
  const users = new Users(store);
  for await (const partitions of tenantPartitions(store, { tenant: "project", record: "user" })) {
    const found = await Promise.all(
      partitions.map(async ({ tenant, kind, ids }): Promise<readonly RecordedUser[]> => {
        const [userId] = ids;
        if (tenant.project === undefined || kind !== "user" || userId === undefined) return [];
        const project = await directory.project(tenant.project);
        const user = project === null ? null : await users.findById(tenant.project, userId);
        if (project === null || user === null || user.isRetired === true) return [];
        return [recordOf(user, { projectId: tenant.project, organisationId: project.organisationId })];
      }),
    );
    yield* found.flat();
  }
}

function recordOf(
  { userId, provider, signUp, loginHistory }: User,
  { projectId, organisationId }: { readonly projectId: string; readonly organisationId: string },
): RecordedUser {
  const last = Math.max(signUp, ...loginHistory);
  return {
    ...{ organisationId, userId },
    cameAt: signUp * msPerSecond,
    lastActiveAt: last * msPerSecond,
    account: { projectId, provider },
  };
}

const msPerSecond = 1_000;

/** Users who acted, or whom back ends changed. */
async function* metUsers(store: Store, organisationId: string): AsyncGenerator<RecordedUser, void> {
  for await (const { userId, firstSeenAt: metAt } of listUsersOf(store, organisationId)) {
    yield { organisationId, userId, cameAt: metAt, lastActiveAt: metAt, account: null };
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
