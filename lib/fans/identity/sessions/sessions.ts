/** Sessions: one per device that logged in, and the tokens that prove it. */

import { uuid } from "../../../auth/crypto/mod.ts";
import type { Clock, RandomBytes, Tokens } from "../../../auth/mod.ts";
import { bearerToken, clockSkewSecondsMax, invalidToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { ClientInfo } from "../../../http/mod.ts";
import { Cache, chain, type Loaded, memoize, ParsedRecords } from "../../../storage/background/mod.ts";
import { decide, type ReadBoard, type ReadRecord, type Rule, type Store } from "../../../storage/mod.ts";
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
  accessTokenTtlSecondsMax,
  boardRead,
  createIdentityTokens,
  cutoffOf,
  cutoffRead,
  cutoffWrite,
  endWrites,
  type IdentityTokens,
  isLiveSession,
  liveRow,
  newSession,
  rowWrites,
  type Session,
  type SessionClaims,
  type SessionDevice,
  type SessionRow,
  type SessionTokens,
  sessionEnd,
  sessionOf,
  sessionRead,
  sessionsPerUserMax,
} from "./session.ts";

/** Most users, and sessions, that a process keeps in parsed form. */
const authenticatedMax = 10_000;

export interface Authenticated {
  readonly user: User;
  readonly session: Session;
  readonly project: Project;
}

export function deviceOf(
  deviceId: string,
  { request, info }: { readonly request: Request; readonly info: ClientInfo },
): SessionDevice {
  const userAgent = request.headers.get("user-agent") ?? "";
  return { deviceId, userAgent, address: info.address };
}

export interface OpenedSession {
  readonly session: Session;
  readonly tokens: SessionTokens;
}

/** Authorizes the holder of a verified token before anything is read or changed; an error refuses the request. */
type Authorize = (holder: ReturnType<typeof holderOf>) => unknown;

interface AuthenticateOptions {
  /** @default false */
  readonly acceptExpired?: boolean;
  /** @default all are authorized */
  readonly authorize?: Authorize;
}

interface RefreshInput {
  /** Must be the device of the session. */
  readonly deviceId: string;
  readonly refreshToken: string;
  readonly request: Request;
  /** Refuses users of other providers. @default any provider */
  readonly provider?: Provider;
  /** @default all are authorized */
  readonly authorize?: Authorize;
}

type LogoutScope = "local" | "others" | "global";

