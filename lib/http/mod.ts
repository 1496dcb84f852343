/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export { chain } from "../storage/background/mod.ts";
export { hostOf } from "./dispatch/exchange.ts";
export type { FailureLimit } from "./dispatch/rate_limits.ts";
export { causesOf, failureReply, logFailure } from "./errors/failure.ts";
export { problemFamily } from "./errors/problem.ts";
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
export type { Json } from "./openapi/schema.ts";
export { byteReply } from "./replies/byte_reply.ts";
export type { CorsOptions } from "./replies/cors.ts";
export {
  admitChange,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "./replies/etag.ts";
export {
  acceptsEvents,
  eventStreamHeaders,
  eventStreamType,
} from "./replies/event_streams.ts";
export { ownPageFields, pageFields, pageFileFields, prefersHtml } from "./replies/page_fields.ts";
export {
  empty,
  envelope,
  identityEnvelope,
  json,
  jsonText,
  stream,
  text,
} from "./replies/replies.ts";
export { jsonApiMediaType, readJson, systemTimer, type Timer } from "./requests/body.ts";
export { badJson, canonicalJson, parseJson } from "./requests/json.ts";
export { integerParameter } from "./requests/query.ts";
export { isUserId, UserIdSchema, userIdCharactersMax, userIdExpectation } from "./requests/user_id.ts";
export {
  arePropertiesSmall,
  fieldErrorsMax,
  issueDetail,
  type Properties,
  propertiesBytesMax,
  propertiesSchema,
  propertyNumberExpectation,
  validate,
} from "./requests/validate.ts";
export * from "./route.ts";
export type { PlatformRouter, RouterHandler, RouterRequest } from "./router.ts";
export type { ReadinessWarning } from "./system.ts";
