/**
 * Tokens of other issuers, and bounded requests to their servers.
 *
 * @module
 */

export {
  createRemoteFetch,
  type Fetch,
  jsonBody,
  providerError,
  type RemoteFetch,
  type RemoteFetchOptions,
  remoteUrl,
} from "./remote_fetch.ts";
export {
  anyTokenTypes,
  createRemoteIssuers,
  idTokenTypes,
  type RemoteClaims,
  type RemoteIssuer,
  type RemoteIssuers,
  remoteAlgorithms,
} from "./remote_issuers.ts";
