import type { RemoteClaims, RemoteIssuers } from "../../../auth/remote_issuers/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import type { IdTokenSettings } from "./settings.ts";
import { type SocialVerifier, socialTokenRejected } from "./verifier.ts";

/**
 * Creates the verification of ID tokens of one provider. A client that has but one parameter for tokens sends the ID token
 * as its access token.
 */
export function createIdTokenVerifier(settings: IdTokenSettings, issuers: RemoteIssuers): SocialVerifier {
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
      const known = typeof nickname === "string" ? nickname : name;
      return {
        issuer: iss,
        subject: sub,
        appId: settings.audience,
        ...(typeof email === "string" ? { email } : {}),
        emailVerified: email_verified === true,
        ...(typeof known === "string" ? { nickname: known } : {}),
      };
    },
  };
}
