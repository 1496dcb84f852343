/**
 * Client tokens: what an app carries from the shop on, so that somebody without a session can ask for a new password.
 *
 * One token serves all installations of a project's app. It names the project and nobody, and proves no more than that
 * the request comes from something that was given the token.
 *
 * @module
 */

import { bearerToken, type Tokens } from "../../auth/mod.ts";
import { tokenTtlSecondsMax } from "../../auth/tokens/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { projectAudience } from "../sessions/identity_tokens.ts";

/** Life of a client token, in seconds: as long as a token may live. */
export const clientTokenTtlSeconds: number = tokenTtlSecondsMax;

/** Media types of the headers of client tokens and of users' access tokens. */
const tokenTypes = { client: "ct+jwt", access: "at+jwt" } as const;

/** Issues client tokens and recognises the bearers of requests for a new password. */
export interface ClientTokens {
  /** A token for the app of a project. */
  issue(projectId: string): Promise<string>;
  /**
   * Lets a request pass whose bearer is a client token of the project, or an access token of one of its users, which may
   * have expired: who forgot the password has no session to renew it.
   *
   * @throws {AppError} `missing_token`, `invalid_token`; `token_expired` for a client token.
   */
  check(request: Request, projectId: string): Promise<void>;
}

/** What client tokens need. */
export interface ClientTokensOptions {
  readonly tokens: Tokens;
  /** Address of the platform, without a trailing slash: the issuer of the tokens. */
  readonly publicUrl: string;
}

/** Creates the client tokens of all projects. */
export function createClientTokens({ tokens, publicUrl }: ClientTokensOptions): ClientTokens {
  return {
    issue: projectId =>
      tokens.sign({
        typ: tokenTypes.client,
        issuer: publicUrl,
        audience: projectAudience(projectId),
        subject: projectId,
        ttlSeconds: clientTokenTtlSeconds,
      }),
    async check(request, projectId) {
      const token = bearerToken(request.headers.get("authorization"));
      const expected = { issuer: publicUrl, audience: projectAudience(projectId) };
      try {
        await tokens.verify(token, { ...expected, typ: tokenTypes.client });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid_token") throw error;
        await tokens.verify(token, { ...expected, typ: tokenTypes.access, acceptExpired: true });
      }
    },
  };
}
