/** Adds rate limits and idempotency to the routes of areas, which know nothing of quotas. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { networkTag } from "../auth/client_address.ts";
import { deriveKey, keyedTag } from "../auth/crypto/mod.ts";
import type { ApiKeyPrincipal, MasterSecret } from "../auth/mod.ts";
import type { Author } from "../authoring/control/mod.ts";
import { countActions } from "../fans/audience/actions/check_actions.ts";
import type { AudienceUser, BackEnd } from "../fans/audience/http/guards.ts";
import { clientNetworkBits } from "../fans/identity/limits/limits.ts";
import type { SpaceVisit } from "../fans/space_tokens/mod.ts";
import {
  type AnyRoute,
  type Authorized,
  type ContentLimit,
  type FailureLimit,
  type IdempotencySubject,
  open,
  type RateLimit,
} from "../http/mod.ts";
import type { QuotaName, Quotas } from "../http/rate_limit/policies.ts";
import { memoize } from "../storage/background/mod.ts";
import type { LimitRule } from "../storage/mod.ts";
import { tokenOfCaller } from "./back_end_guards.ts";

/** Maximum length of a caller in a limiter subject, in characters. Longer names are hashed. */
export const callerCharsMax = 150;

/** Paths that are rejected while the shared limiter fails, because they spend scarce resources. */
const failingClosed = /\/(redeem|export)$/;
const actionReports = /^\/api\/audience\/actions$/;

type Principal = AudienceUser | BackEnd | SpaceVisit | ApiKeyPrincipal;

interface Caller extends IdempotencySubject {
  readonly quota: QuotaName;
}

export function withAudienceLimits(routes: readonly AnyRoute[], quotas: Quotas): readonly AnyRoute[] {
  const keyed = [...quotas.user, ...quotas.userKeys];
  return withIdempotency(routes).map(route => ({
    ...route,
    rateLimit: {
      rules: call => {
        const { quota } = callerOf(call);
        return quota === "user" && storesAnswer(route, call) ? keyed : quotas[quota];
      },
      subject: call => rateLimitSubject(callerOf(call)),
      ...(failingClosed.test(route.path) ? { onLimiterFailure: "reject" } : {}),
      ...(actionReports.test(route.path) ? { content: reportedContent(route, quotas) } : {}),
    },
  }));
}

function storesAnswer({ idempotent }: AnyRoute, { request }: Authorized<unknown>): boolean {
  return idempotent !== undefined && request.headers.has("idempotency-key");
}

/**
 * Counts each action that a user reports against one quota, in batches and on every path. With an idempotency key each result is stored
 * and counts as a key.
 */
function reportedContent(route: AnyRoute, { loyaltyAction, userKeys }: Quotas): ContentLimit<unknown> {
  const keyed = [...loyaltyAction, ...userKeys];
  return {
    rules: call => (storesAnswer(route, call) ? keyed : loyaltyAction),
    subject: call => rateLimitSubject({ ...callerOf(call), quota: "loyaltyAction" }),
    units: call => (callerOf(call).quota === "user" ? countActions(call.body) : 0),
  };
}

/** Limits the actions that users report, and their reads. Back ends have no limit on reads here. */
export function withLoyaltyLimits(routes: readonly AnyRoute[], quotas: Quotas): readonly AnyRoute[] {
  const { loyaltyAction, loyaltyRead } = quotas;
  return routes.map(route => {
    if (route.operation === "reportAction" && loyaltyAction.length > 0) {
      const subject: RateLimit<unknown>["subject"] = call =>
        rateLimitSubject({ ...callerOf(call), quota: "loyaltyAction" });
      return { ...route, rateLimit: { rules: loyaltyAction, subject } };
    }
    const isRead = userReads.includes(route.operation) && loyaltyRead.length > 0;
    return isRead ? { ...route, rateLimit: userReadLimit(quotas) } : route;
  });
}

const none: readonly LimitRule[] = [];
const userReads = ["getRewardsProfile", "listLoyaltyNotifications", "listLoyaltyHistory", "getCoupon"];

function userReadLimit({ loyaltyRead }: Quotas): RateLimit<unknown> {
  // The visit of a token that is seen again is the same object.
  const payerOf = memoize((principal: object) => {
    const caller = callerOf({ principal });
    const isLimited = caller.quota === "user";
    return { isLimited, subject: rateLimitSubject({ ...caller, quota: "loyaltyRead" }) };
  });
  return {
    rules: ({ principal }) => (payerOf(principal as Principal).isLimited ? loyaltyRead : none),
    subject: ({ principal }) => payerOf(principal as Principal).subject,
  };
}

