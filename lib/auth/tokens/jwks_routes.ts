/** The route of the public keys that verify the platform's tokens. */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { type Area, json, named, open, route } from "../../http/mod.ts";
import { decide, type Store, type Stored } from "../../storage/mod.ts";
import { platformPartition } from "../../storage/names.ts";
import { type RandomBytes, uuid } from "../crypto/mod.ts";
import { signatureAlgorithms } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { jwksAgeSecondsMax } from "./key_ring.ts";

const KeySetSchema = named(
  "PublicKeySet",
  v.object({
    keys: v.array(
      v.looseObject({
        kty: v.string(),
        kid: v.string(),
        alg: v.picklist(signatureAlgorithms),
        use: v.literal("sig"),
      }),
    ),
  }),
);

/** Publishes the key ring at `GET /.well-known/jwks.json`. */
export function jwksArea(options: { readonly ring: Pick<KeyRing, "jwks"> }): Area {
  const { ring } = options;
  return {
    name: "keys",
    family: "problem",
    routes: [
      route({
        method: "GET",
        path: "/.well-known/jwks.json",
        operation: "getPublicKeys",
        summary: "Fetch the public keys of tokens",
        description: "Returns the keys that verify the platform's tokens, as a JSON Web Key Set (RFC 7517).",
        auth: open,
        responses: { 200: { description: "The keys", schema: KeySetSchema } },
        cache: "public",
        async handle() {
          const headers = { "cache-control": `public, max-age=${jwksAgeSecondsMax}` };
          return json(200, await ring.jwks(), headers);
        },
      }),
    ],
  };
}

const issuerKey = "issuer";
const formatKey = "format";

/** The format of everything that is stored. Raise it with a change that a process of the version before would misread. */
export const storeFormat = 1;

const reads = [
  { type: "record", key: issuerKey },
  { type: "record", key: formatKey },
] as const;

interface IssuerOptions {
  readonly store: Store;
  readonly random: RandomBytes;
  readonly publicUrl: string | undefined;
}

/**
 * Returns the issuer of the deployment's tokens, stored beside the key ring: all processes on a store accept each other's
 * tokens. The first start stores the public URL, or a urn where there is none, and the format of the store.
 *
 * @throws {AppError} `conflict`: the store has a newer format.
 */
export async function openIssuer({ store, random, publicUrl }: IssuerOptions): Promise<string> {
  return await decide(store, platformPartition("key_ring"), {
    reads,
    idempotent: true,
    apply: ([stored, format]) => {
      checkFormat(format, "conflict");
      if (stored !== null) return { writes: [], answer: stored.value };
      const issuer = publicUrl ?? `urn:uuid:${uuid(random)}`;
      return {
        writes: [
          { type: "put", key: issuerKey, value: issuer },
          { type: "put", key: formatKey, value: String(storeFormat) },
        ],
        answer: issuer,
      };
    },
  });
}

/**
 * Returns the issuer that a store has, or null if no platform has opened it.
 *
 * @throws {AppError} `storage_unavailable`: the store has a newer format.
 */
export async function storedIssuer(store: Store): Promise<string | null> {
  const [stored, format] = await store.read(platformPartition("key_ring"), reads);
  checkFormat(format, "storage_unavailable");
  return stored?.value ?? null;
}

/** @throws {AppError} `conflict`: the store has a newer format. */
export async function requireKnownFormat(store: Store): Promise<void> {
  const [format] = await store.read(platformPartition("key_ring"), [{ type: "record", key: formatKey }]);
  checkFormat(format, "conflict");
}

function checkFormat(format: Stored | null, code: "conflict" | "storage_unavailable"): void {
  if (format === null || Number(format.value) <= storeFormat) return;
  const message = `Cannot use the store: its format is ${format.value} and this version knows ${storeFormat}; update this process`;
  throw new AppError(code, message);
}
