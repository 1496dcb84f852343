/** A certified OpenID provider on loopback, with a client for the authorization code flow. */

import { createHash, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type JWK, Provider } from "oidc-provider";

/** A running provider. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly audience: string;
  readonly clientSecret: string;
  /** The only address that the provider leads back to. */
  readonly redirectUri: string;
  /** An ID token of a user, from a complete login. */
  idToken(username: string): Promise<string>;
  /** Logs the user of the address in as a browser does, and returns where the provider leads then. */
  follow(url: string): Promise<URL>;
  /** Replaces the signing key; the old one is no longer published. */
  rotate(): void;
  stop(): Promise<void>;
}

const clientId = "grandstand";
const clientSecret = "a secret of the test client";
const redirectUri = "https://app.example/callback";

/** Starts a provider. */
export async function startOpenIdProvider(): Promise<OpenIdProvider> {
  let listener: RequestListener = (_, response) => response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  function rotate(): void {
    listener = listenerOf(createProvider(issuer));
  }
  rotate();
  return {
    issuer,
    audience: clientId,
    clientSecret,
    redirectUri,
    follow: followBack,
    idToken: username => logIn(issuer, username),
    rotate,
    async stop() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

function createProvider(issuer: string): Provider {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const signingKey = { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig" } as JWK;
  return new Provider(issuer, {
    jwks: { keys: [signingKey] },
    cookies: { keys: [randomUUID()] },
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    // Users agree to everything.
    async loadExistingGrant({ oidc }) {
      const { account, client, provider } = oidc;
      if (account === undefined || client === undefined) return undefined;
      const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId });
      grant.addOIDCScope("openid");
      await grant.save();
      return grant;
    },
  });
}

/** The provider's own paths, and its login page, which accepts any user name. */
function listenerOf(provider: Provider): RequestListener {
  const callback = provider.callback();
  return (request, response) => {
    if (request.url?.startsWith("/interaction/") !== true) return void callback(request, response);
    provider
      .interactionDetails(request, response)
      .then(({ params }) =>
        provider.interactionFinished(request, response, {
          login: { accountId: String(params.login_hint) },
        }),
      )
      .catch(error => response.writeHead(500).end(String(error)));
  };
}

async function logIn(issuer: string, username: string): Promise<string> {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid",
    login_hint: username,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const code = (await followBack(`${issuer}/auth?${query}`)).searchParams.get("code") ?? "";
  const response = await fetch(`${issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${encodeURIComponent(clientSecret)}`)}` },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
    }),
  });
  const answer = (await response.json()) as { readonly id_token?: string };
  if (answer.id_token === undefined) throw new Error(`No ID token: ${JSON.stringify(answer)}`);
  return answer.id_token;
}

/** Follows redirects as a browser does, cookies included, until the provider leads back to the application. */
async function followBack(start: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = new URL(start);
  for (let step = 0; step < 10; step++) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`No redirect at ${url}: ${await response.text()}`);
    url = new URL(location, url);
    if (url.href.startsWith(redirectUri)) return url;
  }
  throw new Error("Too many redirects");
}
