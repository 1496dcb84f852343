/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export { chain } from "../storage/background/mod.ts";
export { hostOf } from "./dispatch/dispatcher.ts";
export type { FailureLimit } from "./dispatch/rate_limits.ts";
export { causesOf, errorFacts, failureReply, logFailure, problemFamily } from "./errors/failure.ts";
export type { PlatformRouter, RouterHandler, RouterRequest } from "./handler.ts";
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
export type { Json } from "./openapi/schema.ts";
export {
  admitChange,
  byteReply,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "./replies/byte_reply.ts";
export type { CorsOptions } from "./replies/replies.ts";
export {
  acceptsEvents,
  empty,
  envelope,
  eventStreamHeaders,
  eventStreamType,
  identityEnvelope,
  json,
  jsonText,
  ownPageFields,
  pageFields,
  pageFileFields,
  prefersHtml,
  stream,
  text,
} from "./replies/replies.ts";
export {
  badJson,
  canonicalJson,
  jsonApiMediaType,
  parseJson,
  readJson,
  systemTimer,
  type Timer,
} from "./requests/body.ts";
export {
  arePropertiesSmall,
  fieldErrorsMax,
  issueDetail,
  isUserId,
  named,
  type Properties,
  propertiesBytesMax,
  propertiesSchema,
  propertyNumberExpectation,
  UserIdSchema,
  userIdCharactersMax,
  userIdExpectation,
  validate,
} from "./requests/validate.ts";
export * from "./route.ts";
export { integerParameter } from "./routing/route_index.ts";
export type { ReadinessWarning } from "./system.ts";
