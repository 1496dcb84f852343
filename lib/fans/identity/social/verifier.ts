/**
 * The port of social providers, which vouch for users.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";

/** The tokens that a client presents of a social provider. */
export interface SocialProof {
  /** The id that the user claims to have there; must be the token's. */
  readonly userId?: string | undefined;
  readonly accessToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** A user that a social provider vouches for. */
export interface SocialIdentity {
  readonly issuer: string;
  /** The user's id there. */
  readonly subject: string;
  /** The application that the token was issued to: always the configured one. */
  readonly appId: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  readonly nickname?: string;
}

/** Verifies proofs of one social provider. */
export interface SocialVerifier {
  /**
   * Verifies a proof and returns its user. A doubtful proof is refused.
   *
   * @throws {AppError} `social_token_rejected`: no token, an invalid one, or one of another application or user;
   * `provider_unavailable`, `provider_error`.
   */
  verify(proof: SocialProof): Promise<SocialIdentity>;
}

/** Creates the one error for an unacceptable proof. The cause is for the log alone. */
export function socialTokenRejected(cause: unknown): AppError {
  return new AppError("social_token_rejected", "Cannot accept the token of the social provider", { cause });
}
