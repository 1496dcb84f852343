/**
 * Sessions as they are stored, all of a user's in the user's own partition:
 *
 * - record `session:<sid>`: the row, until the session ends;
 * - board `sessions`: every session id by the time at which it ends;
 * - record `cutoff`: the user's epoch, written again whenever the board gets a member, so that a decision based on an
 *   old board fails its check.
 *
 * A row is alive only in the user's current epoch. So one write ends all sessions, also a row that the board lacks.
 */

import { networkTag } from "../../../auth/client_address.ts";
import type { RandomBytes, Tokens } from "../../../auth/mod.ts";
import type { Claims } from "../../../auth/tokens/mod.ts";
import { invalidToken } from "../../../auth/tokens/mod.ts";
import { chain } from "../../../storage/background/mod.ts";
import type { ReadBoard, ReadRecord, Stored, Write } from "../../../storage/mod.ts";
import { keyName } from "../../../storage/names.ts";
import type { Project } from "../../directory/mod.ts";
import type { User } from "../users.ts";

/** Most sessions of a user; one more ends the one that was used least recently. */
export const sessionsPerUserMax = 20;
/** Age at which a session ends in any case, in ms: 90 days. */
export const sessionAgeMsMax: number = 90 * 24 * 3_600_000;
/** Time without a refresh after which a session ends, in ms: 30 days. */
export const sessionIdleMsMax: number = 30 * 24 * 3_600_000;

const userAgentCharactersMax = 256;
const sessionNetworkBits = { ipv4: 24, ipv6: 64 } as const;

/** More than a user may have, so that every read has all of them. */
const boardLimit = 100;

/** A session. Times in Unix ms. */
export interface Session {
  readonly sid: string;
  readonly userId: string;
  readonly deviceId: string;
  /** Number of rotations of the refresh token. */
  readonly counter: number;
  readonly rotatedAt: number;
  /** Set once an access token of the current counter was used, which proves that the last rotation arrived. */
  readonly isConfirmed: boolean;
  readonly createdAt: number;
  readonly lastSeen: number;
  /** Time of the user's last login. */
  readonly authenticatedAt: number;
  /** Time at which it ends in any case. */
  readonly expiresAt: number;
  /** Start of the User-Agent header of the login, or "". */
  readonly userAgent: string;
  /** Network of the client at login (`192.0.2.0/24`, `2001:db8::/64`), or "". */
  readonly addressTag: string;
}

export interface SessionDevice {
  readonly deviceId: string;
  /** The User-Agent header. @default "" */
  readonly userAgent?: string;
  /** Address of the client. @default unknown */
  readonly address?: string | undefined;
}

