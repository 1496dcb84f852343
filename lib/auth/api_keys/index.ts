/** Which keys an organisation has. A key's own record is what counts: the index may name keys that are gone. */

import { AppError } from "../../errors/mod.ts";
import { decide, type Store, tenantPartition } from "../../storage/mod.ts";

/** Most keys that an organisation may have. */
export const apiKeysPerOrganisationMax = 500;

const index = { type: "record", key: "index" } as const;

/** The ids of the organisation's keys, oldest first. */
export async function indexedKeys(store: Store, organisationId: string): Promise<readonly string[]> {
  const [stored] = await store.read(partitionOf(organisationId), [index]);
  return stored === null ? [] : JSON.parse(stored.value);
}

/**
 * Adds a key.
 *
 * @throws {AppError} `conflict`: the organisation has as many as it may.
 */
export async function addToIndex(store: Store, organisationId: string, keyId: string): Promise<void> {
  await change(store, organisationId, known => {
    if (known.includes(keyId)) return known;
    if (known.length < apiKeysPerOrganisationMax) return [...known, keyId];
    throw new AppError(
      "conflict",
      `Cannot create an API key: the organisation has ${apiKeysPerOrganisationMax} already, revoke one first`,
    );
  });
}

/** Takes keys off that are no more. */
export async function removeFromIndex(
  store: Store,
  organisationId: string,
  gone: ReadonlySet<string>,
): Promise<void> {
  await change(store, organisationId, known => known.filter(keyId => !gone.has(keyId)));
}

async function change(
  store: Store,
  organisationId: string,
  apply: (known: readonly string[]) => readonly string[],
): Promise<void> {
  await decide(store, partitionOf(organisationId), {
    reads: [index],
    idempotent: true,
    apply: ([stored]) => {
      const known: readonly string[] = stored === null ? [] : JSON.parse(stored.value);
      const changed = apply(known);
      if (changed.length === known.length) return { writes: [], answer: undefined };
      return { writes: [{ type: "put", key: index.key, value: JSON.stringify(changed) }], answer: undefined };
    },
  });
}

function partitionOf(organisationId: string): string {
  return tenantPartition({ organisation: organisationId }, "api_keys");
}
