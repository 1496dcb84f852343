/** Exchange of a proof of identity for an access token of a space: `POST {space_url}/api/auth/token`. */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { idTokenTypes } from "../../auth/remote_issuers/mod.ts";
import { tokenCharsMax, unverifiedClaim } from "../../auth/tokens/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { type Call, envelope, named, open, route } from "../../http/mod.ts";
import type { Space } from "../directory/mod.ts";
import {
  type SpaceCaller,
  SpaceQuerySchema,
  type SpaceTokens,
  type SpaceVisit,
  spaceOfHost,
  spaceOfKey,
  type UserCaller,
} from "../space_tokens/mod.ts";
import { keyEntries, type SignInContext, UserProof, userOfBackEnd } from "./back_end_sign_in.ts";
import { UuidSchema } from "./operations.ts";
import { issuerUser } from "./providers/vouched_users.ts";
import { sessionRevoked } from "./sessions/sessions.ts";
import { invalidSetting, spaceIssuer } from "./settings.ts";
import { accountBanned, hasSessions, isBanned, isWithdrawn } from "./users.ts";

/** Age from which the session record of a user without sessions is refused: 90 days. */
const recordAgeSecondsMax = 90 * 24 * 60 * 60;

export interface ExchangeContext extends SignInContext {
  readonly spaceTokens: SpaceTokens;
}

const seconds = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const SessionRecordProof = v.object({
  type: v.pipe(v.literal("sessionRecord"), v.description("A signed session record proves the user")),
  projectId: v.pipe(UuidSchema, v.description("Project that issued the record")),
  record: v.pipe(
    v.object({
      deviceId: v.string(),
      timeStamp: seconds,
      signature: v.string(),
      externalId: v.string(),
      userId: UuidSchema,
      signUp: v.exactOptional(seconds),
      // The answer to the creation of a noLogin user spells it so.
      signup: v.exactOptional(seconds),
    }),
    v.description("The record as it was answered, with its signature"),
  ),
});
const AccessTokenProof = v.object({
  type: v.pipe(v.literal("accessToken"), v.description("An access token of the platform proves the user")),
  token: v.pipe(v.string(), v.description("The access token"), v.minLength(1), v.maxLength(tokenCharsMax)),
});
const IdTokenProof = v.object({
  type: v.pipe(v.literal("idToken"), v.description("An ID token of the space's issuer proves the user")),
  token: v.pipe(v.string(), v.description("The ID token, a JWT"), v.minLength(1), v.maxLength(tokenCharsMax)),
});
const ServiceProof = v.object({
  type: v.pipe(v.literal("service"), v.description("An API key proves the back end")),
  ...keyEntries,
});
const ProofSchema = named(
  "IdentityProof",
  v.variant("type", [AccessTokenProof, SessionRecordProof, IdTokenProof, ServiceProof, UserProof]),
);

type SessionRecordProofInput = v.InferOutput<typeof SessionRecordProof>;

const IssuedSchema = named(
  "SpaceToken",
  v.object({
    message: v.string(),
    data: v.object({
      accessToken: v.string(),
      tokenType: v.literal("Bearer"),
      expiresIn: v.pipe(v.number(), v.integer(), v.description("Seconds")),
    }),
  }),
);

export function tokenExchangeRoute(context: ExchangeContext) {
  return route({
    method: "POST",
    path: "/api/auth/token",
    operation: "issueSpaceToken",
    summary: "Issue an access token of the space",
    description:
      "Exchanges an access token, a signed session record, an ID token of the space's issuer or the API key of a back end for an access token of the space. A back end with `users:write` and `tokens:write` gets the token of a user whom it names. The space is that of the user's project; for ID tokens that of the Host, for API keys one of the organisation.",
    auth: open,
    query: SpaceQuerySchema,
    body: { schema: ProofSchema, example: { type: "service", key: "gsk_example", secret: "gss_example" } },
    responses: { 200: { description: "The token", schema: IssuedSchema } },
    errors: [
      "not_found",
      "invalid_credentials",
      "token_expired",
      "invalid_token",
      "session_revoked",
      "account_banned",
      "invalid_api_key",
      "insufficient_scope",
      "conflict",
      "provider_error",
      "provider_unavailable",
    ],
    handle: async call => {
      const { space, caller } = await visitOf(context, call);
      return envelope(await context.spaceTokens.issue(space, caller));
    },
  });
}

type ExchangeCall = Call<
  unknown,
  unknown,
  v.InferOutput<typeof SpaceQuerySchema>,
  v.InferOutput<typeof ProofSchema>
>;

