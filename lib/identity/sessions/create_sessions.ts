import { uuid } from "../../auth/crypto/mod.ts";
import {
  bearerToken,
  type Clock,
  invalidToken,
  networkTag,
  type RandomBytes,
  type Tokens,
} from "../../auth/mod.ts";
import type { Project } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { decide, ParsedRecords, type ReadRecord, type Store } from "../../storage/mod.ts";
import { type User, userPartition } from "../users.ts";
import { accountBanned, isBanned } from "./ban.ts";
import { createIdentityTokens, type IdentityTokens, type SessionClaims } from "./identity_tokens.ts";
import {
  confirmRule,
  openRule,
  type RevokeAll,
  refreshRule,
  revokeAllRule,
  revokeRule,
  userRead,
} from "./rules.ts";
import {
  boardRead,
  cutoffRead,
  endOf,
  isLive,
  liveRow,
  type SessionRow,
  sessionAgeMsMax,
  sessionOf,
  sessionRead,
} from "./session_row.ts";
import type {
  Admit,
  Authenticated,
  AuthenticateOptions,
  LogoutScope,
  OpenedSession,
  RefreshInput,
  Session,
  SessionDevice,
  SessionHolder,
  Sessions,
  SessionTokens,
} from "./sessions.ts";

/** Most characters that are kept of a User-Agent header. */
export const userAgentCharactersMax = 256;
/** How much of a client's address a session keeps. */
const sessionNetworkBits = { ipv4: 24, ipv6: 64 } as const;

/** Number of users, and of sessions, that a process keeps in parsed form because their tokens were seen. */
export const authenticatedMax = 10_000;

/** What sessions need. */
export interface SessionsOptions {
  readonly store: Store;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Issuer of the tokens: address of the platform, without a trailing slash. */
  readonly publicUrl: string;
  /** Told of every session that ended because a superseded refresh token was presented. @default nobody is told */
  readonly onReuse?: (projectId: string, session: Session) => void;
}

/** Creates the sessions of all projects over a store. */
export function createSessions(options: SessionsOptions): Sessions {
  return new StoredSessions(options);
}

