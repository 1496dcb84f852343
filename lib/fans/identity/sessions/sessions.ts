/**
 * Sessions: one per device that logged in, and the tokens that prove it.
 *
 * @module
 */

import { uuid } from "../../../auth/crypto/mod.ts";
import { bearerToken, type Clock, invalidToken, type RandomBytes, type Tokens } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { ClientInfo } from "../../../http/mod.ts";
import { ParsedRecords } from "../../../storage/background/mod.ts";
import { decide, type ReadRecord, type Store } from "../../../storage/mod.ts";
import type { Project } from "../../directory/mod.ts";
import {
  accountBanned,
  isBanned,
  type Provider,
  type User,
  type Users,
  userPartition,
  userRead,
} from "../users.ts";
import {
  createIdentityTokens,
  type IdentityTokens,
  type SessionClaims,
  type SessionTokens,
} from "./identity_tokens.ts";
import { confirmRule, openRule, type RevokeAll, refreshRule, revokeAllRule, revokeRule } from "./rules.ts";
import {
  boardRead,
  cutoffRead,
  isLiveSession,
  liveRow,
  newSession,
  type Session,
  type SessionDevice,
  type SessionRow,
  sessionEnd,
  sessionOf,
  sessionRead,
} from "./session.ts";

/** Most users, and sessions, that a process keeps in parsed form. */
const authenticatedMax = 10_000;

/** The user of an authenticated request. */
export interface Authenticated {
  readonly user: User;
  readonly session: Session;
  readonly project: Project;
}

/** Describes the device of a login by its request. */
export function deviceOf(
  deviceId: string,
  { request, info }: { readonly request: Request; readonly info: ClientInfo },
): SessionDevice {
  const userAgent = request.headers.get("user-agent") ?? "";
  return { deviceId, userAgent, ...(info.address === undefined ? {} : { address: info.address }) };
}

/** A session with new tokens. */
export interface OpenedSession {
  readonly session: Session;
  readonly tokens: SessionTokens;
}

/** Authorizes the holder of a verified token before anything is read or changed; an error refuses the request. */
export type Authorize = (holder: ReturnType<typeof holderOf>) => Promise<void> | void;

/** Options of {@linkcode Sessions.authenticate}. */
export interface AuthenticateOptions {
  /** @default false */
  readonly acceptExpired?: boolean;
  /** @default all are authorized */
  readonly authorize?: Authorize;
}

/** A request for new tokens. */
export interface RefreshInput {
  /** Must be the device of the session. */
  readonly deviceId: string;
  readonly refreshToken: string;
  /** Carries an access token of the same session, expired or not. */
  readonly request: Request;
  /** Refuses users of other providers. @default any provider */
  readonly provider?: Provider;
  /** @default all are authorized */
  readonly authorize?: Authorize;
}

/** The sessions of the user that a logout ends. */
export type LogoutScope = "local" | "others" | "global";

export interface SessionsOptions {
  readonly store: Store;
  readonly users: Pick<Users, "parse">;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Issuer of the tokens. */
  readonly issuer: string;
  /** Called for every session that ended as a superseded refresh token was presented. @default nothing */
  readonly onReuse?: (projectId: string, session: Session) => void;
}