/** Creations whose answers have a secret, which must not be stored. */
const tellsSecret = /\/(access_tokens|api_keys|rotate|sessions|verify)$/;

/** What another server does, which recognises repetitions itself: a stored answer would outlive its view. */
const isRelayed = /\/dispatch$/;

/**
 * Limits the requests of each access token to the control API, and those of each author to backends. Makes its POSTs and PATCHes
 * repeatable.
 */
export function withControlLimits(
  routes: readonly AnyRoute[],
  { control: rules, workflow }: Quotas,
): readonly AnyRoute[] {
  const callerOf = ({ principal }: Authorized<unknown>): Caller =>
    tokenCaller(null, (principal as Author).token.id);
  const subject = (call: Authorized<unknown>): string => rateLimitSubject(callerOf(call));
  const relayed: RateLimit<unknown> = {
    rules: workflow,
    subject: ({ principal }) => `workflow:user:${(principal as Author).user.id}`,
  };
  return routes.map(route => {
    if (route.auth === open) return route;
    if (isRelayed.test(route.path)) return workflow.length === 0 ? route : { ...route, rateLimit: relayed };
    const isRepeatable = ["POST", "PATCH"].includes(route.method) && route.body?.isStreamed !== true;
    return {
      ...route,
      ...(rules.length === 0 ? {} : { rateLimit: { rules, subject } }),
      ...(isRepeatable && !tellsSecret.test(route.path) ? { idempotent: { subject: callerOf } } : {}),
    };
  });
}

/** Limits the requests of access tokens to routes on which API keys have no limit. */
export function withTokenLimits(routes: readonly AnyRoute[], quotas: Quotas): readonly AnyRoute[] {
  if (quotas.control.length === 0) return routes;
  const rateLimit: RateLimit<unknown> = {
    rules: call => (callerOf(call).quota === "control" ? quotas.control : []),
    subject: call => rateLimitSubject(callerOf(call)),
  };
  return routes.map(route => (takesKeys(route) ? { ...route, rateLimit } : route));
}

function takesKeys({ auth }: AnyRoute): boolean {
  return auth.security.some(({ schemes }) => "apiKey" in schemes);
}

/** Makes the POSTs of a table repeatable with an `Idempotency-Key`, but for streamed bodies, which cannot be compared. */
export function withIdempotency(routes: readonly AnyRoute[]): readonly AnyRoute[] {
  return routes.map(route =>
    route.method === "POST" && route.body?.isStreamed !== true
      ? { ...route, idempotent: { subject: callerOf } }
      : route,
  );
}

/** Creates the limit on failed authentication by client network. A keyed tag hides the address. */
export function createFailureLimit(quotas: Quotas, secret: MasterSecret): FailureLimit {
  const key = deriveKey(secret, "failed_authentication");
  return {
    rules: quotas.failure,
    subject: ({ address = "" }) =>
      `failure:${keyedTag(key, [networkTag(address, clientNetworkBits) ?? address.toWellFormed()])}`,
  };
}

function callerOf({ principal }: Pick<Authorized<unknown>, "principal">): Caller {
  const typed = principal as Principal;
  if ("keyId" in typed) {
    return keyOf("space" in typed ? typed.space.organisationId : typed.organisationId, typed.keyId);
  }
  const { id: spaceId, organisationId } = typed.space;
  if (!("caller" in typed)) return userOf(organisationId, spaceId, typed.user.userId);
  return typed.caller.kind === "service"
    ? keyOf(organisationId, typed.caller.keyId)
    : userOf(organisationId, spaceId, typed.caller.userId);
}

function keyOf(organisationId: string, keyId: string): Caller {
  const token = tokenOfCaller(keyId);
  if (token !== null) return tokenCaller(organisationId, token);
  return { quota: "key", organisationId, caller: `key:${keyId}` };
}

function tokenCaller(organisationId: string | null, token: string): Caller {
  return { quota: "control", organisationId, caller: `token:${token}` };
}

function userOf(organisationId: string, spaceId: string, userId: string): Caller {
  return { quota: "user", organisationId, caller: `user:${spaceId}:${userId}` };
}

function rateLimitSubject({ quota, caller }: Caller): string {
  const bounded = caller.length <= callerCharsMax ? caller : bytesToHex(sha256(utf8ToBytes(caller)));
  return `${quota}:${bounded}`;
}
