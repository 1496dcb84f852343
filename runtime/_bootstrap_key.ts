import process from "node:process";
import {
  createApiKeys,
  type IssuedApiKey,
  MasterSecret,
  permissions,
  systemClock,
  systemRandom,
} from "../lib/auth/mod.ts";
import { CliError, exits, type KeyBootstrap } from "../lib/cli/mod.ts";
import { createDirectory } from "../lib/directory/mod.ts";
import { silentLogger } from "../lib/http/mod.ts";
import type { Store } from "../lib/storage/mod.ts";
import { openStorage } from "./_stores.ts";
import { type Config, readConfig } from "./config.ts";

/**
 * Makes an API key with every permission in the store that the settings name.
 *
 * @throws {CliError} The settings name no store that lasts, the organisation is unknown, or it has keys already.
 */
export async function bootstrapKey(bootstrap: KeyBootstrap): Promise<IssuedApiKey> {
  const config = settings(bootstrap);
  const storage = await openStorage(config, silentLogger);
  try {
    return await create(storage.store, { ...bootstrap, secret: config.secret ?? "" });
  } finally {
    await storage.limiter[Symbol.asyncDispose]();
    await storage.store[Symbol.asyncDispose]();
  }
}

function settings({ store: flags }: KeyBootstrap): Config {
  const result = readConfig({ environment: process.env, flags, demo: false });
  if (!result.ok) {
    throw new CliError(exits.usage, "The settings cannot be used", {
      code: "wrong_settings",
      details: result.problems,
    });
  }
  if (result.config.redis === undefined && result.config.data === undefined) {
    throw new CliError(exits.usage, "keys bootstrap needs --redis or --data: nothing else outlives it", {
      code: "wrong_usage",
    });
  }
  return result.config;
}

async function create(
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
  const known = await apiKeys.list(organisationId);
  if (known.length > 0 && !isForced) {
    throw new CliError(exits.conflict, `The organisation has ${known.length} API keys already`, {
      code: "conflict",
      hint: "Use one of them with grandstand keys create, or --force where their secrets are lost",
    });
  }
  return await apiKeys.create({ organisationId, name, permissions });
}
