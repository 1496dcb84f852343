/**
 * The HTTP kit: from route tables to one Fetch handler.
 *
 * @module
 */

export type { Timer } from "../storage/background/mod.ts";
export { chain } from "../storage/background/mod.ts";
export type { FailureLimit } from "./dispatch/rate_limits.ts";
export { logFailure } from "./errors/failure.ts";
export type { PlatformRouter, RouterHandler, RouterRequest } from "./handler.ts";
export { createHandler, createRouter, type HandlerOptions } from "./handler.ts";
export type { IdempotencyOptions } from "./idempotency/idempotency.ts";
export {
  createJsonLogger,
  type JsonLoggerOptions,
  type LogFields,
  type Logger,
  type LogLevel,
  silentLogger,
} from "./logger.ts";
export type { Json } from "./openapi/schema.ts";
export type { CorsOptions } from "./replies/replies.ts";
export { empty, envelope, identityEnvelope, json, jsonText, stream, text } from "./replies/replies.ts";
export { described, describedText, named, validate } from "./requests/validate.ts";
export * from "./route.ts";
export { integerParameter } from "./routing/route_index.ts";
export type { ReadinessWarning } from "./system.ts";
