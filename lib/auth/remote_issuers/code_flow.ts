/** The authorization code flow of OpenID Connect with PKCE (RFC 7636), as a client. */

import { sha256 } from "@noble/hashes/sha2.js";
import type { Logger } from "../../http/mod.ts";
import { base64url, type Clock, utf8 } from "../crypto/mod.ts";
import { cachedByIssuer, discover, endpointOf, jsonBody, providerError, type RemoteFetch } from "./mod.ts";

/** The application as its provider knows it. */
export interface OpenIdClient {
  readonly issuer: string;
  readonly clientId: string;
}

/** Returns the secret of a client; undefined for one without. */
export type ClientSecret = (client: OpenIdClient) => string | undefined | Promise<string | undefined>;

/** A login at the provider, from its beginning to the exchange of its code. */
export interface CodeLogin {
  readonly redirectUri: string;
  /** The PKCE verifier, 43 characters, which never leaves the server before the exchange. */
  readonly verifier: string;
}

interface CodeFlowOptions {
  readonly fetch: RemoteFetch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clientSecret: ClientSecret;
}

export type CodeFlow = ReturnType<typeof createCodeFlow>;

/** Creates the flow. Create one per process, as it caches discovery documents. */
export function createCodeFlow({ fetch, clock, logger, clientSecret }: CodeFlowOptions) {
  const documentOf = cachedByIssuer(clock, issuer => discover(issuer, fetch));
  return {
    /** Returns the address at the provider that the user's browser goes to. `more` adds parameters. */
    async authorizationUrl(
      { issuer, clientId }: OpenIdClient,
      { redirectUri, verifier }: CodeLogin,
      more: Readonly<Record<string, string>>,
    ): Promise<string> {
      const url = endpointOf(await documentOf(issuer), "authorization_endpoint");
      const parameters = {
        ...more,
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        code_challenge: base64url(sha256(utf8(verifier))),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return url.href;
    },
    /**
     * Exchanges a code for the ID token, which is not verified yet; null if the provider refuses the code.
     *
     * @throws {AppError} `provider_unavailable`, `provider_error`.
     */
    async redeem(client: OpenIdClient, login: CodeLogin, code: string): Promise<string | null> {
      const document = await documentOf(client.issuer);
      const form = new URLSearchParams({
        grant_type: "authorization_code",
        code,
        redirect_uri: login.redirectUri,
        code_verifier: login.verifier,
      });
      const headers = authenticate(form, client, {
        secret: await clientSecret(client),
        methods: document.members.token_endpoint_auth_methods_supported,
      });
      const response = await fetch(endpointOf(document, "token_endpoint").href, headers, form);
      if (response.status !== 200) {
        logger.log("info", "code_refused", { ...client, status: response.status });
        return null;
      }
      const answer = (await jsonBody(response)) as { readonly id_token?: unknown } | null;
      if (typeof answer?.id_token !== "string") throw providerError("id_token");
      return answer.id_token;
    },
  };
}

interface Authentication {
  readonly secret: string | undefined;
  /** What the provider supports; `client_secret_basic` where it does not say (Discovery 1.0, section 3). */
  readonly methods: unknown;
}

/** Authenticates the client (RFC 6749, section 2.3.1) in the form, or by the header fields that are returned. */
function authenticate(
  form: URLSearchParams,
  { clientId }: OpenIdClient,
  { secret, methods }: Authentication,
): Record<string, string> {
  if (secret !== undefined && (!Array.isArray(methods) || methods.includes("client_secret_basic"))) {
    const encoded = [clientId, secret].map(part => new URLSearchParams([["", part]]).toString().slice(1));
    return { authorization: `Basic ${btoa(encoded.join(":"))}` };
  }
  form.set("client_id", clientId);
  if (secret !== undefined) form.set("client_secret", secret);
  return {};
}
