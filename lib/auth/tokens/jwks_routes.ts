/** The route of the public keys that verify the platform's tokens. */

import { array, literal, looseObject, object, picklist, string } from "valibot";
import { type Area, looseRoute, open } from "../../http/route.ts";
import { signatureAlgorithms } from "./jose.ts";
import type { KeyRing } from "./key_ring.ts";
import { jwksAgeSecondsMax } from "./key_ring_record.ts";

const keySet = object({
  keys: array(
    looseObject({ kty: string(), kid: string(), alg: picklist(signatureAlgorithms), use: literal("sig") }),
  ),
});

/** Publishes the key ring at `GET /.well-known/jwks.json`. */
export function jwksArea(options: { readonly ring: Pick<KeyRing, "jwks"> }): Area {
  const { ring } = options;
  return {
    name: "keys",
    family: "problem",
    routes: [
      looseRoute({
        method: "GET",
        path: "/.well-known/jwks.json",
        operation: "getPublicKeys",
        summary: "Public keys that verify the platform's tokens",
        auth: open,
        responses: { 200: { description: "JSON Web Key Set (RFC 7517)", schema: keySet } },
        cache: "public",
        async handle() {
          const headers = { "cache-control": `public, max-age=${jwksAgeSecondsMax}` };
          return { status: 200, json: await ring.jwks(), headers };
        },
      }),
    ],
  };
}
