/**
 * Sessions of users: one row per device that logged in, and the tokens that prove it.
 *
 * @module
 */

import type { Project } from "../../directory/mod.ts";
import type { Provider, User } from "../users.ts";

/** Most sessions that a user keeps; one more ends the one that was used least recently. */
export const sessionsPerUserMax = 20;

/** A session as it is stored. Times in Unix ms. */
export interface Session {
  readonly sid: string;
  readonly userId: string;
  readonly deviceId: string;
  /** How often the refresh token was rotated. */
  readonly counter: number;
  readonly rotatedAt: number;
  /** Whether an access token of the current counter was seen, so that its holder surely got the last rotation. */
  readonly isConfirmed: boolean;
  readonly createdAt: number;
  readonly lastSeen: number;
  /** When the user last proved a credential. */
  readonly authenticatedAt: number;
  /** When it ends whatever happens. */
  readonly expiresAt: number;
  /** Start of the User-Agent header of the login, or "". */
  readonly userAgent: string;
  /** Network of the client at login (`192.0.2.0/24`, `2001:db8::/64`), or "". */
  readonly addressTag: string;
}

/** The tokens of a session: JWTs. */
export interface SessionTokens {
  readonly accessToken: string;
  readonly profileToken: string;
  readonly refreshToken: string;
}

/** Who a request speaks for. */
export interface Authenticated {
  readonly user: User;
  readonly session: Session;
  readonly project: Project;
}

/** Where a user logs in. */
export interface SessionDevice {
  readonly deviceId: string;
  /** The User-Agent header. @default "" */
  readonly userAgent?: string;
  /** Address of the client. @default unknown */
  readonly address?: string;
}

/** A session with tokens that were just made for it. */
export interface OpenedSession {
  readonly session: Session;
  readonly tokens: SessionTokens;
}

/** Whose token it is, once its signature was checked. */
export interface SessionHolder {
  readonly userId: string;
  readonly sessionId: string;
}

/** Sees the holder before anything is read or changed; what it throws refuses the request. */
export type Admit = (holder: SessionHolder) => Promise<void> | void;

/** How a request's access token is judged. */
export interface AuthenticateOptions {
  /** @default false */
  readonly acceptExpired?: boolean;
  /** @default admits everybody */
  readonly admit?: Admit;
}

/** What a client sends for new tokens. */
export interface RefreshInput {
  /** Must be the session's. */
  readonly deviceId: string;
  readonly refreshToken: string;
  /** Carries an access token of the same session, expired or not. */
  readonly request: Request;
  /** Refuses users of other providers. @default any provider */
  readonly provider?: Provider;
  /** @default admits everybody */
  readonly admit?: Admit;
}

/** Which sessions of the user a logout ends. */
export type LogoutScope = "local" | "others" | "global";

/** Opens, checks, renews and ends sessions. */
export interface Sessions {
  /** Starts a session of a user who has just proved a credential. Beyond the bound the user's oldest one ends. */
  open(project: Project, user: User, device: SessionDevice): Promise<OpenedSession>;
  /**
   * The user whose access token (of this project) the request carries. User, session and cut-off are read in one round
   * trip at every call, so that a revoked session is refused at once.
   *
   * @throws {AppError} `missing_token`, `token_expired` (unless `acceptExpired`, as refresh, logout and the ways to a
   * new password have it), `invalid_token`, `session_revoked`, `account_banned`.
   */
  authenticate(request: Request, project: Project, options?: AuthenticateOptions): Promise<Authenticated>;
  /** As {@linkcode authenticate}, where the token did not come in an Authorization header. */
  authenticateToken(token: string, project: Project, options?: AuthenticateOptions): Promise<Authenticated>;
  /**
   * New tokens for a refresh token. The bearer of the request must be an access token, expired or not, of the same
   * session. Racers with one refresh token all get the same successor.
   *
   * @throws {AppError} `missing_token`, `invalid_token`, `token_expired`, `device_mismatch`, `session_revoked`,
   * `account_banned`; `refresh_token_reused`: a superseded token was presented, and the session ended with that.
   */
  refresh(project: Project, input: RefreshInput): Promise<OpenedSession & { readonly user: User }>;
  /**
   * Logs out by the access token of the request, expired or not: `local` (the default) ends its session, `others` all but
   * that, `global` all. Where its session is over already nothing happens, so that a lost token ends nobody's sessions.
   *
   * @throws {AppError} `missing_token`, `invalid_token`.
   */
  logOut(
    request: Request,
    project: Project,
    options?: { readonly scope?: LogoutScope; readonly admit?: Admit },
  ): Promise<void>;
  /** The user's live sessions, the one that expires first at the start. */
  list(projectId: string, userId: string): Promise<readonly Session[]>;
  /** Ends one session; whether it was alive. */
  revoke(projectId: string, userId: string, sid: string): Promise<boolean>;
  /** Ends all sessions (except one) and refuses older access tokens everywhere; the number that ended. */
  revokeAll(projectId: string, userId: string, options?: { readonly except?: string }): Promise<number>;
}
