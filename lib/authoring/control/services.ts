/**
 * What the parts of the control API share.
 *
 * @module
 */

import type { Cursors } from "../../auth/mod.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import type { Outbound } from "../../base/outbound/outbound.ts";
import type { Directory } from "../../fans/directory/mod.ts";
import type { HomeKind, Places } from "../../fans/directory/records.ts";
import type { Store } from "../../storage/mod.ts";
import { isRoleAtLeast, type ResourceType, type Role } from "../table/mod.ts";
import type { Author, Authors } from "./access/authors.ts";
import type { Chain, Roles } from "./access/roles.ts";
import type { Apps } from "./apps/apps.ts";
import type { Entity, Home } from "./kind.ts";
import { type Kind, notFound } from "./kind.ts";
import type { ControlWork } from "./work.ts";

export interface ControlServices {
  readonly store: Store;
  readonly directory: Directory;
  readonly authors: Authors;
  readonly roles: Roles;
  readonly places: Places;
  readonly apps: Apps;
  readonly cursors: Cursors;
  readonly work: ControlWork;
  /** Unix ms. */
  readonly clock: () => number;
  /** Address of the platform, without a slash at its end. */
  readonly publicUrl: string;
  /** Address of the control API, without a slash at its end. */
  readonly base: string;
  /** Reads addresses that authors name; null: they are refused. */
  readonly outbound: Outbound | null;
  readonly userAgent: string;
  /** Hears of events and elements that are about to change; the function that it returns is called after the change, or its failure. */
  readonly beforeShowChange: (ids: readonly string[]) => Promise<() => Promise<void>>;
  /** Checks the settings of areas, as the attribute `services` has them. */
  readonly settingsFaults: (
    kind: HomeKind | "event",
    settings: Readonly<Record<string, unknown>>,
    pointer: string,
  ) => readonly FieldError[];
}

/** Types that have routes of their own, or none. */
type SpecialType = "users" | "content_types" | "access_tokens" | "sessions" | "audit_entries" | "spec_checks";

export type Kinds = Readonly<Record<Exclude<ResourceType, SpecialType>, Kind>> &
  Readonly<Partial<Record<SpecialType, Kind>>>;

/** Returns the home of a record, or null if the id can be none of ours. */
export async function homeOf(services: ControlServices, kind: Kind, id: string): Promise<Home | null> {
  if (kind.homeOf !== undefined) return kind.homeOf(id);
  const home = await services.places.homeOf(id);
  return home === null ? null : await homeFor(services, kind, home);
}

/** Returns the home of records of a kind under a home: grants of spaces and projects are kept in their organisation. */
export async function homeFor({ roles }: ControlServices, { resource }: Kind, home: Home): Promise<Home> {
  if (resource.home !== "organisation" || home.kind === "organisation") return home;
  const chain = await roles.chain(home);
  return chain === null ? home : { kind: "organisation", id: chain.organisationId };
}

export interface Access {
  readonly home: Home;
  readonly chain: Chain;
  readonly role: Role;
}

interface NeededAccess {
  readonly needed: Role;
  readonly noun: string;
  /** The event that the request is about; null: the caller checks its records. @default what belongs to no event */
  readonly eventId?: string | null | undefined;
}

/**
 * Returns the caller's access to a home.
 *
 * @throws {AppError} `not_found`: it does not exist, the caller has no role there, or the token is for another event; `forbidden`: the role
 * is less than `needed`.
 */
export async function requireAccess(
  services: ControlServices,
  author: Author,
  home: Home | null,
  wanted: NeededAccess,
): Promise<Access> {
  const access = await findAccess(services, author, home, wanted);
  if (access === null) throw notFound(wanted.noun);
  return withRole(access, wanted);
}

/** Returns the access of a caller with any role in a home, or null. */
async function findAccess(
  { roles }: ControlServices,
  author: Author,
  home: Home | null,
  { eventId }: Pick<NeededAccess, "eventId">,
): Promise<Access | null> {
  const chain = home === null ? null : await roles.chain(home);
  if (home === null || chain === null) return null;
  const { token } = author;
  const isOfEvent = token.eventId === undefined || eventId === null || eventId === token.eventId;
  if (!isOfEvent && home.kind !== "platform") return null;
  const { role } = await roles.roleIn(author, chain);
  return role === "none" ? null : { home, chain, role };
}

function withRole(access: Access, { needed }: Pick<NeededAccess, "needed">): Access {
  const { role } = access;
  if (isRoleAtLeast(role, needed)) return access;
  throw new AppError("forbidden", `Cannot do this as it needs the role ${needed}, and yours is ${role}`);
}

/**
 * Returns the caller's access to a home in which the caller has a role, or in something below it: the role is `none` then.
 *
 * @throws {AppError} As {@linkcode requireAccess} does.
 */
export async function requireReach(
  services: ControlServices,
  author: Author,
  home: Home | null,
  wanted: NeededAccess,
): Promise<Access & { readonly reached: ReadonlyMap<string, Role> | null }> {
  const access = await findAccess(services, author, home, wanted);
  if (access !== null) return { ...withRole(access, wanted), reached: null };
  const chain = home === null ? null : await services.roles.chain(home);
  if (home === null || chain === null || author.token.eventId !== undefined) throw notFound(wanted.noun);
  const reached = await services.roles.reach(author, chain.organisationId);
  if (!reached.has(home.id)) throw notFound(wanted.noun);
  return { home, chain, role: "none", reached };
}

/** Types of which the token of an event may read the records above it, to work with the event. */
const readableAbove: ReadonlySet<string> = new Set(["projects", "apps", "workflows"]);

/** Checks whether a token reaches a record. That of a dialogue in an event reaches the event and its elements, and reads what is above. */
export function isReached(
  { token }: Author,
  { resource, eventOf }: Kind,
  entity: Entity,
  access: "read" | "write",
): boolean {
  if (token.eventId === undefined) return true;
  if (eventOf !== undefined) return eventOf(entity) === token.eventId;
  return access === "read" && readableAbove.has(resource.type);
}
