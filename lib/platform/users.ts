/**
 * Keeps the index of users up to date as users sign up, act and are removed, and searches it. Only this module connects the
 * index with identity, loyalty and the audience API.
 */

import type { Clock, MasterSecret, RandomBytes } from "../auth/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import type { UserSearch } from "../fans/audience/mod.ts";
import { createFieldIndexes } from "../fans/audience/profile/field_index.ts";
import { createUserFinder, type UserFinder, type UserFinderOptions } from "../fans/audience/search/search.ts";
import { requireUnarchived } from "../fans/directory/directory.ts";
import type { Directory, Project } from "../fans/directory/mod.ts";
import { accountUserId, isSameAccount, type User, Users } from "../fans/identity/mod.ts";
import { findStoredUser, type StoredUser } from "../fans/identity/users.ts";
import type { BoardPath, Leaderboards, Rebuilt } from "../fans/leaderboards/mod.ts";
import { listUsersOf } from "../fans/loyalty/due_users.ts";
import type { Loyalty } from "../fans/loyalty/mod.ts";
import { spaceUserPartition } from "../fans/loyalty/user/state.ts";
import { readMetrics } from "../fans/loyalty/views/loyalty_reader.ts";
import {
  buildDeclaredIndexes,
  buildIndex,
  createUserIndex,
  declaredBoards,
  declaredIndexes,
  listedOrganisations,
  listRecordedUsers,
  type MetricIndex,
  MetricIndexing,
  metricIndex,
  type RecordedUser,
  readAccountNote,
  recordedUsersMax,
  signUpProjectOf,
} from "../fans/users/mod.ts";
import type { Logger } from "../http/mod.ts";
import { createPause } from "../storage/background/mod.ts";
import type { PartitionLister, Store } from "../storage/mod.ts";
import { tenantPartitions } from "../storage/names.ts";

/** The users of a platform's organisations. */
export interface PlatformUsers {
  readonly search: UserSearch;
  /**
   * Builds the index of a metric from stored records and returns the number of users examined. `platform.work()` does this for
   * metrics that settings declare. It is safe to repeat.
   */
  buildIndex(index: MetricIndex): Promise<number>;
}

interface IndexedUsersOptions {
  readonly store: Store;
  readonly secret: MasterSecret;
  readonly directory: Pick<Directory, "organisation" | "project">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Creates the users of projects, and what writes their metrics, which both update the index of users. */
export function createIndexedUsers(options: IndexedUsersOptions): {
  readonly users: Users;
  readonly userIndex: MetricIndexing;
} {
  const { store, secret, directory, logger } = options;
  const index = createUserIndex({ ...options, partitionOf: spaceUserPartition });
  return {
    userIndex: new MetricIndexing({
      ...options,
      metricsOf: readMetrics.bind(null, store),
      onGivenUp: error => logger.log("warn", "user_index_deferred", { error: String(error) }),
    }),
    users: new ListedUsers({ store, secret, directory, logger, index }),
  };
}

interface ListedUsersOptions extends Pick<IndexedUsersOptions, "store" | "secret" | "directory" | "logger"> {
  readonly index: ReturnType<typeof createUserIndex>;
}

class ListedUsers extends Users {
  readonly #options: ListedUsersOptions;

  constructor(options: ListedUsersOptions) {
    super(options.store, options.secret);
    this.#options = options;
  }

  override async create(projectId: string, user: User): Promise<User> {
    const { directory, index } = this.#options;
    const project = await directory.project(projectId);
    // A first login with another identity provider registers too.
    requireUnarchived(project);
    if (project !== null && (await this.#isFirst(project, user))) {
      const { userId, provider, username: name } = user;
      await index.add({ organisationId: project.organisationId, projectId, userId, provider, name });
    }
    return await super.create(projectId, user);
  }

  override async update(
    projectId: string,
    userId: string,
    change: (user: User) => User,
  ): Promise<User | null> {
    const { index } = this.#options;
    let isSignIn = false;
    let isOtherAccount = false;
    const user = await super.update(projectId, userId, before => {
      const after = change(before);
      isSignIn = after.loginHistory !== before.loginHistory;
      isOtherAccount = after.provider !== before.provider || after.username !== before.username;
      return after;
    });
    if (user === null) return null;
    if (user.mergedInto !== undefined) {
      await this.#note(projectId, organisationId => this.#unlist({ organisationId, projectId, userId }));
    } else if (isSignIn || isOtherAccount) {
      const { provider, username: name } = user;
      await this.#note(projectId, organisationId => {
        const account = { organisationId, projectId, userId, provider, name };
        return index.changed(account, { isSignIn, isOtherAccount });
      });
    }
    return user;
  }

