/** The index of an organisation's keys. The record of a key is authoritative: the index may list keys that are gone. */

import { AppError } from "../../base/errors/mod.ts";
import { decide, type Store, tenantPartition } from "../../storage/mod.ts";

/** Most keys of an organisation. */
export const apiKeysPerOrganisationMax = 500;

const index = { type: "record", key: "index" } as const;

/** Lists the ids of the organisation's keys, oldest first. */
export async function indexedKeys(store: Store, organisationId: string): Promise<readonly string[]> {
  const [stored] = await store.read(indexPartition(organisationId), [index]);
  return stored === null ? [] : JSON.parse(stored.value);
}

/**
 * Adds a key to the index.
 *
 * @throws {AppError} `conflict`: the organisation has the most keys that it may have.
 */
export async function addToIndex(store: Store, organisationId: string, keyId: string): Promise<void> {
  await change(store, organisationId, keyIds => {
    if (keyIds.includes(keyId)) return keyIds;
    if (keyIds.length < apiKeysPerOrganisationMax) return [...keyIds, keyId];
    throw new AppError(
      "conflict",
      `Cannot create an API key: the organisation has ${apiKeysPerOrganisationMax} already, revoke one first`,
    );
  });
}

/** Removes keys from the index. */
export async function removeFromIndex(
  store: Store,
  organisationId: string,
  removed: ReadonlySet<string>,
): Promise<void> {
  await change(store, organisationId, keyIds => keyIds.filter(keyId => !removed.has(keyId)));
}

async function change(
  store: Store,
  organisationId: string,
  apply: (keyIds: readonly string[]) => readonly string[],
): Promise<void> {
  await decide(store, indexPartition(organisationId), {
    reads: [index],
    idempotent: true,
    apply: ([stored]) => {
      const keyIds: readonly string[] = stored === null ? [] : JSON.parse(stored.value);
      const changed = apply(keyIds);
      if (changed.length === keyIds.length) return { writes: [], answer: undefined };
      return { writes: [{ type: "put", key: index.key, value: JSON.stringify(changed) }], answer: undefined };
    },
  });
}

function indexPartition(organisationId: string): string {
  return tenantPartition({ organisation: organisationId }, "api_keys");
}
