/** Commands that work in the store of a deployment, without its servers. */

import { type BackupFacts, backUpJournal, restoreJournal } from "../../adapters/file/mod.ts";
import { createApiKeys } from "../../lib/auth/api_keys/api_keys.ts";
import { systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { type ApiKeys, type KeyRing, MasterSecret, permissions } from "../../lib/auth/mod.ts";
import { requireKnownFormat } from "../../lib/auth/tokens/jwks_routes.ts";
import { checkMasterSecret, createKeyRing } from "../../lib/auth/tokens/key_ring.ts";
import { Authors } from "../../lib/authoring/control/access/authors.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { type CliContext, CliError, exitOf, exits, type StoreFlags, wrongUsage } from "../../lib/cli/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import { errorFacts } from "../../lib/http/errors/failure.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import {
  buildUserIndex,
  createPlatform,
  type Platform,
  type PlatformOptions,
  runDoctor,
  type UserIndexProgress,
} from "../../lib/mod.ts";
import { sealAnew } from "../../lib/platform/sealing.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { baseUrlOf, type Config, readConfig } from "../config.ts";
import { readSeedFiles } from "../services/seed_files.ts";
import { closeStorage, hasStore, loadPostgres, openStorage, type Storage } from "../services/storage.ts";
import { environmentWith } from "./files.ts";

/**
 * Creates an API key with every permission.
 *
 * @throws {CliError} The settings name no durable store, it is sealed under another secret, the organisation is unknown, or it
 *   has keys already.
 */
export const bootstrapKey: CliContext["bootstrapKey"] = (flags, organisationId, name, isForced) =>
  inSealedStore("keys bootstrap", flags, async sealed => {
    const apiKeys = createApiKeys(sealed);
    await requireFirstKey(sealed.store, apiKeys, organisationId, isForced);
    return await apiKeys.create({ organisationId, name, permissions });
  });

async function requireFirstKey(
  store: Store,
  apiKeys: ApiKeys,
  organisationId: string,
  isForced: boolean,
): Promise<void> {
  const organisation = await createDirectory({ store, clock: systemClock }).organisation(organisationId);
  if (organisation === null) {
    throw new CliError(exits.notFound, `There is no organisation ${organisationId} in the store`, {
      code: "not_found",
      hint: "Create it with grandstand seed apply, or start the server once with GRANDSTAND_SEED",
    });
  }
  const keys = await apiKeys.list(organisationId);
  if (keys.length > 0 && !isForced) {
    throw new CliError(exits.conflict, `The organisation has ${keys.length} API keys already`, {
      code: "conflict",
      hint: "Use one of them with grandstand keys create, or --force where their secrets are lost",
    });
  }
}

/**
 * Opens the key ring of a store.
 *
 * @throws {CliError} The settings name no durable store, it is sealed under another secret, or the work was refused.
 */
export const inKeyRing: CliContext["inKeyRing"] = (flags, command, work) =>
  inSealedStore(command, flags, ({ keyRing }) => work(keyRing));

async function openPlatform(
  { store, secret, keyRing, config }: SealedStore,
  more: Partial<PlatformOptions> = {},
): Promise<Platform> {
  const { publicUrl } = config;
  return await createPlatform({
    store,
    secret,
    signatureAlgorithm: keyRing.algorithm,
    ...(publicUrl === undefined ? {} : { publicUrl: baseUrlOf(config, publicUrl) }),
    ...more,
  });
}

const progressMsMin = 1_000;

/** Adds users to the index of users who are stored but not listed. @throws {CliError} The settings name no durable store. */
export const indexUsers: CliContext["indexUsers"] = async (flags, onProgress) => {
  let reportedAt = systemClock();
  const work: StoreWork<UserIndexProgress> = ({ store }) =>
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
    });
  return await inStore("users index", flags, work);
};

/** Seals what is stored anew. @throws {CliError} The settings name no durable store, or no secret that opens it. */
export const sealStoreAnew: CliContext["sealAnew"] = (flags, onProgress) =>
  inSealedStore("secret rotate", flags, sealed =>
    sealAnew({ ...sealed, authors: new Authors(sealed), onProgress }),
  );

/**
 * Rebuilds a board from the stored histories of users.
 *
 * @throws {CliError} The settings name no durable store, there is no such board, or back ends write to it.
 */
export const rebuildBoardInStore: CliContext["rebuildBoard"] = (flags, board) =>
  inSealedStore("leaderboards rebuild", flags, async sealed => {
    const platform = await openPlatform(sealed);
    try {
      return await platform.rebuildBoard(board);
    } finally {
      await platform.close();
    }
  });