/** Verifies a proof, and returns its caller with the space. */
async function visitOf(context: ExchangeContext, call: ExchangeCall): Promise<SpaceVisit> {
  const { body: proof, request, query } = call;
  const { directory } = context;
  if (proof.type === "accessToken" || proof.type === "sessionRecord") {
    const proved =
      proof.type === "accessToken" ? await tokenUser(context, proof.token) : await recordUser(context, proof);
    const space = await directory.space(proved.spaceId);
    if (space === null) throw rejected(proof.type === "accessToken" ? "access token" : "session record");
    return { space, caller: proved };
  }
  if (proof.type === "idToken") {
    const space = await spaceOfHost(directory, { request, query });
    return { space, caller: await issuerCaller(context, space, proof.token) };
  }
  if (proof.type === "user") return await userOfBackEnd(context, proof, call);
  const { keyId, organisationId, permissions } = await context.apiKeys.verify(proof.key, proof.secret);
  const space = await spaceOfKey(directory, organisationId, { request, query });
  return { space, caller: { kind: "service", keyId, organisationId, spaceId: space.id, permissions } };
}

async function tokenUser({ directory, sessions }: ExchangeContext, token: string): Promise<UserCaller> {
  // An unverified claim only chooses the project whose tokens the verification then expects.
  const projectId = unverifiedClaim(token, "projectId");
  const project =
    typeof projectId === "string" && isUuid(projectId) ? await directory.project(projectId) : null;
  if (project === null) throw rejected("access token");
  const { user, session } = await sessions.authenticateToken(token, project);
  const { spaceId, organisationId } = project;
  const { userId } = user;
  return { kind: "user", userId, organisationId, spaceId, projectId: project.id, sessionId: session.sid };
}

async function recordUser(context: ExchangeContext, proof: SessionRecordProofInput): Promise<UserCaller> {
  const { projectId, record } = proof;
  const { users, records, directory } = context;
  if (!records.verify(projectId, record)) throw rejected("session record");
  const project = await directory.project(projectId);
  if (project === null) throw rejected("session record");
  const user = await users.findById(projectId, record.userId);
  if (user === null || (await users.externalIdOf(user)) !== record.externalId || isWithdrawn(user)) {
    throw rejected("session record");
  }
  if (isBanned(user, context.clock())) throw accountBanned(user);
  const session = hasSessions(user)
    ? await sessionOfRecord(context, projectId, record)
    : await checkAge(context, projectId, record);
  const { spaceId, organisationId } = project;
  return { kind: "user", userId: user.userId, organisationId, spaceId, projectId, ...session };
}

/**
 * Names the session that a record was issued in. A record of before belongs to a session that is over, even if its device
 * has logged in again.
 */
async function sessionOfRecord(
  { sessions }: ExchangeContext,
  projectId: string,
  { userId, deviceId, timeStamp }: SessionRecordProofInput["record"],
): Promise<Pick<UserCaller, "sessionId">> {
  const session = await sessions.findOnDevice(projectId, userId, { deviceId, before: timeStamp });
  if (session === null) throw sessionRevoked();
  return { sessionId: session.sid };
}

/** Checks the age of a record of a user without sessions. */
async function checkAge(
  { sessionGuard, clock }: ExchangeContext,
  projectId: string,
  { userId, timeStamp: issuedAt }: SessionRecordProofInput["record"],
): Promise<Pick<UserCaller, "sessionId">> {
  if (clock() / 1_000 - issuedAt >= recordAgeSecondsMax) {
    throw new AppError("token_expired", "Cannot accept the session record as it is too old: log in again");
  }
  await sessionGuard.check({ projectId, userId, issuedAt });
  return {};
}

/**
 * Finds or creates the user of an ID token of the space's issuer. It is a user of the space's default project, as if that
 * project had the issuer as its hosted provider.
 */
async function issuerCaller(context: ExchangeContext, space: Space, token: string): Promise<SpaceCaller> {
  const { issuer, projectId } = spaceIssuer(space);
  const project = await context.directory.project(projectId);
  if (project?.spaceId !== space.id) {
    throw invalidSetting("defaultProjectId", "no project of the space");
  }
  const { userId } = await issuerUser(context, projectId, { token, issuer, types: idTokenTypes });
  const { id: spaceId, organisationId } = space;
  return { kind: "user", userId, organisationId, spaceId, projectId };
}

/** Creates the one error for an unacceptable proof, so that it does not reveal users. */
function rejected(proof: "access token" | "session record"): AppError {
  return new AppError("invalid_credentials", `Cannot accept the ${proof} as it is not valid`);
}
