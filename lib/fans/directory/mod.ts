/**
 * Organisations, spaces, projects and events with their settings.
 *
 * @module
 */

export {
  claimDomain,
  createDirectory,
  type Directory,
  type DirectoryOptions,
  type LoyaltyDocument,
  projectEvents,
  requireFreeDomain,
  requireUnarchived,
  settleDomain,
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
export {
  claimPlace,
  directoryPartition,
  type Event,
  EventParameter,
  eventAt,
  eventTimesOf,
  type Home,
  isSameHome,
  type Organisation,
  Places,
  type Project,
  ProjectParameter,
  type Settings,
  type Space,
  type StoredEvent,
} from "./records.ts";
export {
  checkSeed,
  findUnlisted,
  listOrganisation,
  oldestOrganisations,
  type Seed,
  type SeedOptions,
  seedDirectory,
} from "./seed.ts";