/**
 * Creates or replaces the records of a seed file, with the checks of a start.
 *
 * @throws {CliError} The settings name no durable store, the file is not valid, or a domain is another space's.
 */
export const applySeedFile: CliContext["applySeed"] = (flags, path) =>
  inStore("seed apply", flags, async ({ store }) => {
    try {
      const files = await readSeedFiles({ seed: path });
      await files.write(store, systemClock);
      return files.counts;
    } catch (error) {
      if (!(error instanceof Error && error.cause instanceof AppError)) throw error;
      const { code } = error.cause;
      const exit = code === "validation_failed" ? exits.invalid : exitOf(errorFacts[code].status);
      throw new CliError(exit, error.message, { code });
    }
  });

/**
 * Makes a person an operator, and where there is no organisation the first one with a space, through the control API.
 *
 * @throws {CliError} The settings name no durable store, or the secret is not that of the servers.
 */
export const bootstrapOperator: CliContext["bootstrapOperator"] = (flags, { email, name }) =>
  inSealedStore("operators bootstrap", flags, async sealed => {
    const platform = await openPlatform(sealed, { control: createControl });
    async function send<D = { readonly id: string }>(
      path: string,
      body?: unknown,
    ): Promise<{ readonly data: D }> {
      const response = await platform.fetch(
        new Request(`http://localhost/api/v2/${path}`, {
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { method: "POST", body: JSON.stringify({ data: body }) }),
        }),
      );
      if (!response.ok) throw new Error(`Cannot make ${path}: ${await response.text()}`);
      return (await response.json()) as { readonly data: D };
    }
    const user = await platform.authors.findOrCreate(email, { operator: true });
    const { token } = await platform.authors.createToken({ userId: user.id, name: "Bootstrap" });
    try {
      const { issuer } = platform;
      const made = { token, userId: user.id, organisationId: null, spaceId: null, issuer };
      const { data: organisations } = await send<readonly unknown[]>("organisations?page[count]=1");
      if (organisations.length > 0) return made;
      const attributes = { name };
      const { data: organisation } = await send("organisations", { type: "organisations", attributes });
      const relationships = { organisation: { data: { type: "organisations", id: organisation.id } } };
      const { data: space } = await send("spaces", { type: "spaces", attributes, relationships });
      return { ...made, organisationId: organisation.id, spaceId: space.id };
    } finally {
      await platform.close();
    }
  });

/**
 * Examines the surroundings of a deployment, then what is stored. Where the store does not answer, its contents are not examined.
 *
 * @throws {CliError} The settings name no durable store.
 */
export const runDoctorInStore: CliContext["doctor"] = async (flags, repairs) => {
  const config = await storeConfig("doctor", flags, { needsSecret: false });
  const { examine } = await import("../doctor/mod.ts");
  const { findings, storage } = await examine(config);
  if (storage === null) return { findings, verdicts: [] };
  const secret = config.secret === undefined ? undefined : new MasterSecret(config.secret);
  try {
    await requireKnownFormat(storage.store);
    const verdicts = await runDoctor({ store: storage.store, clock: systemClock, repairs, secret });
    return { findings, verdicts };
  } catch (error) {
    throw asCliError(error);
  } finally {
    await closeStorage(storage);
  }
};

/** Explains a token with what the store has. @throws {CliError} The settings name no durable store, or a secret that does not open it. */
export const explainTokenInStore: CliContext["explainToken"] = (flags, token, projectId) =>
  inStore("doctor token", flags, async ({ store }, { secret }) => {
    if (secret !== undefined) await opened(checkMasterSecret(sealingOptions(store, secret)));
    return await (await import("../doctor/token_checks.ts")).explainToken({
      store,
      token,
      projectId,
      secret,
    });
  });

function asCliError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code, message } = error;
  return new CliError(exitOf(errorFacts[code].status), message, { code });
}

type StoreWork<R> = (storage: Storage, config: Config) => Promise<R>;

/**
 * Runs work in the store that settings and flags name. Work that signs or seals nothing needs no secret of the servers.
 *
 * @throws {CliError} The settings are invalid or name no durable store, its format is newer, or the work was refused.
 */
async function inStore<R>(
  command: string,
  flags: StoreFlags,
  work: StoreWork<R>,
  { needsSecret = false }: { readonly needsSecret?: boolean } = {},
): Promise<R> {
  const config = await storeConfig(command, flags, { needsSecret });
  const storage = await openStorage(config, silentLogger);
  try {
    await requireKnownFormat(storage.store);
    return await work(storage, config);
  } catch (error) {
    throw asCliError(error);
  } finally {
    await closeStorage(storage);
  }
}

