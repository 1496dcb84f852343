/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export { chain } from "./chain.ts";
export type { FailureLimit } from "./dispatch/rate_limits.ts";
export { errorFacts } from "./errors/status.ts";
export { createHandler, createRouter, type HandlerOptions } from "./handler.ts";
export {
  type IdempotencyOptions,
  idempotencyKeyOf,
} from "./idempotency/idempotency.ts";
export {
  consoleLogger,
  createJsonLogger,
  type JsonLoggerOptions,
  type LogFields,
  type Logger,
  type LogLevel,
  logLevels,
  silentLogger,
} from "./logger.ts";
export { named } from "./named.ts";
export { type Json, jsonSchemaOf } from "./openapi/schema.ts";
export type { CorsOptions } from "./replies/cors.ts";
export {
  admitChange,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "./replies/etag.ts";
export {
  empty,
  envelope,
  identityEnvelope,
  json,
  jsonText,
  stream,
  text,
} from "./replies/replies.ts";
export {
  jsonApiMediaType,
  systemTimer,
  type Timer,
} from "./requests/body.ts";
export { canonicalJson } from "./requests/json.ts";
export { type Properties, propertiesSchema } from "./requests/properties.ts";
export { integerParameter } from "./requests/query.ts";
export { fieldErrorsMax, issueDetail, validate } from "./requests/validate.ts";
export * from "./route.ts";
export type { PlatformRouter } from "./router.ts";
export { hostOf } from "./routing/target.ts";
