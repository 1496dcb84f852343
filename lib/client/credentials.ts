/** Credentials of calls. */

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

/** Credentials of a back end that acts for a fan: a space token that it has itself, such as a service token. */
export function spaceToken(token: string): Credentials {
  const headers = { authorization: `Bearer ${token}` };
  return { headers: async kinds => (kinds.includes("s") ? headers : {}) };
}