interface SealedStore extends ReturnType<typeof sealingOptions> {
  readonly keyRing: KeyRing;
  readonly config: Config;
}

/**
 * Runs work that signs or seals. The first to open a store creates its key ring, which says to all others, servers too, under which
 * secret it is sealed.
 *
 * @throws {CliError} As {@linkcode inStore}; the store is sealed under another secret.
 */
async function inSealedStore<R>(
  command: string,
  flags: StoreFlags,
  work: (sealed: SealedStore) => Promise<R>,
): Promise<R> {
  return await inStore(
    command,
    flags,
    async ({ store }, config) => {
      const options = sealingOptions(store, config.secret ?? []);
      const { signatureAlgorithm: algorithm } = config;
      const keyRing = await opened(
        createKeyRing({ ...options, ...(algorithm === undefined ? {} : { algorithm }) }),
      );
      return await work({ ...options, keyRing, config });
    },
    { needsSecret: true },
  );
}

function sealingOptions(store: Storage["store"], secret: readonly string[]) {
  return { store, secret: new MasterSecret(secret), clock: systemClock, random: systemRandom };
}

/** Waits for keys to open. @throws {CliError} They are sealed under another secret. */
async function opened<T>(keys: Promise<T>): Promise<T> {
  return await keys.catch((error: unknown) => {
    if (error instanceof AppError) throw error;
    throw wrongUsage(error instanceof Error ? error.message : String(error));
  });
}

/** Reads the settings of a deployment with a durable store. @throws {CliError} They are invalid or name none. */
async function storeConfig(
  command: string,
  { redis, postgres, store, data, "env-file": envFile }: StoreFlags,
  { needsSecret }: { readonly needsSecret: boolean },
): Promise<Config> {
  const environment = await environmentWith(envFile);
  const result = readConfig({ environment, flags: { redis, postgres, store, data }, demo: !needsSecret });
  if (!result.ok) {
    throw new CliError(exits.usage, "Cannot use the settings", {
      code: "wrong_settings",
      details: result.problems,
    });
  }
  const { config } = result;
  if (!hasStore(config)) {
    throw wrongUsage(
      `${command} needs --redis, --postgres, --store or --data: memory does not outlast the command`,
    );
  }
  return config;
}

/** Creates the schema of PostgreSQL, or brings it up to date. @throws {CliError} The settings name no PostgreSQL, or it refuses. */
export const migrate: CliContext["migrate"] = async flags => {
  const { postgres: server } = await storeConfig("migrate", flags, { needsSecret: false });
  if (server === undefined) {
    throw wrongUsage("migrate is for PostgreSQL: other stores need no schema", {
      hint: "Name it with --postgres",
    });
  }
  const { migratePostgres } = await loadPostgres();
  try {
    return await migratePostgres({ server });
  } catch (error) {
    throw asCliError(error);
  }
};

/** @throws {CliError} The settings name no data folder, the file exists, or the journal is damaged. */
export const backUp: CliContext["backUp"] = (flags, file) =>
  inFolder("backup", flags, folder => backUpJournal(folder, file));

/** @throws {CliError} The settings name no data folder, it is not empty, or the file is no whole backup. */
export const restore: CliContext["restore"] = (flags, file) =>
  inFolder("restore", flags, folder => restoreJournal(file, folder));

async function inFolder(
  command: string,
  flags: Parameters<CliContext["backUp"]>[0],
  work: (folder: string) => Promise<BackupFacts>,
): Promise<BackupFacts> {
  const { data, postgres, store } = await storeConfig(command, flags, { needsSecret: false });
  if (postgres !== undefined) {
    throw wrongUsage(`${command} is for data folders: PostgreSQL has its own backups`, {
      hint: "Use pg_dump, or pg_basebackup with an archive of its log",
    });
  }
  if (store !== undefined) {
    throw wrongUsage(`${command} is for data folders: a store of your own needs backups of its own`);
  }
  if (data === undefined) {
    throw wrongUsage(`${command} is for data folders: Redis has its own backups`, {
      hint: "Copy dump.rdb after BGSAVE, or appendonlydir: see Back up and restore Redis in runtime/README.md",
    });
  }
  try {
    return await work(data);
  } catch (error) {
    throw refusal(error);
  }
}

function refusal(error: unknown): unknown {
  if (error instanceof AppError) {
    const { code, message } = error;
    const exit = code === "validation_failed" ? exits.invalid : exitOf(errorFacts[code].status);
    return new CliError(exit, message, { code });
  }
  const isOfSystem = error instanceof Error && "syscall" in error;
  return isOfSystem
    ? new CliError(exits.failed, `Cannot go on: ${error.message}`, { code: "failed" })
    : error;
}