/** The sessions of all projects. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #tokens: IdentityTokens;
  readonly #users = new ParsedRecords(text => this.#options.users.parse(text), authenticatedMax);
  readonly #rows = new ParsedRecords(parseRow, authenticatedMax);

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#tokens = createIdentityTokens(options.tokens, options.random, options.issuer);
  }

  /** Starts a session of a user who has just proved a credential. Beyond the bound the user's oldest one ends. */
  async open(project: Project, user: User, device: SessionDevice): Promise<OpenedSession> {
    const { store, clock, random } = this.#options;
    const session = newSession(user.userId, device, { sid: uuid(random), now: clock() });
    const row = await decide(store, userPartition(project.id, user.userId), openRule(session));
    return { session, tokens: await this.#issue(project, user, row) };
  }

  /**
   * Authenticates the user by the access token (of this project) of a request. User, session and cut-off are read in
   * one round trip at every call, so that a revoked session is refused at once.
   *
   * @throws {AppError} `missing_token`, `token_expired` (unless `acceptExpired`), `invalid_token`, `session_revoked`,
   * `account_banned`.
   */
  async authenticate(
    request: Request,
    project: Project,
    options: AuthenticateOptions = {},
  ): Promise<Authenticated> {
    return await this.authenticateToken(bearerOf(request), project, options);
  }

  /** Authenticates the user of an access token, like {@linkcode authenticate}. */
  async authenticateToken(
    token: string,
    project: Project,
    { acceptExpired = false, authorize }: AuthenticateOptions = {},
  ): Promise<Authenticated> {
    const claims = await this.#tokens.readAccess(token, project, acceptExpired);
    await authorize?.(holderOf(claims));
    const { store, clock } = this.#options;
    const partition = userPartition(project.id, claims.userId);
    const [storedUser, stored, cutoff] = await store.read(partition, [
      userRead,
      sessionRead(claims.sid),
      cutoffRead,
    ]);
    const now = clock();
    if (storedUser === null || stored === null) throw sessionRevoked();
    const { row, session } = this.#rows.of(claims.sid, stored);
    if (!isLiveSession(row, cutoff, now)) throw sessionRevoked();
    const user = this.#users.of(partition, storedUser);
    if (isBanned(user, now)) throw accountBanned(user);
    if (row.isConfirmed || claims.counter !== row.counter) return { user, session, project };
    // Awaited: once this request is answered, the refresh token before this access token must not work any more.
    await decide(store, partition, confirmRule(row.sid, row.counter));
    return { user, session: sessionOf({ ...row, isConfirmed: true }), project };
  }

  /**
   * Exchanges a refresh token for new tokens. The bearer of the request must be an access token of the same session,
   * expired or not. Racers with one refresh token all get the same successor.
   *
   * @throws {AppError} `missing_token`, `invalid_token`, `token_expired`, `device_mismatch`, `session_revoked`,
   * `account_banned`; `refresh_token_reused`: a superseded token was presented, which ended the session.
   */
  async refresh(project: Project, input: RefreshInput): Promise<OpenedSession & { readonly user: User }> {
    const { store, users, clock, onReuse } = this.#options;
    const { deviceId, provider, authorize } = input;
    const presented = await this.#readPair(project, input);
    await authorize?.(holderOf(presented));
    const attempt = { ...presented, deviceId, provider, now: clock() };
    const outcome = await decide(
      store,
      userPartition(project.id, presented.userId),
      refreshRule(attempt, users),
    );
    switch (outcome.type) {
      case "refreshed": {
        const { row, user } = outcome;
        return { session: sessionOf(row), user, tokens: await this.#issue(project, user, row) };
      }
      case "reused":
        onReuse?.(project.id, sessionOf(outcome.row));
        throw refreshTokenReused();
      case "banned":
        throw accountBanned(outcome.user);
      case "mismatch":
        throw deviceMismatch();
      case "otherProvider":
        throw invalidToken("provider");
      case "revoked":
        throw sessionRevoked();
    }
  }

  /**
   * Logs out by the access token of the request, expired or not: `local` (the default) ends its session, `others` all
   * but that, `global` all. A session that is over ends nothing, so that a stolen old token is harmless.
   *
   * @throws {AppError} `missing_token`, `invalid_token`.
   */
  async logOut(
    request: Request,
    project: Project,
    { scope = "local", authorize }: { readonly scope?: LogoutScope; readonly authorize?: Authorize } = {},
  ): Promise<void> {
    const claims = await this.#tokens.readAccess(bearerOf(request), project, true);
    await authorize?.(holderOf(claims));
    const { userId, sid } = claims;
    if (scope === "local") await this.revoke(project.id, userId, sid);
    else {
      const except = scope === "others" ? { except: sid } : {};
      await this.#revokeAll(project.id, userId, { by: sid, ...except });
    }
  }

  /** Lists the user's live sessions, the one that expires first at the start. */
  async list(projectId: string, userId: string): Promise<readonly Session[]> {
    const { store, clock } = this.#options;
    const partition = userPartition(projectId, userId);
    const [{ entries }] = await store.read(partition, [boardRead]);
    const reads: ReadRecord[] = [cutoffRead, ...entries.map(({ member }) => sessionRead(member))];
    const [cutoff = null, ...rows] = await store.read(partition, reads);
    const now = clock();
    return rows.flatMap(stored => liveRow(stored, cutoff, now) ?? []).map(sessionOf);
  }

  /** Finds the user's newest live session on a device that was opened by the time `before` (Unix seconds), or null. */
  async findOnDevice(
    projectId: string,
    userId: string,
    { deviceId, before }: { readonly deviceId: string; readonly before: number },
  ): Promise<Session | null> {
    const opened = (await this.list(projectId, userId))
      .filter(session => session.deviceId === deviceId && session.createdAt < (before + 1) * 1_000)
      .sort((one, other) => one.createdAt - other.createdAt);
    return opened.at(-1) ?? null;
  }

  /** Issues an access token of the user's session on a device. Opens the session if there is none. */
  async accessTokenOn(project: Project, user: User, device: SessionDevice): Promise<string> {
    const { deviceId } = device;
    const before = Number.POSITIVE_INFINITY;
    const session = await this.findOnDevice(project.id, user.userId, { deviceId, before });
    const issued =
      session === null
        ? this.open(project, user, device).then(({ tokens }) => tokens)
        : this.#issue(project, user, session);
    return (await issued).accessToken;
  }

  /** Ends one session; false if it was over. */
  async revoke(projectId: string, userId: string, sid: string): Promise<boolean> {
    const { store, clock } = this.#options;
    return await decide(store, userPartition(projectId, userId), revokeRule(sid, clock()));
  }

  /** Ends all sessions (except one) and refuses older access tokens everywhere; returns the number that ended. */
  async revokeAll(
    projectId: string,
    userId: string,
    options: Pick<RevokeAll, "except" | "isFinal"> = {},
  ): Promise<number> {
    return await this.#revokeAll(projectId, userId, options);
  }

  async #revokeAll(projectId: string, userId: string, which: Omit<RevokeAll, "now">): Promise<number> {
    const { store, clock } = this.#options;
    const rule = revokeAllRule({ ...which, now: clock() });
    return await decide(store, userPartition(projectId, userId), rule);
  }

  /** Reads the access and the refresh token of a refresh, which must be of one session. */
  async #readPair(
    project: Project,
    { refreshToken, request }: RefreshInput,
  ): Promise<SessionClaims & { readonly accessCounter: number }> {
    const access = await this.#tokens.readAccess(bearerOf(request), project, true);
    const refresh = await this.#tokens.readRefresh(refreshToken, project);
    if (access.userId !== refresh.userId || access.sid !== refresh.sid) throw invalidToken("pair");
    return { ...refresh, accessCounter: access.counter };
  }

  async #issue(project: Project, user: User, session: Session): Promise<SessionTokens> {
    return await this.#tokens.issue(project, user, { ...session, endsAt: sessionEnd(session) });
  }
}

function parseRow(text: string): { readonly row: SessionRow; readonly session: Session } {
  const row = JSON.parse(text) as SessionRow;
  return { row, session: sessionOf(row) };
}

function holderOf({ userId, sid }: SessionClaims) {
  return { userId, sessionId: sid };
}

function bearerOf(request: Request): string {
  return bearerToken(request.headers.get("authorization"));
}

/** Creates the error for a session that is over. */
export function sessionRevoked(): AppError {
  return new AppError("session_revoked", "Cannot serve the request as the session is over: log in again");
}

function refreshTokenReused(): AppError {
  return new AppError(
    "refresh_token_reused",
    "Cannot refresh as this refresh token was replaced before: the session is over, log in again",
  );
}

function deviceMismatch(): AppError {
  return new AppError("device_mismatch", "Cannot refresh as the session belongs to another device");
}
