/**
 * Organisations, spaces, projects and events with their settings, behind one port.
 *
 * @module
 */

export { type CheckedSeed, checkSeed } from "./_check_seed.ts";
export {
  createDirectory,
  type Directory,
  type DirectoryOptions,
  directoryAgeMsMax,
  directoryEntriesMax,
  eventAliases,
  eventAliasScanMax,
  type LoyaltyDocument,
} from "./directory.ts";
export { documentDigest } from "./document_digest.ts";
export { FreshCache, type FreshCacheOptions, type Versioned } from "./fresh_cache.ts";
export type { LoyaltyRevision, LoyaltyVersion } from "./loyalty_record.ts";
export {
  createLoyaltyVersions,
  type LoyaltyChange,
  type LoyaltyChanged,
  type LoyaltyVersions,
  type LoyaltyVersionsOptions,
  loyaltyBytesMax,
  loyaltyVersionsMax,
} from "./loyalty_versions.ts";
export { eventsPageMax, projectEvents } from "./project_events.ts";
export {
  domainCharactersMax,
  type Event,
  EventSchema,
  type EventState,
  nameCharactersMax,
  type Organisation,
  OrganisationSchema,
  type Project,
  ProjectSchema,
  type Settings,
  type Space,
  SpaceSchema,
} from "./records.ts";
export { type Seed, type SeedOptions, seedDirectory } from "./seed.ts";
