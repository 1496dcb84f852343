/**
 * Who pays for requests, and whose their idempotency keys are. Areas know nothing of quotas: their tables of routes are
 * given them here.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { type AudienceUser, type BackEnd, countActions } from "../audience/mod.ts";
import { keyedTag } from "../auth/crypto/mod.ts";
import { type ApiKeyPrincipal, deriveKey, type MasterSecret, networkTag } from "../auth/mod.ts";
import type { AnyRoute, Authorized, ContentLimit, FailureLimit, IdempotencySubject } from "../http/mod.ts";
import type { QuotaName, Quotas } from "../http/rate_limit/policies.ts";
import { clientNetworkBits } from "../identity/mod.ts";
import type { SpaceVisit } from "../space_tokens/mod.ts";

/** Longest name of a payer that a limiter is given as it is, in characters; of longer ones it is given a digest. */
export const payerCharsMax = 150;

/** Operations that are refused while their limit cannot be counted for all processes: they spend what is scarce. */
const failingClosed = /\/(redeem|export)$/;
/** Where users report actions of their own among those of back ends. */
const ownReports = /^\/api\/audience\/actions$/;

type Principal = AudienceUser | BackEnd | SpaceVisit | ApiKeyPrincipal;

interface Caller extends IdempotencySubject {
  readonly quota: QuotaName;
}

/** Limits the routes of the audience API by user and by key, and makes its POSTs repeatable. */
export function withAudienceLimits(routes: readonly AnyRoute[], quotas: Quotas): readonly AnyRoute[] {
  return withIdempotency(routes).map(route => ({
    ...route,
    rateLimit: {
      rules: call => quotas[callerOf(call).quota],
      subject: call => rateLimitSubject(callerOf(call)),
      ...(failingClosed.test(route.path) ? { onLimiterFailure: "reject" } : {}),
      ...(ownReports.test(route.path) ? { content: reportedContent(quotas) } : {}),
    },
  }));
}

/** What users report of themselves is paid from one quota, however many they report at once and on whichever path. */
function reportedContent({ loyaltyAction: rules }: Quotas): ContentLimit<unknown> {
  return {
    rules,
    subject: call => rateLimitSubject({ ...callerOf(call), quota: "loyaltyAction" }),
    units: call => (callerOf(call).quota === "user" ? countActions(call.body) : 0),
  };
}

/** Limits the actions that users report. */
export function withLoyaltyLimits(routes: readonly AnyRoute[], quotas: Quotas): readonly AnyRoute[] {
  if (quotas.loyaltyAction.length === 0) return routes;
  return routes.map(route =>
    route.operation !== "reportAction"
      ? route
      : {
          ...route,
          rateLimit: {
            rules: quotas.loyaltyAction,
            subject: call => rateLimitSubject({ ...callerOf(call), quota: "loyaltyAction" }),
          },
        },
  );
}

/** Makes the POSTs of a table repeatable with an `Idempotency-Key`. */
export function withIdempotency(routes: readonly AnyRoute[]): readonly AnyRoute[] {
  return routes.map(route =>
    route.method === "POST" ? { ...route, idempotent: { subject: callerOf } } : route,
  );
}

/** Wrong credentials are paid for by the network of the client, under a tag that does not tell its address. */
export function createFailureLimit(quotas: Quotas, secret: MasterSecret): FailureLimit {
  const key = deriveKey(secret, "failed_authentication");
  return {
    rules: quotas.failure,
    subject: ({ address = "" }) =>
      `failure:${keyedTag(key, [networkTag(address, clientNetworkBits) ?? address.toWellFormed()])}`,
  };
}

function callerOf({ principal }: Authorized<unknown>): Caller {
  const known = principal as Principal;
  if (!("space" in known)) return keyOf(known.organisationId, known.keyId);
  const { id: spaceId, organisationId } = known.space;
  if (!("caller" in known)) {
    return known.kind === "backEnd"
      ? keyOf(organisationId, known.keyId)
      : userOf(organisationId, spaceId, known.member.userId);
  }
  return known.caller.kind === "service"
    ? keyOf(organisationId, known.caller.keyId)
    : userOf(organisationId, spaceId, known.caller.userId);
}

function keyOf(organisationId: string, keyId: string): Caller {
  return { quota: "key", organisationId, caller: `key:${keyId}` };
}

function userOf(organisationId: string, spaceId: string, userId: string): Caller {
  return { quota: "user", organisationId, caller: `user:${spaceId}:${userId}` };
}

function rateLimitSubject({ quota, caller }: Caller): string {
  const bounded = caller.length <= payerCharsMax ? caller : bytesToHex(sha256(utf8ToBytes(caller)));
  return `${quota}:${bounded}`;
}
