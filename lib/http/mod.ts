/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export { chain } from "./chain.ts";
export { issueDetail } from "./errors/issue_detail.ts";
export { type ErrorFacts, errorFacts } from "./errors/status.ts";
export { createHandler, type HandlerOptions } from "./handler.ts";
export { claimLeaseMs, claimRenewalMs } from "./idempotency/claim.ts";
export {
  claimAttemptsMax,
  type IdempotencyOptions,
  idempotencyMs,
  twinRetryMs,
} from "./idempotency/idempotency.ts";
export { idempotencyKeyCharsMax, idempotencyKeyOf } from "./idempotency/key.ts";
export {
  createJsonLogger,
  type JsonLoggerOptions,
  type LogFields,
  type Logger,
  type LogLevel,
  logLevels,
  silentLogger,
} from "./logger.ts";
export { named } from "./openapi/named.ts";
export { type Json, jsonSchemaOf } from "./openapi/schema.ts";
export type { FailureLimit } from "./rate_limit/exchange_limits.ts";
export { canonicalJson } from "./replies/canonical_json.ts";
export { type CorsOptions, corsRequestHeaders, corsResponseHeaders } from "./replies/cors.ts";
export {
  admitChange,
  type ChangeOptions,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "./replies/etag.ts";
export {
  type EnvelopeOptions,
  empty,
  envelope,
  identityEnvelope,
  json,
  jsonText,
  stream,
  text,
} from "./replies/replies.ts";
export { bodyBytesMaxDefault, bodyMsMaxDefault, systemTimer, type Timer } from "./requests/body.ts";
export { type IntegerParameterOptions, integerParameter } from "./requests/integer_parameter.ts";
export { jsonDepthMax, parseJson } from "./requests/json.ts";
export { jsonApiMediaType } from "./requests/media_type.ts";
export { requestIds } from "./requests/request_id.ts";
export { fieldErrorsMax, type Subject, validate } from "./requests/validate.ts";
export { hotTargetCharsMax, hotTargetsMax } from "./routing/hot_targets.ts";
export * from "./routing/route.ts";
export { hostOf } from "./routing/target.ts";
