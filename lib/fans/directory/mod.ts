/**
 * Organisations, spaces, projects and events with their settings.
 *
 * @module
 */

export { createDirectory, type Directory, type DirectoryOptions, type LoyaltyDocument } from "./directory.ts";
export {
  createLoyaltyVersions,
  type LoyaltyRevision,
  type LoyaltyVersion,
  type LoyaltyVersions,
  type LoyaltyVersionsOptions,
} from "./loyalty_versions.ts";
export type { Event, Home, Organisation, Project, Settings, Space } from "./records.ts";
export { type Seed, type SeedOptions, seedDirectory } from "./seed.ts";
