/**
 * Organisations, spaces, projects and events with their settings.
 *
 * @module
 */

export { checkSeed, type Seed } from "./check_seed.ts";
export {
  createDirectory,
  type Directory,
  type DirectoryOptions,
  type LoyaltyDocument,
  projectEvents,
} from "./directory.ts";
export {
  createLoyaltyVersions,
  documentDigest,
  type LoyaltyRevision,
  type LoyaltyVersion,
  type LoyaltyVersions,
  type LoyaltyVersionsOptions,
  loyaltyBytesMax,
} from "./loyalty_versions.ts";
export {
  type Event,
  EventParameter,
  type Organisation,
  type Project,
  ProjectParameter,
  type Settings,
  type Space,
} from "./records.ts";
export { type SeedOptions, seedDirectory } from "./seed.ts";
