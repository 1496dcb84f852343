/**
 * Organisations, spaces, projects and events with their settings.
 *
 * @module
 */

export type { Directory, LoyaltyDocument } from "./directory.ts";
export type { LoyaltyRevision, LoyaltyVersion, LoyaltyVersions } from "./loyalty_versions.ts";
export type { Event, Home, Organisation, Project, Settings, Space } from "./records.ts";
export type { Seed, SeedOptions } from "./seed.ts";
