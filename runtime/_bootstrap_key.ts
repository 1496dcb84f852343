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
import type { Store } from "../lib/storage/mod.ts";
import { inStore } from "./_direct_store.ts";

/**
 * Makes an API key with every permission in the store that the settings name.
 *
 * @throws {CliError} The settings name no store that lasts, the organisation is unknown, or it has keys already.
 */
export async function bootstrapKey(bootstrap: KeyBootstrap): Promise<IssuedApiKey> {
  return await inStore({
    command: "keys bootstrap",
    flags: bootstrap.store,
    needsSecret: true,
    work: ({ store }, { secret = "" }) => create(store, { ...bootstrap, secret }),
  });
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
