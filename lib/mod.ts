/**
 * Grandstand: audience, identity and authoring platform behind live entertainment and sport.
 *
 * The platform is pure Web Fetch handlers over a {@linkcode Store}. Each area has an entry of its own besides.
 *
 * @module
 */

export { MasterSecret, type TrustedProxies } from "./auth/mod.ts";
export { AppError, type AppErrorOptions, type ErrorCode, type FieldError } from "./base/errors/mod.ts";
export type { Seed } from "./fans/directory/mod.ts";
export type { ExportOptions } from "./fans/exports/mod.ts";
export { accountUserId, type IdentityOptions } from "./fans/identity/mod.ts";
export {
  type ClientAddress,
  type ClientInfo,
  createJsonLogger,
  type Handler,
  type Logger,
  type PlatformRouter,
  silentLogger,
} from "./http/mod.ts";
export type { Rate, RateLimits, RatePolicyName } from "./http/rate_limit/policies.ts";
export type { AreaName } from "./platform/areas.ts";
export {
  type Demo,
  type DemoIds,
  type DemoOptions,
  demoWalk,
  describeDemo,
  seedDemo,
} from "./platform/demo.ts";
export { type DoctorOptions, type DoctorVerdict, runDoctor } from "./platform/doctor.ts";
export {
  type PlatformHttpOptions,
  type PlatformOptions,
  publicUrlDefault,
} from "./platform/options.ts";
export { createPlatform, type Platform, version } from "./platform/platform.ts";
export { seedPlatform } from "./platform/seed.ts";
export type { PlatformUsers } from "./platform/users.ts";
export { buildUserIndex, type UserIndexOptions, type UserIndexProgress } from "./platform/users.ts";
export type { Store } from "./storage/mod.ts";
