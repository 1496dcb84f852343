import { platformPartition, type Store } from "../../storage/mod.ts";
import { uuid } from "../crypto/mod.ts";
import type { RandomBytes } from "../environment.ts";

const issuerKey = "issuer";

/** Options of {@linkcode openIssuer}. */
export interface IssuerOptions {
  readonly store: Store;
  readonly random: RandomBytes;
  /** The address that the deployment was given. */
  readonly publicUrl: string | undefined;
  /** The issuer of stores with keys from a time when issuers were not stored, so that their tokens stay valid. */
  readonly formerIssuer: string;
}

/**
 * Returns the issuer of the deployment's tokens, stored beside the key ring: all processes on a store accept each other's
 * tokens. The first start stores the public URL, or a urn where there is none.
 */
export async function openIssuer(options: IssuerOptions): Promise<string> {
  const { store, random, publicUrl, formerIssuer } = options;
  const partition = platformPartition("key_ring");
  const [stored, ring] = await store.read(partition, [
    { type: "record", key: issuerKey },
    { type: "record", key: "ring" },
  ]);
  if (stored !== null) return stored.value;
  const issuer = publicUrl ?? (ring === null ? `urn:uuid:${uuid(random)}` : formerIssuer);
  const commit = await store.commit(partition, {
    checks: [{ key: issuerKey, version: null }],
    writes: [{ type: "put", key: issuerKey, value: issuer }],
  });
  return commit.ok ? issuer : await openIssuer(options);
}

/** Returns the issuer that a store has, or null if no platform has opened it. */
export async function storedIssuer(store: Store): Promise<string | null> {
  const [stored] = await store.read(platformPartition("key_ring"), [{ type: "record", key: issuerKey }]);
  return stored?.value ?? null;
}
