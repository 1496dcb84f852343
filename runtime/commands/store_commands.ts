/**
 * Commands that work in the store of a deployment, without its servers.
 *
 * @module
 */

import process from "node:process";
import {
  createApiKeys,
  type IssuedApiKey,
  MasterSecret,
  permissions,
  systemClock,
  systemRandom,
} from "../../lib/auth/mod.ts";
import {
  type BoardRebuild,
  CliError,
  exitOf,
  exits,
  type IndexingProgress,
  type KeyBootstrap,
  type RebuiltBoard,
  type UserIndexing,
} from "../../lib/cli/mod.ts";
import { createDirectory } from "../../lib/directory/mod.ts";
import { AppError } from "../../lib/errors/mod.ts";
import { errorFacts, silentLogger } from "../../lib/http/mod.ts";
import { buildUserIndex, createPlatform } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { type Config, readConfig } from "../config.ts";
import { closeStorage, openStorage, type Storage } from "../services/storage.ts";

/**
 * Creates an API key with every permission.
 *
 * @throws {CliError} The settings name no durable store, the organisation is unknown, or it has keys already.
 */
export async function bootstrapKey(bootstrap: KeyBootstrap): Promise<IssuedApiKey> {
  return await inStore({
    command: "keys bootstrap",
    flags: bootstrap.store,
    needsSecret: true,
    work: ({ store }, { secret = "" }) => createFirstKey(store, { ...bootstrap, secret }),
  });
}

async function createFirstKey(
  store: Store,
  { organisationId, name, isForced, secret }: KeyBootstrap & { readonly secret: string },
): Promise<IssuedApiKey> {
  const organisation = await createDirectory({ store, clock: systemClock }).organisation(organisationId);
  if (organisation === null) {
    throw new CliError(exits.notFound, `There is no organisation ${organisationId} in the store`, {
      code: "not_found",
      hint: "Start the server once with GRANDSTAND_SEED to create it",
    });
  }
  const apiKeys = createApiKeys({
    store,
    secret: new MasterSecret(secret),
    clock: systemClock,
    random: systemRandom,
  });
  const keys = await apiKeys.list(organisationId);
  if (keys.length > 0 && !isForced) {
    throw new CliError(exits.conflict, `The organisation has ${keys.length} API keys already`, {
      code: "conflict",
      hint: "Use one of them with grandstand keys create, or --force where their secrets are lost",
    });
  }
  return await apiKeys.create({ organisationId, name, permissions });
}

/** Least time between two progress messages, in ms. */
const progressMsMin = 1_000;

/** Adds users to the index of users who are stored but not listed. @throws {CliError} The settings name no durable store. */
export async function indexUsers({ store: flags, onProgress }: UserIndexing): Promise<IndexingProgress> {
  let reportedAt = systemClock();
  return await inStore({
    command: "users index",
    flags,
    needsSecret: false,
    work: ({ store }) =>
      buildUserIndex({
        store,
        directory: createDirectory({ store, clock: systemClock }),
        clock: systemClock,
        onProgress(progress) {
          const now = systemClock();
          if (now - reportedAt < progressMsMin) return;
          reportedAt = now;
          onProgress(progress);
        },
      }),
  });
}

/**
 * Rebuilds a board from the stored histories of users.
 *
 * @throws {CliError} The settings name no durable store, there is no such board, or back ends write to it.
 */
export async function rebuildBoardInStore({ store: flags, board }: BoardRebuild): Promise<RebuiltBoard> {
  return await inStore({
    command: "leaderboards rebuild",
    flags,
    needsSecret: true,
    async work({ store }, { secret = "" }) {
      const platform = await createPlatform({ store, secret: new MasterSecret(secret) });
      try {
        return await platform.rebuildBoard(board);
      } catch (error) {
        throw asCliError(error);
      } finally {
        await platform.close();
      }
    },
  });
}

function asCliError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message } = error;
  return new CliError(exitOf(errorFacts[code].status), message, { code });
}

/** A command that works in the store. */
interface StoreWork<R> {
  /** The words of the command, for messages. */
  readonly command: string;
  /** Flags that name the store. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** True if the work signs or seals anything, which needs the secret of the servers. */
  readonly needsSecret: boolean;
  readonly work: (storage: Storage, config: Config) => Promise<R>;
}

/** Runs work in the store that settings and flags name. @throws {CliError} They are invalid or name no durable store. */
async function inStore<R>({ command, flags, needsSecret, work }: StoreWork<R>): Promise<R> {
  const result = readConfig({ environment: process.env, flags, demo: !needsSecret });
  if (!result.ok) {
    throw new CliError(exits.usage, "Cannot use the settings", {
      code: "wrong_settings",
      details: result.problems,
    });
  }
  const { config } = result;
  if (config.redis === undefined && config.data === undefined) {
    throw new CliError(
      exits.usage,
      `${command} needs --redis or --data: memory does not outlast the command`,
      {
        code: "wrong_usage",
      },
    );
  }
  const storage = await openStorage(config, silentLogger);
  try {
    return await work(storage, config);
  } finally {
    await closeStorage(storage);
  }
}
