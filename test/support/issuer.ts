/** An OpenID issuer whose documents come through an injected `fetch`, so that tests choose its documents and failures. */

import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID, sign } from "node:crypto";
import type { Fetch } from "../../lib/auth/remote_issuers/mod.ts";

/** A key of an issuer. */
export interface IssuerKey {
  readonly kid: string;
  readonly jwk: JsonWebKey;
  readonly privateKey: KeyObject;
}

/** A new key for ES256. */
export function issuerKey(kid: string = randomUUID()): IssuerKey {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { kid, jwk: { ...publicKey.export({ format: "jwk" }), kid, use: "sig", alg: "ES256" }, privateKey };
}

/** A JWT of any header and claims, signed for `ES256` whatever the header says. */
export function forge(key: IssuerKey, claims: object, header: object = {}): string {
  const head = { alg: "ES256", typ: "JWT", kid: key.kid, ...header };
  const input = [head, claims].map(part => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${input}.${sign("sha256", Buffer.from(input), { key: key.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** A failure of an issuer; null: it answers. */
export type Answering = ((url: string, init: RequestInit) => Promise<Response>) | null;

/** An issuer. */
export class TestIssuer {
  readonly issuer: string;
  /** Its current documents. */
  keys: IssuerKey[] = [issuerKey()];
  /** Replaces members of the discovery document. */
  discovery: Record<string, unknown> = {};
  answering: Answering = null;
  /** The addresses that were asked, in order. */
  readonly asked: string[] = [];

  constructor(issuer = "https://login.example") {
    this.issuer = issuer;
  }

  readonly fetch: Fetch = async (url, init) => {
    this.asked.push(url);
    if (this.answering !== null) return await this.answering(url, init);
    const home = this.issuer.replace(/\/$/, "");
    if (url === `${home}/.well-known/openid-configuration`) {
      const endpoints = { authorization_endpoint: `${home}/authorize`, token_endpoint: `${home}/token` };
      return Response.json({
        issuer: this.issuer,
        jwks_uri: `${home}/jwks`,
        ...endpoints,
        ...this.discovery,
      });
    }
    if (url === `${home}/token`) {
      const code = new URLSearchParams(String(init.body)).get("code") ?? "";
      return Response.json({ id_token: forge(this.key, JSON.parse(atob(code))) });
    }
    if (url === `${home}/jwks`) return Response.json({ keys: this.keys.map(({ jwk }) => jwk) });
    return new Response("", { status: 404 });
  };

  /** The newest key. */
  get key(): IssuerKey {
    const key = this.keys.at(-1);
    if (key === undefined) throw new Error("The issuer has no key");
    return key;
  }

  /** A code that this issuer exchanges for a token with these claims. */
  codeFor(claims: object): string {
    return btoa(JSON.stringify(claims));
  }

  /** Claims of an ID token that was issued at `now`, in Unix ms, for an hour. */
  claims(now: number, more: object = {}): Record<string, unknown> {
    const iat = Math.floor(now / 1_000);
    return { iss: this.issuer, aud: "app-1", sub: "alice", iat, exp: iat + 3_600, ...more };
  }
}
