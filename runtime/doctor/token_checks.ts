/** Why a token is accepted or refused, step by step. */

import { systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import {
  anyTokenTypes,
  createRemoteFetch,
  createRemoteIssuers,
  type RemoteIssuer,
} from "../../lib/auth/remote_issuers/mod.ts";
import { storedIssuer } from "../../lib/auth/tokens/jwks_routes.ts";
import { createKeyRing } from "../../lib/auth/tokens/key_ring.ts";
import { createTokens } from "../../lib/auth/tokens/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import type { Project } from "../../lib/fans/directory/mod.ts";
import { accountUserId } from "../../lib/fans/identity/own_accounts.ts";
import { issuersOf } from "../../lib/fans/identity/settings.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { type Finding, failed, ok } from "./mod.ts";

interface TokenQuestion {
  readonly store: Store;
  readonly token: string;
  /** The project whose providers may have issued it. */
  readonly projectId: string | undefined;
  /** The master secret, without which signatures of the deployment's own tokens are not verified. */
  readonly secret: readonly string[] | undefined;
}

type Members = Readonly<Record<string, unknown>>;

/** Explains a token. No finding has more of it than header, issuer, audience, times and the user id. */
export async function explainToken(question: TokenQuestion): Promise<readonly Finding[]> {
  const [header, claims] = question.token.split(".").map(decoded);
  if (header == null || claims == null || question.token.split(".").length !== 3) {
    const advice =
      "Pass three parts with dots between them, without Bearer; an encrypted token is not accepted";
    return [{ check: "form", ...failed("It is no signed token (JWT)", advice) }];
  }
  const { alg, kid, typ } = header;
  const { iss, aud } = claims;
  const seen = `alg ${shown(alg)}, kid ${shown(kid)}, typ ${shown(typ)}, iss ${shown(iss)}, aud ${shown(aud)}`;
  const isOwn = iss === (await storedIssuer(question.store));
  return [
    { check: "form", ...ok(seen) },
    { check: "times", ...timesOf(claims) },
    ...(isOwn ? [await ownFinding(question, header, claims)] : await remoteFindings(question, claims)),
  ];
}

function decoded(part: string): Members | null {
  try {
    const bytes = Buffer.from(part, "base64url").toString("utf8");
    const value: unknown = JSON.parse(bytes);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : null;
  } catch {
    return null;
  }
}

function shown(value: unknown): string {
  return value === undefined ? "none" : JSON.stringify(value).slice(0, 200);
}

function timesOf({ iat, nbf, exp }: Members) {
  const now = systemClock() / 1_000;
  const time = (value: unknown): string =>
    typeof value === "number" && Math.abs(value) < 8.64e12
      ? new Date(value * 1_000).toISOString()
      : shown(value);
  const seen = `issued ${time(iat)}, valid from ${time(nbf ?? iat)} until ${time(exp)}`;
  if (typeof exp === "number" && exp <= now) return failed(seen, "It has expired: get a new one");
  const isEarly = [iat, nbf].some(value => typeof value === "number" && value > now + 60);
  return isEarly ? failed(seen, "Its time has not come: compare the clocks of both servers") : ok(seen);
}

async function ownFinding(
  { store, token, secret }: TokenQuestion,
  { typ }: Members,
  { iss, aud }: Members,
): Promise<Finding> {
  const check = "signature";
  if (secret === undefined) {
    return { check, ...failed("It is of this deployment", "Set GRANDSTAND_SECRET to verify its signature") };
  }
  const options = { store, secret: new MasterSecret(secret), clock: systemClock, random: systemRandom };
  const tokens = createTokens({ ...options, ring: await createKeyRing(options) });
  const [audience] = Array.isArray(aud) ? aud : [aud];
  const expected = { typ: String(typ), issuer: String(iss), audience: String(audience), acceptExpired: true };
  try {
    await tokens.verify(token, expected);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { check, ...failed(`Refused: ${error.cause}`, "Its key was revoked or has ended: log in again") };
  }
  return {
    check,
    ...ok("A key of this deployment signed it; a session, ban or log-out may still have ended it"),
  };
}

async function remoteFindings(
  { store, token, projectId }: TokenQuestion,
  claims: Members,
): Promise<readonly Finding[]> {
  const check = "issuer";
  if (projectId === undefined) {
    const advice = "Name the project whose provider issued it: --project";
    return [{ check, ...failed(`${shown(claims.iss)} is not this deployment`, advice) }];
  }
  const directory = createDirectory({ store, clock: systemClock });
  const project = await directory.project(projectId);
  if (project === null) return [{ check, ...failed("There is no such project", "Pass the id of a project") }];
  const issuers = issuersOf(project, await directory.space(project.spaceId));
  if (issuers.length === 0) {
    return [
      { check, ...failed("The project and its space name no issuer", "Set hostedIdp of its identity") },
    ];
  }
  const verdicts = await Promise.all(
    issuers.map(async ({ setting, issuer }) => ({
      check: setting,
      ...(await verdictOf(token, claims, issuer)),
    })),
  );
  const isAccepted = verdicts.some(({ status }) => status === "ok");
  if (!isAccepted) return verdicts;
  return [...verdicts.filter(({ status }) => status === "ok"), ...userFindings(project, claims)];
}

/** Names the user whose id follows from a token of the team's own accounts. */
function userFindings({ settings }: Project, { iss, sub }: Members): readonly Finding[] {
  const { accountIssuer } = (settings.identity ?? {}) as Members;
  if (accountIssuer === undefined) return [];
  const seen =
    accountIssuer === iss
      ? `The user is ${accountUserId(String(iss), String(sub))}, unless the account is older than the setting, merged or taken`
      : `The user id does not follow from the token, as accountIssuer is ${shown(accountIssuer)}`;
  return [{ check: "user", ...ok(seen) }];
}

const advices: readonly (readonly [
  reason: string,
  advice: (claims: Members, issuer: RemoteIssuer) => string,
])[] = [
  ["aud", ({ aud }) => `Set audience to that of the token, ${shown(aud)}, or ask the provider for the other`],
  ["iss", ({ iss }) => `Set issuer to that of the token, ${shown(iss)}, to the letter`],
  ["the issuer publishes", () => "Let the provider publish the key, or list its algorithm in algorithms"],
  ["no published key", () => "It is of another issuer, or was changed on its way"],
  ["typ", () => `Send a token of the type ${anyTokenTypes.filter(type => type !== "").join(" or ")}`],
  [
    "provider_",
    () => "See that this machine reaches the issuer's .well-known/openid-configuration over https",
  ],
  ["ERR_JOSE_ALG", (_, { algorithms }) => `List its algorithm in algorithms, which are ${shown(algorithms)}`],
];

async function verdictOf(token: string, claims: Members, issuer: RemoteIssuer) {
  let reason = "";
  const log = (_: unknown, __: string, fields: Members) => {
    reason = String(fields.reason);
  };
  const options = { fetch: createRemoteFetch(), clock: systemClock, logger: { enabled: () => true, log } };
  try {
    await createRemoteIssuers(options).verify(token, issuer, { types: anyTokenTypes });
    return ok("It is accepted");
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (reason === "") reason = error.code;
    const [, advise] = advices.find(([start]) => reason.startsWith(start)) ?? [];
    return failed(`Refused: ${reason}`, advise?.(claims, issuer) ?? "Get a new token from the provider");
  }
}
