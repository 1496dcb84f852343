/** The redirect flow of OpenID providers: the app sends the browser to the provider, and gets tokens for the code that comes back. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { idTokenTypes, type RemoteIssuer, remoteUrl } from "../../../auth/remote_issuers/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { identityEnvelope, named } from "../../../http/mod.ts";
import type { IdentityContext } from "../context.ts";
import { openIdLoginMsMax } from "../openid_logins.ts";
import { answerOf, type OperationCall, operation, SessionAnswer } from "../operations.ts";
import { loginIssuer, type SocialProvider, socialProviders } from "../settings.ts";
import type { User } from "../users.ts";
import { anonymousPairEntries, sessionReply } from "./managed_pool/pool_user.ts";
import { mergeAnonymous } from "./managed_pool/register.ts";
import { vouchedUser } from "./social_check.ts";
import { hostedUser, issuerUser, logInVouchedUser } from "./vouched_users.ts";

const hintCharactersMax = 254;
const codeCharactersMax = 2_048;
const tokenCharactersMax = 16_384;

type Provider = "hostedIdp" | SocialProvider;

const provider = {
  strategies: ["email", "simplified"],
  providers: ["hostedIdp", ...socialProviders],
} as const;

const text = (description: string, maxLength: number) =>
  v.pipe(
    v.string(),
    v.description(description),
    v.minLength(1),
    v.maxLength(maxLength),
    v.check(value => value.isWellFormed(), "Expected well-formed Unicode"),
  );

const ReturnSchema = v.pipe(
  v.string(),
  v.description(
    "Page of the app that the provider sends the user back to, registered there as the redirect address",
  ),
  v.check(text => remoteUrl(text) !== undefined, "Expected an https address without a fragment"),
);

const BegunAnswer = named(
  "OpenIdLogin",
  answerOf(
    v.strictObject({
      url: v.pipe(v.string(), v.description("Address at the provider to send the browser to")),
      state: v.pipe(v.string(), v.description("The state that the provider sends back")),
      key: v.pipe(v.string(), v.description("Secret of this login: keep it in the app, in no address")),
      expiresIn: v.pipe(v.number(), v.integer(), v.description("Seconds")),
    }),
  ),
);

/** Begins a login: returns the address at the provider. */
export function beginOpenIdLogin(context: IdentityContext) {
  const { openIdLogins, limiter } = context;
  return operation({
    ...provider,
    entries: {
      data: v.pipe(
        v.object({
          returnTo: ReturnSchema,
          loginHint: v.exactOptional(
            text("The user's address or name at the provider, if the app knows it", hintCharactersMax),
          ),
        }),
        v.description("Where the login ends"),
      ),
    },
    responses: { 200: { description: "Where to send the browser", schema: BegunAnswer } },
    isLookup: true,
    async run({ provider: name, data: { returnTo, loginHint } }, { project, info }) {
      await limiter.attempt("openIdLogin", { projectId: project.id, address: info.address });
      const { issuer, audience: clientId, login } = loginIssuer(project, name);
      if (!login.returnOrigins.includes(new URL(returnTo).origin)) {
        const detail = "Expected an address of one of the provider's returnOrigins";
        throw invalidField("Cannot send the user back there", "/data/returnTo", detail);
      }
      const key = openIdLogins.newKey();
      const begun = { projectId: project.id, provider: name, returnTo, key };
      const { state, nonce, verifier } = openIdLogins.partsOf(begun);
      const more = {
        scope: login.scope,
        state,
        nonce,
        ...(login.responseMode === undefined ? {} : { response_mode: login.responseMode }),
        ...(loginHint === undefined ? {} : { login_hint: loginHint }),
      };
      const client = { issuer, clientId };
      const url = await openIdLogins.flow.authorizationUrl(client, { redirectUri: returnTo, verifier }, more);
      return identityEnvelope({ url, state, key, expiresIn: openIdLoginMsMax / 1_000 });
    },
  });
}