class StoredSessions implements Sessions {
  readonly #options: SessionsOptions;
  readonly #tokens: IdentityTokens;
  readonly #users = new ParsedRecords(text => JSON.parse(text) as User, authenticatedMax);
  readonly #rows = new ParsedRecords(parseRow, authenticatedMax);

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.#tokens = createIdentityTokens(options);
  }

  async open(project: Project, user: User, device: SessionDevice): Promise<OpenedSession> {
    const { store, clock, random } = this.#options;
    const session = newSession(user.userId, device, { sid: uuid(random), now: clock() });
    const row = await decide(store, userPartition(project.id, user.userId), openRule(session));
    return { session, tokens: await this.#issue(project, user, row) };
  }

  async authenticate(
    request: Request,
    project: Project,
    options: AuthenticateOptions = {},
  ): Promise<Authenticated> {
    return await this.authenticateToken(bearerOf(request), project, options);
  }

  async authenticateToken(
    token: string,
    project: Project,
    { acceptExpired = false, admit }: AuthenticateOptions = {},
  ): Promise<Authenticated> {
    const claims = await this.#tokens.readAccess(token, project, acceptExpired);
    await admit?.(holderOf(claims));
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
    if (!isLive(row, cutoff, now)) throw sessionRevoked();
    const user = this.#users.of(partition, storedUser);
    if (isBanned(user, now)) throw accountBanned(user);
    if (row.isConfirmed || claims.counter !== row.counter) return { user, session, project };
    // Awaited: once this request is answered, the refresh token before this access token must not work any more.
    await decide(store, partition, confirmRule(row.sid, row.counter));
    return { user, session: sessionOf({ ...row, isConfirmed: true }), project };
  }

  async refresh(project: Project, input: RefreshInput): Promise<OpenedSession & { readonly user: User }> {
    const { store, clock, onReuse } = this.#options;
    const { deviceId, provider, admit } = input;
    const presented = await this.#readPair(project, input);
    await admit?.(holderOf(presented));
    const attempt = { ...presented, deviceId, provider, now: clock() };
    const outcome = await decide(store, userPartition(project.id, presented.userId), refreshRule(attempt));
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
      case "elsewhere":
        throw invalidToken("provider");
      case "revoked":
        throw sessionRevoked();
    }
  }

  async logOut(
    request: Request,
    project: Project,
    { scope = "local", admit }: { readonly scope?: LogoutScope; readonly admit?: Admit } = {},
  ): Promise<void> {
    const claims = await this.#tokens.readAccess(bearerOf(request), project, true);
    await admit?.(holderOf(claims));
    const { userId, sid } = claims;
    if (scope === "local") await this.revoke(project.id, userId, sid);
    else {
      const except = scope === "others" ? { except: sid } : {};
      await this.#revokeAll(project.id, userId, { by: sid, ...except });
    }
  }

  async list(projectId: string, userId: string): Promise<readonly Session[]> {
    const { store, clock } = this.#options;
    const partition = userPartition(projectId, userId);
    const [{ entries }] = await store.read(partition, [boardRead]);
    const reads: ReadRecord[] = [cutoffRead, ...entries.map(({ member }) => sessionRead(member))];
    const [cutoff = null, ...rows] = await store.read(partition, reads);
    const now = clock();
    return rows.flatMap(stored => liveRow(stored, cutoff, now) ?? []).map(sessionOf);
  }

  async revoke(projectId: string, userId: string, sid: string): Promise<boolean> {
    const { store, clock } = this.#options;
    return await decide(store, userPartition(projectId, userId), revokeRule(sid, clock()));
  }

  async revokeAll(
    projectId: string,
    userId: string,
    options: { readonly except?: string } = {},
  ): Promise<number> {
    return await this.#revokeAll(projectId, userId, options);
  }

  async #revokeAll(projectId: string, userId: string, which: Omit<RevokeAll, "now">): Promise<number> {
    const { store, clock } = this.#options;
    const rule = revokeAllRule({ ...which, now: clock() });
    return await decide(store, userPartition(projectId, userId), rule);
  }

  /** What the access and the refresh token of a refresh say, which must be of one session. */
  async #readPair(
    project: Project,
    { refreshToken, request }: RefreshInput,
  ): Promise<SessionClaims & { readonly accessCounter: number }> {
    const access = await this.#tokens.readAccess(bearerOf(request), project, true);
    const refresh = await this.#tokens.readRefresh(refreshToken, project);
    if (access.userId !== refresh.userId || access.sid !== refresh.sid) throw invalidToken("pair");
    return { ...refresh, accessCounter: access.counter };
  }

  async #issue(project: Project, user: User, row: SessionRow): Promise<SessionTokens> {
    return await this.#tokens.issue(project, user, { ...row, endsAt: endOf(row) });
  }
}

function parseRow(text: string): { readonly row: SessionRow; readonly session: Session } {
  const row = JSON.parse(text) as SessionRow;
  return { row, session: sessionOf(row) };
}

function newSession(
  userId: string,
  { deviceId, userAgent = "", address }: SessionDevice,
  { sid, now }: { readonly sid: string; readonly now: number },
): Session {
  return {
    sid,
    userId,
    deviceId,
    counter: 0,
    rotatedAt: now,
    isConfirmed: false,
    createdAt: now,
    lastSeen: now,
    authenticatedAt: now,
    expiresAt: now + sessionAgeMsMax,
    userAgent: userAgent.slice(0, userAgentCharactersMax).toWellFormed(),
    addressTag: (address === undefined ? undefined : networkTag(address, sessionNetworkBits)) ?? "",
  };
}

function holderOf({ userId, sid }: SessionClaims): SessionHolder {
  return { userId, sessionId: sid };
}

function bearerOf(request: Request): string {
  return bearerToken(request.headers.get("authorization"));
}

function sessionRevoked(): AppError {
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
