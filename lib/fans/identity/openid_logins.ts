/**
 * Logins at OpenID providers, from their beginning to their end.
 *
 * The app keeps the key of a login. State, nonce and PKCE verifier follow from it and the master secret, so nothing is stored
 * before a login ends, and a code or state is worth nothing without the key.
 */

import { constantTimeEqual, deriveKey, keyedTag, uuid } from "../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import type { CodeFlow } from "../../auth/remote_issuers/code_flow.ts";
import { decide, type Store, tenantPartition } from "../../storage/mod.ts";

/** Time for a login at the provider, in ms. */
export const openIdLoginMsMax = 600_000;

export type OpenIdLogins = ReturnType<typeof createOpenIdLogins>;

interface OpenIdLoginsOptions {
  readonly secret: MasterSecret;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly flow: CodeFlow;
}

/** A login that began: its key, and what it was begun for. */
interface Begun {
  readonly projectId: string;
  readonly provider: string;
  readonly returnTo: string;
  readonly key: string;
}

export function createOpenIdLogins({ secret, store, clock, random, flow }: OpenIdLoginsOptions) {
  const tagKey = deriveKey(secret, "openid_login");
  const tagOf = (purpose: string, { projectId, provider: name, returnTo, key }: Begun): string =>
    keyedTag(tagKey, [purpose, projectId, name, returnTo, key]);
  return {
    flow,
    /** Makes the key of a login, which begins with the time at which it ends. */
    newKey: (): string => `${clock() + openIdLoginMsMax}.${uuid(random)}${uuid(random)}`,
    partsOf: (begun: Begun) => ({
      state: tagOf("state", begun),
      nonce: tagOf("nonce", begun),
      verifier: tagOf("verifier", begun),
    }),
    /** Ends a login. Returns true once, in time, for the state that it was begun with. */
    async end(begun: Begun, state: string): Promise<boolean> {
      const expected = tagOf("state", begun);
      const expireAt = Number(begun.key.split(".", 1)[0]);
      if (!constantTimeEqual(state, expected) || !(clock() < expireAt)) return false;
      const partition = tenantPartition({ project: begun.projectId }, "code", "openid", expected);
      return await decide(store, partition, {
        reads: [{ type: "record", key: "code" }],
        apply: ([used]) => ({
          writes: used === null ? [{ type: "put", key: "code", value: "used", expireAt }] : [],
          answer: used === null,
        }),
      });
    },
  };
}