const ConfirmSchema = v.object({
  code: text("The code that the provider sent back", codeCharactersMax),
  state: text("The state that the provider sent back", 128),
  key: text("The key of the login", 128),
  returnTo: ReturnSchema,
  ...anonymousPairEntries,
});

/** Ends a login: exchanges the provider's code, and logs its user in. A login ends once, whatever comes of it. */
export function confirmOpenIdLogin(context: IdentityContext) {
  const { openIdLogins, issuers, limiter, random } = context;
  return operation({
    ...provider,
    entries: {
      data: v.pipe(
        ConfirmSchema,
        v.description("What the provider sent back, the login, and the anonymous user of the device"),
      ),
    },
    responses: { 200: { description: "The session record with tokens", schema: SessionAnswer } },
    async run({ provider: name, data }, call) {
      const { project, info } = call;
      await limiter.attempt("openIdConfirm", { projectId: project.id, address: info.address });
      const issuer = loginIssuer(project, name);
      const client = { issuer: issuer.issuer, clientId: issuer.audience };
      const { code, state, key, returnTo, deviceId = uuid(random) } = data;
      const begun = { projectId: project.id, provider: name, returnTo, key };
      if (!(await openIdLogins.end(begun, state))) throw invalidLogin();
      const { verifier, nonce } = openIdLogins.partsOf(begun);
      const idToken = await openIdLogins.flow.redeem(client, { redirectUri: returnTo, verifier }, code);
      if (idToken === null) throw invalidLogin();
      // Else the code of somebody else's login at the same app would do.
      if ((await issuers.verify(idToken, issuer)).nonce !== nonce) throw invalidLogin();
      const user = await userOf(context, call, { provider: name, idToken, issuer });
      call.note({ userId: user.userId });
      return await loggedIn(context, call, { user, deviceId, pair: data });
    },
  });
}

/** Logs in the user of a token that the app has from the provider. */
export function logInHostedUser(context: IdentityContext) {
  return operation({
    strategies: ["email"],
    providers: ["hostedIdp"],
    entries: {
      data: v.pipe(
        v.object({ token: text("Token of the provider", tokenCharactersMax), ...anonymousPairEntries }),
        v.description("The token, and the anonymous user of the device"),
      ),
    },
    responses: { 200: { description: "The session record with tokens", schema: SessionAnswer } },
    async run({ data }, call) {
      const { token, deviceId = uuid(context.random) } = data;
      const user = await hostedUser(context, call, token);
      return await loggedIn(context, call, { user, deviceId, pair: data });
    },
  });
}

/** Opens a session, and merges the anonymous user of the device into its user. */
async function loggedIn(
  context: IdentityContext,
  call: OperationCall,
  login: {
    readonly user: User;
    readonly deviceId: string;
    readonly pair: Parameters<typeof mergeAnonymous>[2]["pair"];
  },
) {
  const { user, deviceId, pair } = login;
  const opened = await logInVouchedUser(context, call, { user, deviceId });
  await mergeAnonymous(context, call, { pair, into: user.userId });
  return await sessionReply(context, call.project.id, opened);
}

interface VerifiedToken {
  readonly provider: Provider;
  readonly idToken: string;
  readonly issuer: RemoteIssuer;
}

async function userOf(
  context: IdentityContext,
  call: OperationCall,
  { provider: name, idToken, issuer }: VerifiedToken,
): Promise<User> {
  const { project } = call;
  if (name === "hostedIdp") {
    return await issuerUser(context, project.id, { token: idToken, issuer, types: idTokenTypes });
  }
  const identity = await context.socialVerifiers.of(project, name).verify({ idToken });
  return await vouchedUser(context, call, { provider: name, identity });
}

function invalidLogin(): AppError {
  return new AppError(
    "invalid_code",
    "Cannot log in as the code, the state or the key is wrong, spent or too old",
  );
}
