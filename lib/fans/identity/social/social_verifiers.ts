import type { Clock } from "../../../auth/mod.ts";
import type { RemoteClaims, RemoteFetch, RemoteIssuers } from "../../../auth/remote_issuers/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Project } from "../../directory/mod.ts";
import {
  type IdTokenSettings,
  identitySetting,
  type SocialProvider,
  type SocialSettings,
} from "../settings.ts";
import { createTokenDebugVerifier } from "./token_debug.ts";
import { type SocialVerifier, socialTokenRejected } from "./verifier.ts";

/** The verifiers of all projects. Create one per process, as it knows which providers fail. */
export class SocialVerifiers {
  readonly #verifierOf: (settings: SocialSettings) => SocialVerifier;

  constructor(issuers: RemoteIssuers, fetch: RemoteFetch, clock: Clock) {
    this.#verifierOf = memoize((settings: SocialSettings) =>
      settings.style === "idToken"
        ? createIdTokenVerifier(settings, issuers)
        : createTokenDebugVerifier(settings, fetch, clock),
    );
  }

  /**
   * Returns the verifier of a project's provider.
   *
   * @throws {AppError} `unsupported_provider`: the project has no such provider; `provider_unavailable`: its settings
   * are invalid.
   */
  of(project: Project, provider: SocialProvider): SocialVerifier {
    const settings = identitySetting(project, provider);
    if (settings !== undefined) return this.#verifierOf(settings);
    throw new AppError("unsupported_provider", "Cannot check the user as the project has no such provider");
  }
}

/** Creates the verifier of ID tokens. A client with a single token parameter sends the ID token as its access token. */
function createIdTokenVerifier(settings: IdTokenSettings, issuers: RemoteIssuers): SocialVerifier {
  async function claimsOf(token: string): Promise<RemoteClaims> {
    try {
      return await issuers.verify(token, settings);
    } catch (error) {
      if (error instanceof AppError && (error.code === "invalid_token" || error.code === "token_expired")) {
        throw socialTokenRejected(error);
      }
      throw error;
    }
  }
  return {
    async verify({ userId, accessToken, idToken = accessToken }) {
      if (idToken === undefined) throw socialTokenRejected("no token");
      const { iss, sub, email, email_verified, nickname, name } = await claimsOf(idToken);
      if (userId !== undefined && userId !== sub) throw socialTokenRejected("subject");
      const shown = typeof nickname === "string" ? nickname : name;
      return {
        issuer: iss,
        subject: sub,
        appId: settings.audience,
        ...(typeof email === "string" ? { email } : {}),
        emailVerified: email_verified === true,
        ...(typeof shown === "string" ? { nickname: shown } : {}),
      };
    },
  };
}
