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
  requireUnarchived,
} from "./directory.ts";
export { claimDomain, requireFreeDomain, settleDomain } from "./domains.ts";
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
  defaultListings,
  type EventCandidate,
  isOpen,
  type ListingBounds,
  listedMax,
  type OpenEvent,
  openEventOf,
  openEventsKey,
  openEventsOf,
  parseOpenEvents,
  shownEvents,
  withOpenEvent,
} from "./open_events.ts";
export { claimPlace, type Home, isSameHome, Places } from "./places.ts";
export {
  directoryPartition,
  type Event,
  EventParameter,
  eventAt,
  eventTimesOf,
  type Organisation,
  type Project,
  ProjectParameter,
  type Settings,
  type Space,
  type StoredEvent,
} from "./records.ts";
export { type SeedOptions, seedDirectory } from "./seed.ts";
export { findUnlisted, listOrganisation, oldestOrganisations } from "./unlisted.ts";
