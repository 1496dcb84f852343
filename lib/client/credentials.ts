/** Credentials of calls. */

import { GrandstandError } from "./errors.ts";
import { claimsOf } from "./session_state.ts";

/** Letters of the credentials that an operation takes, as in the rows of its area. */
export type CredentialKinds = string;

/** Credentials that a client sends. */
export interface Credentials {
  /** Returns the header fields of a call that takes one of the kinds; none if it has no such credentials. */
  headers(kinds: CredentialKinds): Promise<Readonly<Record<string, string>>>;
  /** Replaces credentials that a 401 refused. Resolves to true if there are others, with which the call is sent once more. */
  renew?(kinds: CredentialKinds, refused: Readonly<Record<string, string>>): Promise<boolean>;
}

/** Credentials of a back end: an API key. */
export function apiKey(key: string, secret: string): Credentials {
  const headers = { "x-api-key": key, "x-api-secret": secret };
  return { headers: async kinds => (kinds.includes("k") ? headers : {}) };
}

/** Credentials of an author or an operator: an access token of the control API. */
export function accessToken(token: string): Credentials {
  const headers = { authorization: `Bearer ${token}` };
  return { headers: async kinds => (kinds.includes("a") ? headers : {}) };
}

/**
 * Credentials of who has space tokens already: a back end that acts for a fan, or the page of a fan of your own accounts. With a function
 * that asks for a token, one is asked for with the first call, and another once it is refused, for example as it has expired. All are of
 * one fan: a token of another one fails the call with `other_fan`.
 *
 * @example
 * ```ts
 * import { createClient, loyalty, spaceToken } from "grandstand/client";
 *
 * const credentials = spaceToken(async () => {
 *   const answer = await fetch("/fan-token", { method: "POST" });
 *   return (await answer.json()).accessToken;
 * });
 * const fan = createClient({ url: location.origin, areas: { loyalty }, credentials });
 * ```
 */
export function spaceToken(token: string | (() => Promise<string>)): Credentials {
  const ask = typeof token === "string" ? async () => token : token;
  let fan: unknown;
  let asked: Promise<string> | undefined;
  const fields = async (): Promise<Readonly<Record<string, string>>> => {
    asked ??= ask();
    try {
      const held = await asked;
      const { sub } = claimsOf(held);
      fan ??= sub;
      if (sub !== fan) {
        throw new GrandstandError("other_fan", "Another fan has signed in: make a new client for this fan");
      }
      return { authorization: `Bearer ${held}` };
    } catch (error) {
      asked = undefined;
      throw error;
    }
  };
  return {
    headers: async kinds => (kinds.includes("s") ? await fields() : {}),
    async renew(_, { authorization: refused }) {
      const held = asked;
      // Of several calls that were refused, one asks.
      if ((await fields()).authorization === refused && asked === held) asked = undefined;
      return (await fields()).authorization !== refused;
    },
  };
}
