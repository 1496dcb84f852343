/**
 * The typed client: calls every operation of the platform by its name, in browsers, servers and edge runtimes.
 *
 * @module
 */

export type { Answer, Area, CallOptions, List, NoInput, RawBody, WholeAnswer } from "./area.ts";
export { type Areas, type Client, type ClientOptions, createClient } from "./client.ts";
export { accessToken, apiKey, type CredentialKinds, type Credentials, spaceToken } from "./credentials.ts";
export type { ClientEnvironment } from "./environment.ts";
export {
  type ClientErrorCode,
  type ErrorCode,
  type FieldError,
  GrandstandError,
  type GrandstandErrorOptions,
} from "./errors.ts";
export { createFanClient, type FanClient, type FanClientOptions } from "./fan_client.ts";
export * from "./generated/audience.ts";
export * from "./generated/control.ts";
export * from "./generated/feeds.ts";
export * from "./generated/identity.ts";
export * from "./generated/leaderboards.ts";
export * from "./generated/location.ts";
export * from "./generated/loyalty.ts";
export type * from "./generated/shared.ts";
export * from "./generated/workflow.ts";
export { type FanLogin, FanSession, type NewFan, type SessionOptions } from "./session.ts";
export type { FanUser, SignInAnswer } from "./session_state.ts";
export { memoryStorage, type SessionStorage } from "./storage.ts";
