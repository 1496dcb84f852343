/**
 * The typed client: calls every operation of the platform by its name, in browsers, servers and edge runtimes.
 *
 * @module
 */

export type {
  Answer,
  Area,
  BodyOf,
  CallOptions,
  DocumentOf,
  List,
  LiveLoss,
  NoInput,
  RawBody,
  WholeAnswer,
} from "./area.ts";
export * from "./audience.ts";
export { type Areas, type Client, type ClientOptions, createClient } from "./client.ts";
export * from "./control.ts";
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
export * from "./feeds.ts";
export * from "./identity.ts";
export * from "./leaderboards.ts";
export * from "./location.ts";
export * from "./loyalty.ts";
export { type FanLogin, FanSession, type NewFan, type SessionOptions } from "./session.ts";
export type { FanUser, SignInAnswer } from "./session_state.ts";
export { memoryStorage, type SessionStorage } from "./storage.ts";
export * from "./workflow.ts";