  /**
   * Tests that no project of the organisation has the user, whose id follows from its account, yet.
   *
   * @throws {AppError} `conflict`: the id belongs to another user.
   */
  async #isFirst({ id, organisationId }: Project, { userId, origin }: User): Promise<boolean> {
    if (origin === undefined || accountUserId(origin.issuer, origin.subject) !== userId) return true;
    const { store } = this.#options;
    const [stored] = await store.read(spaceUserPartition({ organisationId, userId }), [readAccountNote]);
    const known = signUpProjectOf(stored);
    if (known === null || known === id) return true;
    const user = await findStoredUser(store, known, userId);
    if (user === null) return true;
    if (isSameAccount(user.origin, origin)) return false;
    throw new AppError("conflict", "Cannot sign in the user: another user of the organisation has the id");
  }

  override async noteMerge(projectId: string, from: string, into: string): Promise<string | null> {
    const target = await super.noteMerge(projectId, from, into);
    if (target === into) {
      await this.#note(projectId, organisationId =>
        this.#unlist({ organisationId, projectId, userId: from }),
      );
    }
    return target;
  }

  override async remove(projectId: string, userId: string): Promise<void> {
    const project = await this.#options.directory.project(projectId);
    if (project !== null) await this.#unlist({ organisationId: project.organisationId, projectId, userId });
    await super.remove(projectId, userId);
  }

  async #unlist(account: Parameters<ListedUsersOptions["index"]["remove"]>[0]): Promise<void> {
    const { directory, index } = this.#options;
    await index.remove(account, declaredBoards(await directory.organisation(account.organisationId)));
  }

  /** Updates the index. A failure is logged, and does not prevent a login; the next one repairs what it left out. */
  async #note(projectId: string, write: (organisationId: string) => Promise<void>): Promise<void> {
    const { directory, logger } = this.#options;
    try {
      const project = await directory.project(projectId);
      if (project !== null) await write(project.organisationId);
    } catch (error) {
      logger.log("warn", "user_index_deferred", { error: String(error) });
    }
  }
}

export interface UserDirectory extends PlatformUsers {
  readonly finder: UserFinder;
  /** Builds the indexes that settings declare, where they are incomplete. */
  work(): Promise<void>;
}

export function userDirectory(options: UserFinderOptions & { readonly random: RandomBytes }): UserDirectory {
  const { store, directory } = options;
  const fieldIndexes = createFieldIndexes(options);
  const finder = createUserFinder(options);
  const metricsOf = readMetrics.bind(null, store);
  return {
    finder,
    search: finder,
    buildIndex: index => buildIndex(options, metricIndex(metricsOf, index)),
    async work() {
      for await (const organisationId of listedOrganisations(store)) {
        const { metrics, fields } = declaredIndexes(await directory.organisation(organisationId));
        if (fields.length > 0) await fieldIndexes.repair(organisationId, fields);
        await buildDeclaredIndexes(options, organisationId, [
          ...metrics.map(metricId => metricIndex(metricsOf, { organisationId, metricId })),
          ...fields.map(name => fieldIndexes.declared(organisationId, name)),
        ]);
      }
    },
  };
}

/** Recomputes a board from the stored histories of `users`, by default of all users of the organisation. */
export async function rebuildFromLoyalty(
  services: {
    readonly directory: Directory;
    readonly leaderboards: Leaderboards;
    readonly loyalty: Loyalty;
  },
  path: BoardPath & { readonly season?: string },
  users?: AsyncIterable<string>,
): Promise<Rebuilt> {
  const { directory, leaderboards, loyalty } = services;
  const project = await directory.project(path.projectId);
  return await leaderboards.rebuild(path, {
    users: users ?? usersOf(loyalty, project),
    async earningsOf(userId, sum) {
      if (project === null) return null;
      const { id: projectId, organisationId, spaceId } = project;
      return await loyalty.recount({ projectId, organisationId, spaceId, userId }, sum);
    },
  });
}

async function* usersOf(
  loyalty: Pick<Loyalty, "users">,
  project: Project | null,
): AsyncGenerator<string, void> {
  if (project === null) return;
  for await (const { spaceId, userId } of loyalty.users(project.organisationId)) {
    if (spaceId === project.spaceId) yield userId;
  }
}

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
    for (const metricId of declaredIndexes(await directory.organisation(organisationId)).metrics) {
      const index = metricIndex(readMetrics.bind(null, store), { organisationId, metricId });
      await buildIndex({ store, clock }, index);
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
    organisationId,
    userId,
    cameAt: signUp * msPerSecond,
    lastActiveAt: last * msPerSecond,
    account: { projectId, provider, name },
  };
}

const msPerSecond = 1_000;

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
