/** An OpenID provider without a network: discovery, keys, logins with PKCE, and signed ID tokens. */

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto";

/** What the provider sends the browser back with. */
export interface Return {
  readonly code: string;
  readonly state: string;
}

interface Login {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly nonce: string;
  readonly subject: string;
}

/** The issuer of the provider. */
export const issuer = "https://accounts.example";
const lifetimeSeconds = 600;

/** An Ed25519 key, always the same, so that equal runs have equal tokens. */
const key = createPrivateKey({
  key: Buffer.from(`302e020100300506032b657004220420${"5a".repeat(32)}`, "hex"),
  format: "der",
  type: "pkcs8",
});

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A provider that answers a code again, as some do in case the first answer got lost. */
export class OpenIdProvider {
  readonly #clock: () => number;
  readonly #logins = new Map<string, Login>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Logs somebody in at the address that an app sent the browser to. */
  logIn(url: string, subject: string): Return {
    const { searchParams } = new URL(url);
    const read = (name: string): string => searchParams.get(name) ?? "";
    const code = `${subject}-code-${this.#logins.size + 1}`;
    this.#logins.set(code, {
      clientId: read("client_id"),
      redirectUri: read("redirect_uri"),
      challenge: read("code_challenge"),
      nonce: read("nonce"),
      subject,
    });
    return { code, state: read("state") };
  }

  /** Answers a request of a platform. */
  answer(url: string, { body }: RequestInit): Response {
    switch (url.slice(issuer.length)) {
      case "/.well-known/openid-configuration":
        return Response.json({
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
        });
      case "/jwks":
        return Response.json({
          keys: [{ ...createPublicKey(key).export({ format: "jwk" }), kid: "1", alg: "EdDSA" }],
        });
      default:
        return this.#redeem(body as URLSearchParams);
    }
  }

  #redeem(form: URLSearchParams): Response {
    const login = this.#logins.get(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      login?.challenge === challenge &&
      login.clientId === form.get("client_id") &&
      login.redirectUri === form.get("redirect_uri");
    if (!isRight) return Response.json({ error: "invalid_grant" }, { status: 400 });
    const { clientId: aud, nonce, subject: sub } = login;
    const iat = Math.floor(this.#clock() / 1_000);
    const claims = { iss: issuer, aud, sub, nonce, iat, exp: iat + lifetimeSeconds };
    const signed = `${base64url({ alg: "EdDSA", kid: "1" })}.${base64url(claims)}`;
    const signature = sign(null, Buffer.from(signed), key).toString("base64url");
    return Response.json({ id_token: `${signed}.${signature}`, token_type: "Bearer" });
  }
}