/** Makes the session of a login at `now`, in Unix ms. */
export function newSession(
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

export interface SessionRow extends Session {
  /** The user's epoch in which the session was opened, or survived the end of the others. */
  readonly epoch: number;
}

/** The last end of all sessions of a user. */
interface Cutoff {
  readonly epoch: number;
  /** Unix ms; 0 for none. */
  readonly at: number;
}

export function sessionRead(sid: string): ReadRecord {
  return { type: "record", key: sessionKey(sid) };
}

export const cutoffRead: ReadRecord = { type: "record", key: "cutoff" };

/** Reads the user's sessions, by the time at which they end. */
export const boardRead: ReadBoard = { type: "board", key: "sessions", limit: boardLimit };

/** That of a user who never ended all sessions, as nearly all users. */
const noCutoff: Cutoff = { epoch: 0, at: 0 };
const noCutoffText = JSON.stringify(noCutoff);

export function cutoffOf(stored: Stored | null): Cutoff {
  if (stored === null || stored.value === noCutoffText) return noCutoff;
  return JSON.parse(stored.value) as Cutoff;
}

/** Decodes a row; null if its session is over at `now` (Unix ms). */
export function liveRow(stored: Stored | null, cutoff: Stored | null, now: number): SessionRow | null {
  if (stored === null) return null;
  const row = JSON.parse(stored.value) as SessionRow;
  return isLiveSession(row, cutoff, now) ? row : null;
}

/** Tests if the session is alive at `now`, in Unix ms. */
export function isLiveSession(row: SessionRow, cutoff: Stored | null, now: number): boolean {
  return row.epoch === cutoffOf(cutoff).epoch && now < sessionEnd(row);
}

/** Computes the end of the session unless it is refreshed before, in Unix ms. */
export function sessionEnd({ expiresAt, lastSeen }: Session): number {
  return Math.min(expiresAt, lastSeen + sessionIdleMsMax);
}

export function rowWrites(row: SessionRow): Write[] {
  const { sid, createdAt } = row;
  const end = sessionEnd(row);
  return [
    { type: "put", key: sessionKey(sid), value: JSON.stringify(row), expireAt: end },
    { type: "score", op: "set", key: "sessions", member: sid, score: end, tie: createdAt },
  ];
}

export function endWrites(sid: string): Write[] {
  return [
    { type: "delete", shape: "record", key: sessionKey(sid) },
    { type: "unscore", key: "sessions", member: sid },
  ];
}

/** Makes the write of the cut-off, which outlives every session that was opened until `now` (Unix ms). */
export function cutoffWrite(cutoff: Cutoff, now: number): Write {
  const expireAt = now + sessionAgeMsMax + sessionIdleMsMax;
  return { type: "put", key: "cutoff", value: JSON.stringify(cutoff), expireAt };
}

export function sessionOf({ epoch: _, ...session }: SessionRow): Session {
  return session;
}

function sessionKey(sid: string): string {
  return keyName("session", sid);
}

/** The longest life of an access token, in seconds. */
export const accessTokenTtlSecondsMax = 600;
/** The shortest life: lives differ by 5 %, so that clients that logged in together refresh apart. */
const accessTokenTtlSecondsMin = 570;

const userScope: readonly string[] = ["audience:read", "audience:write"];

/** The tokens of a session: JWTs. */
export interface SessionTokens {
  readonly accessToken: string;
  readonly profileToken: string;
  readonly refreshToken: string;
}

export interface SessionClaims {
  readonly userId: string;
  readonly sid: string;
  readonly counter: number;
}

export type IdentityTokens = ReturnType<typeof createIdentityTokens>;

export function createIdentityTokens(tokens: Tokens, random: RandomBytes, issuer: string) {
  return {
    /** Issues the tokens of a session. The refresh token expires at `endsAt`, in Unix ms. */
    async issue(
      project: Project,
      user: User,
      session: Session & { readonly endsAt: number },
    ): Promise<SessionTokens> {
      const { sid, deviceId, counter } = session;
      const common = { issuer, audience: projectAudience(project.id), subject: user.userId };
      const ttlSeconds = accessTokenTtlSecondsMax - jitter(random);
      const { id: projectId, organisationId: orgId } = project;
      const access = { orgId, scope: userScope, projectId, sid, did: deviceId, rc: counter };
      const refreshSeconds = Math.max(1, Math.ceil((session.endsAt - session.lastSeen) / 1_000));
      const [accessToken, profileToken, refreshToken] = await Promise.all([
        tokens.sign({ ...common, typ: "at+jwt", ttlSeconds, claims: access }),
        tokens.sign({ ...common, typ: "pt+jwt", ttlSeconds, claims: profileOf(user) }),
        tokens.sign({ ...common, typ: "rt+jwt", ttlSeconds: refreshSeconds, claims: { sid, ctr: counter } }),
      ]);
      return { accessToken, profileToken, refreshToken };
    },
    /**
     * Reads an access token of the project, without a promise if it was verified before.
     *
     * @throws {AppError} `invalid_token`, `token_expired`.
     */
    readAccess(
      token: string,
      project: Project,
      acceptExpired: boolean,
    ): SessionClaims | Promise<SessionClaims> {
      return chain(tokens.verify(token, expectation("at+jwt", project, acceptExpired)), accessClaims);
    },
    /**
     * Reads a refresh token of the project. Its age is checked with the session.
     *
     * @throws {AppError} `invalid_token`.
     */
    async readRefresh(token: string, project: Project): Promise<SessionClaims> {
      const claims = await tokens.verify(token, expectation("rt+jwt", project, true));
      return sessionClaims(claims, claims.ctr);
    },
  };

  function expectation(typ: string, project: Project, acceptExpired: boolean) {
    return { typ, issuer, audience: projectAudience(project.id), acceptExpired };
  }
}

export function projectAudience(projectId: string): string {
  return `urn:grandstand:project:${projectId}`;
}

function jitter(random: RandomBytes): number {
  const [byte = 0] = random(1);
  return Math.floor((byte / 256) * (accessTokenTtlSecondsMax - accessTokenTtlSecondsMin + 1));
}

function profileOf({ username, account }: User): Record<string, unknown> {
  if (account === undefined) return { username };
  return { username, email: account.email, nickname: account.nickname };
}

function accessClaims(claims: Claims): SessionClaims {
  return sessionClaims(claims, claims.rc);
}

function sessionClaims({ sub: userId, sid }: Claims, counter: unknown): SessionClaims {
  if (typeof sid !== "string" || typeof counter !== "number") throw invalidToken("claims");
  return { userId, sid, counter };
}
