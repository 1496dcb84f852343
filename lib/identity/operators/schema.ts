/** What requests of operators carry and answer. */

import * as v from "valibot";
import { parseAddress } from "../../auth/mod.ts";
import { AuditCursorSchema } from "../audit/cursor.ts";
import { auditPageDefault, auditPageMax } from "../audit/places.ts";
import { UuidSchema } from "../operations.ts";

/** Longest reason of a ban, in characters. */
export const banReasonCharactersMax = 500;
/** Longest id of a user or session in a path, in characters. */
export const operatorIdCharactersMax = 128;

const id = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(operatorIdCharactersMax),
  v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
);

/** Path parameters of a project's routes, and of those of its users and their sessions. */
export interface OperatorParams {
  readonly projectId: string;
  readonly userId: string;
  readonly sessionId: string;
}

/** Checks the path of a project. */
export const ProjectParams: v.GenericSchema<unknown, Pick<OperatorParams, "projectId">> = v.object({
  projectId: UuidSchema,
});
/** Checks the path of a user. */
export const UserParams: v.GenericSchema<unknown, Omit<OperatorParams, "sessionId">> = v.object({
  projectId: UuidSchema,
  userId: id,
});
/** Checks the path of a session. */
export const SessionParams: v.GenericSchema<unknown, OperatorParams> = v.object({
  projectId: UuidSchema,
  userId: id,
  sessionId: id,
});

/** Which part of a trail is asked for. */
export interface PageQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/** Checks which part of a trail is asked for. */
export const PageQuerySchema: v.GenericSchema<unknown, PageQuery> = v.object({
  limit: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^[1-9]\d{0,3}$/, "Expected a positive integer"),
      v.transform(Number),
      v.maxValue(auditPageMax, `Expected at most ${auditPageMax}`),
    ),
    String(auditPageDefault),
  ),
  cursor: v.exactOptional(AuditCursorSchema),
});

/** A ban as an operator says it. */
export interface BanBody {
  readonly reason: string;
  /** Unix seconds; omitted: until it is lifted. */
  readonly until?: number;
}

/** Checks a ban. */
export const BanBodySchema: v.GenericSchema<unknown, BanBody> = v.object({
  reason: v.pipe(v.string(), v.minLength(1), v.maxLength(banReasonCharactersMax)),
  until: v.exactOptional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});

/** What to unlock besides the account. */
export interface UnlockQuery {
  /** The address whose failed logins are forgotten besides those of the account. */
  readonly address?: string;
}

/** Checks what to unlock. */
export const UnlockQuerySchema: v.GenericSchema<unknown, UnlockQuery> = v.object({
  address: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(text => parseAddress(text) !== undefined, "Expected an IP address"),
    ),
  ),
});

/** The answer without content. */
export const DoneSchema: v.GenericSchema = envelopeOf(v.object({}));
/** The answer with a user's ban. */
export const BanSchema: v.GenericSchema = envelopeOf(
  v.object({ userId: v.string(), reason: v.string(), until: v.nullable(v.number()) }),
);
/** The answer with a part of a trail. */
export const TrailSchema: v.GenericSchema = envelopeOf(
  v.object({
    entries: v.array(
      v.object({
        at: v.number(),
        event: v.string(),
        outcome: v.string(),
        provider: v.string(),
        requestId: v.string(),
        actor: v.exactOptional(v.string()),
        userId: v.exactOptional(v.string()),
        sessionId: v.exactOptional(v.string()),
        deviceId: v.exactOptional(v.string()),
        addressTag: v.exactOptional(v.string()),
        userAgentTag: v.exactOptional(v.string()),
      }),
    ),
    cursor: v.nullable(v.string()),
  }),
);
/** The answer with a user's sessions. */
export const SessionsSchema: v.GenericSchema = envelopeOf(
  v.object({
    sessions: v.array(
      v.object({
        sessionId: v.string(),
        deviceId: v.string(),
        createdAt: v.number(),
        lastSeen: v.number(),
        expiresAt: v.number(),
        userAgent: v.string(),
        addressTag: v.string(),
      }),
    ),
  }),
);
/** The answer with the number of sessions that ended. */
export const RevokedSchema: v.GenericSchema = envelopeOf(v.object({ revoked: v.number() }));

function envelopeOf(data: v.GenericSchema): v.GenericSchema {
  return v.object({ result: v.literal(1), message: v.string(), data });
}
