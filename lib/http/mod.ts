/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export { bodyBytesMaxDefault, bodyMsMaxDefault, systemTimer, type Timer } from "./body.ts";
export { canonicalJson } from "./canonical_json.ts";
export { chain } from "./chain.ts";
export { type CorsOptions, corsRequestHeaders, corsResponseHeaders } from "./cors.ts";
export {
  admitChange,
  type ChangeOptions,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "./etag.ts";
export { createHandler, type HandlerOptions } from "./handler.ts";
export { hotTargetCharsMax, hotTargetsMax } from "./hot_targets.ts";
export { claimAttemptsMax, type IdempotencyOptions, idempotencyMs, twinRetryMs } from "./idempotency.ts";
export { claimLeaseMs, claimRenewalMs } from "./idempotency_claim.ts";
export { idempotencyKeyCharsMax, idempotencyKeyOf } from "./idempotency_key.ts";
export { issueDetail } from "./issue_detail.ts";
export { jsonDepthMax, parseJson } from "./json.ts";
export {
  createJsonLogger,
  type JsonLoggerOptions,
  type LogFields,
  type Logger,
  type LogLevel,
  logLevels,
  silentLogger,
} from "./logger.ts";
export { jsonApiMediaType } from "./media_type.ts";
export { type Json, jsonSchemaOf } from "./openapi_schema.ts";
export type { FailureLimit } from "./rate_limit.ts";
export { type EnvelopeOptions, empty, envelope, identityEnvelope, json, jsonText, text } from "./replies.ts";
export { requestIds } from "./request_id.ts";
export * from "./route.ts";
export { type ErrorFacts, errorFacts } from "./status.ts";
export { hostOf } from "./target.ts";
export { fieldErrorsMax, type Subject, validate } from "./validate.ts";
