/** The route of the public keys that verify the platform's tokens. */

import * as v from "valibot";
import { type Area, json, named, open, route } from "../../http/mod.ts";
import { signatureAlgorithms } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { jwksAgeSecondsMax } from "./key_ring_record.ts";

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