interface SessionsOptions {
  readonly store: Store;
  readonly users: Pick<Users, "parse">;
  readonly tokens: Tokens;
  readonly clock: Clock;
  readonly random: RandomBytes;
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
  authenticate(request: Request, project: Project, options?: AuthenticateOptions): Promise<Authenticated> {
    return this.authenticateToken(bearerOf(request), project, options);
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
    else await this.revokeAll(project.id, userId, { by: sid, except: scope === "others" ? sid : undefined });
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
  async revokeAll(projectId: string, userId: string, which: Omit<RevokeAll, "now"> = {}): Promise<number> {
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

/** Opens the session at its `createdAt`. The first to end make room for it; expired ones are removed. */
function openRule(session: Session): Rule<readonly [ReadRecord, ReadBoard], SessionRow> {
  const now = session.createdAt;
  return {
    reads: [cutoffRead, boardRead],
    // Deciding again puts the same row under the same id.
    idempotent: true,
    apply: ([storedCutoff, { entries }]) => {
      const cutoff = cutoffOf(storedCutoff);
      const row = { ...session, epoch: cutoff.epoch };
      const others = entries.filter(({ member }) => member !== session.sid);
      const over = others.filter(({ score }) => score <= now);
      const surplus = others.slice(
        over.length,
        Math.max(over.length, others.length - sessionsPerUserMax + 1),
      );
      const ended = [...over, ...surplus].flatMap(({ member }) => endWrites(member));
      return { writes: [...ended, ...rowWrites(row), cutoffWrite(cutoff, now)], answer: row };
    },
  };
}

type Refreshed =
  | { readonly type: "refreshed" | "reused"; readonly row: SessionRow; readonly user: User }
  | { readonly type: "banned"; readonly user: User }
  | { readonly type: "revoked" | "mismatch" | "otherProvider" };

/** A presented refresh token. Times in Unix ms. */
interface RefreshAttempt {
  readonly counter: number;
  readonly accessCounter: number;
  readonly sid: string;
  readonly deviceId: string;
  /** @default any */
  readonly provider: Provider | undefined;
  readonly now: number;
}

/** Advances the session, or ends it if the token was used before. */
function refreshRule(
  attempt: RefreshAttempt,
  users: Pick<Users, "parse">,
): Rule<readonly [ReadRecord, ReadRecord, ReadRecord], Refreshed> {
  const { sid, deviceId, provider, now } = attempt;
  return {
    reads: [userRead, sessionRead(sid), cutoffRead],
    // Deciding again finds the counter one ahead, which answers the same.
    idempotent: true,
    apply: ([storedUser, stored, cutoff]) => {
      const row = liveRow(stored, cutoff, now);
      if (storedUser === null || row === null) return { writes: [], answer: { type: "revoked" } };
      const user = users.parse(storedUser.value);
      if ((provider ?? user.provider) !== user.provider)
        return { writes: [], answer: { type: "otherProvider" } };
      if (isBanned(user, now)) return { writes: [], answer: { type: "banned", user } };
      if (row.deviceId !== deviceId) return { writes: [], answer: { type: "mismatch" } };
      const step = rotateSession(row, attempt, now);
      switch (step.type) {
        case "advanced":
          return { writes: rowWrites(step.row), answer: { type: "refreshed", row: step.row, user } };
        case "repeated":
          return { writes: [], answer: { type: "refreshed", row, user } };
        case "reused":
          return { writes: endWrites(sid), answer: { type: "reused", row, user } };
        case "unknown":
          return { writes: [], answer: { type: "revoked" } };
      }
    },
  };
}

/** Confirms that the answer of the last rotation arrived, unless there was another one since. */
export function confirmRule(sid: string, counter: number): Rule<readonly [ReadRecord], undefined> {
  return {
    reads: [sessionRead(sid)],
    idempotent: true,
    apply: ([stored]) => {
      const row = stored === null ? null : (JSON.parse(stored.value) as SessionRow);
      const isUnconfirmed = row !== null && row.counter === counter && !row.isConfirmed;
      return { writes: isUnconfirmed ? rowWrites({ ...row, isConfirmed: true }) : [], answer: undefined };
    },
  };
}

/** Ends one session; returns if it was alive at `now`, in Unix ms. */
function revokeRule(sid: string, now: number): Rule<readonly [ReadRecord, ReadRecord], boolean> {
  return {
    reads: [sessionRead(sid), cutoffRead],
    // Deciding again ends nothing more.
    idempotent: true,
    apply: ([stored, cutoff]) => ({
      writes: stored === null ? [] : endWrites(sid),
      answer: liveRow(stored, cutoff, now) !== null,
    }),
  };
}

/** The sessions that end at `now`, in Unix ms. */
interface RevokeAll {
  readonly now: number;
  /** A session that survives, if it is alive. */
  readonly except?: string | undefined;
  /** The session that asks: if it is over, nothing ends. */
  readonly by?: string;
  /** True where the user gets no new proofs of identity. Those from processes whose clocks are ahead end too. @default false */
  readonly isFinal?: boolean;
}

/** Ends all sessions and starts a new epoch; returns the number that ended. */
function revokeAllRule({
  now,
  except,
  by,
  isFinal = false,
}: RevokeAll): Rule<readonly [ReadRecord, ReadBoard, ReadRecord], number> {
  const named = except ?? by ?? "";
  return {
    reads: [cutoffRead, boardRead, sessionRead(named)],
    apply: ([storedCutoff, { entries }, stored]) => {
      const row = liveRow(stored, storedCutoff, now);
      if (by !== undefined && row === null) return { writes: [], answer: 0 };
      const at = isFinal ? now + clockSkewSecondsMax * 1_000 : now;
      const cutoff = { epoch: cutoffOf(storedCutoff).epoch + 1, at };
      const survivor = except === undefined ? null : row;
      const ended = entries.filter(({ member }) => member !== survivor?.sid);
      return {
        writes: [
          ...ended.flatMap(({ member }) => endWrites(member)),
          ...(survivor === null ? [] : rowWrites({ ...survivor, epoch: cutoff.epoch })),
          cutoffWrite(cutoff, now),
        ],
        answer: ended.filter(({ score }) => score > now).length,
      };
    },
  };
}

/** Time after a rotation for which the token before it is still accepted. */
const refreshGraceMs = 30_000;
/** The same while the answer of the rotation is unconfirmed: 24 hours. */
const refreshRetryMs = 24 * 3_600_000;

/** The outcome of a rotation: the session continues with `row`, the token is unknown, or the session must end. */
type SessionRotation =
  | { readonly type: "advanced" | "repeated"; readonly row: SessionRow }
  | { readonly type: "unknown" | "reused" };

/** Decides on a refresh at `now`, in Unix ms. */
function rotateSession(
  row: SessionRow,
  presented: Pick<RefreshAttempt, "counter" | "accessCounter">,
  now: number,
): SessionRotation {
  const { counter, rotatedAt } = row;
  if (presented.counter > counter) return { type: "unknown" };
  if (presented.counter === counter) {
    const next = { ...row, counter: counter + 1, rotatedAt: now, isConfirmed: false, lastSeen: now };
    return { type: "advanced", row: next };
  }
  const isConfirmed = row.isConfirmed || presented.accessCounter === counter;
  const acceptedMs = isConfirmed ? refreshGraceMs : refreshRetryMs;
  const isAccepted = presented.counter === counter - 1 && now - rotatedAt <= acceptedMs;
  return isAccepted ? { type: "repeated", row } : { type: "reused" };
}

/** Time for which a session may be accepted after it ended, in ms. */
export const sessionStalenessMsMax = 5_000;
const entriesMax = 100_000;

/** The origin of a token. */
export interface SessionClaim {
  readonly projectId: string;
  readonly userId: string;
  /** The session of the token; absent for a user without sessions. */
  readonly sessionId?: string;
  /** Time of the proof of identity, in Unix seconds: what ends all sessions ends older ones without a session too. @default 0 */
  readonly issuedAt?: number;
}

/** Refuses tokens of ended sessions. Create one per process, as it caches answers. */
export class SessionGuard {
  readonly #store: Store;
  readonly #clock: Clock;
  /** Unix seconds from which proofs count; infinite for a session that is over. */
  readonly #notBefore: Cache<number>;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
    this.#notBefore = new Cache({ entriesMax, maxAgeMs: sessionStalenessMsMax, clock });
  }

  /** Number of cached sessions and users. */
  get size(): number {
    return this.#notBefore.size;
  }

  /**
   * Accepts a token of a live session, or of a user who has not ended all sessions since; without a promise if that is cached.
   *
   * @throws {AppError} `session_revoked`; `storage_unavailable` if it is neither cached nor readable.
   */
  check(claim: SessionClaim): void | Promise<void> {
    const notBefore = this.#notBefore.getOrLoad(claimName(claim), () => this.#read(claim));
    return chain(notBefore, from => requireSince(claim, from));
  }

  async #read({ projectId, userId, sessionId }: SessionClaim): Promise<Loaded<number>> {
    const now = this.#clock();
    const partition = userPartition(projectId, userId);
    if (sessionId === undefined) {
      const [cutoff] = await this.#store.read(partition, [cutoffRead]);
      const { at } = cutoffOf(cutoff);
      // Proofs have whole seconds: one of the very second of the cut-off may be older.
      return { value: at === 0 ? 0 : Math.floor(at / 1_000) + 1 };
    }
    const [stored, cutoff] = await this.#store.read(partition, [sessionRead(sessionId), cutoffRead]);
    return liveRow(stored, cutoff, now) === null
      ? { value: Number.POSITIVE_INFINITY, until: now + accessTokenTtlSecondsMax * 1_000 }
      : { value: 0 };
  }
}

/** Written once per object: a token that is known has one. */
const claimName = memoize(({ projectId, userId, sessionId }: SessionClaim) =>
  JSON.stringify([projectId, userId, sessionId]),
);

function requireSince({ issuedAt = 0 }: SessionClaim, notBefore: number): void {
  if (issuedAt >= notBefore) return;
  throw new AppError("session_revoked", "Cannot serve the request as the session is over: log in again");
}
