/**
 * Roles of people in organisations, spaces and projects, and the access that they give. All grants of an organisation are one record, so that its rules,
 * such as the one about the last admin, are pure.
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { Directory } from "../../../fans/directory/mod.ts";
import { directoryPartition, isSameHome, type Places } from "../../../fans/directory/records.ts";
import { Cache, type Loaded } from "../../../storage/background/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import { type Role, roles } from "../../table/resource.ts";
import { type Entity, type Home, type Kind, notFound, ownHome } from "../kind.ts";
import { type Author, kindOf } from "./authors.ts";

export function isRoleAtLeast(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

export const grantsKey = "roles";
export const grantsMax = 2_000;
/** Age in ms from which grants are read again. */
const ageMsMax = 900;
const cachedMax = 2_000;
const adminsMax = 10;

/** A granted role. Times are Unix seconds. */
export interface Grant {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  readonly scope: Home;
  readonly role: Role;
  readonly created: number;
  readonly updated: number;
  /** Counts changes from 1. @default 1 */
  readonly rev?: number;
}

/** The grants of an organisation as stored. */
export interface Grants {
  readonly rev: number;
  readonly list: readonly Grant[];
}

/** A home with those above it, the home itself first. */
export interface Chain {
  readonly homes: readonly Home[];
  readonly organisationId: string;
}

/** A role with the place that it comes from. */
interface EffectiveRole {
  readonly role: Role;
  /** Null: from no grant. */
  readonly from: Home | null;
}

const noRole: EffectiveRole = { role: "none", from: null };

interface RolesOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: () => number;
}

/** Decides what callers may do where. */
export class Roles {
  readonly #options: RolesOptions;
  readonly #grants: Cache<Grants>;

  constructor(options: RolesOptions) {
    this.#options = options;
    this.#grants = new Cache({ entriesMax: cachedMax, maxAgeMs: ageMsMax, clock: options.clock });
  }

  /** Returns a home with those above it, or null if it does not exist. */
  async chain(home: Home): Promise<Chain | null> {
    const { directory } = this.#options;
    if (home.kind === "platform") return { homes: [home], organisationId: "" };
    if (home.kind === "organisation") {
      const organisation = await directory.organisation(home.id);
      return organisation === null ? null : { homes: [home], organisationId: organisation.id };
    }
    if (home.kind === "space") {
      const space = await directory.space(home.id);
      return space === null ? null : chainOf(space.organisationId, home);
    }
    const project = await directory.project(home.id);
    if (project === null) return null;
    return chainOf(project.organisationId, home, { kind: "space", id: project.spaceId });
  }

  /** Returns the role of a caller in a home that exists. */
  async roleIn(author: Author, chain: Chain): Promise<EffectiveRole> {
    const { user, token } = author;
    const { scopes, roleCap } = token;
    const isWithin = ({ organisationId, homes }: Chain): boolean =>
      scopes === null ||
      organisationId === "" ||
      scopes.some(scope => homes.some(home => isSameHome(home, scope)));
    if (!isWithin(chain)) {
      return noRole;
    }
    // A token of some places is no operator's.
    const isOperator = user.systemRole === "operator" && (scopes === null || chain.organisationId !== "");
    const given = await this.#granted(user.id, chain, isOperator);
    return { ...given, role: roleCap !== null && isRoleAtLeast(given.role, roleCap) ? roleCap : given.role };
  }

  /**
   * Returns the homes of an organisation in or below which a caller has a role, with the role in each: `none` for those above.
   * A caller with a role below reads the names of the homes above.
   */
  async reach(author: Author, organisationId: string): Promise<ReadonlyMap<string, Role>> {
    const { list } = await this.grants(organisationId);
    const granted = list.flatMap(({ userId, scope }) => (userId === author.user.id ? scope : []));
    const chains = await Promise.all(
      [...granted, ...(author.token.scopes ?? [])].map(home => this.chain(home)),
    );
    const reached = new Map<string, Role>();
    for (const chain of chains) {
      if (chain?.organisationId !== organisationId) continue;
      if ((await this.roleIn(author, chain)).role === "none") continue;
      for (const [index, { id }] of chain.homes.entries()) {
        const { role } = await this.roleIn(author, { organisationId, homes: chain.homes.slice(index) });
        reached.set(id, role);
      }
    }
    return reached;
  }

  /**
   * Returns what answers show of a caller's role for a record of a home: `none` where the home does not exist as well. Who has a
   * role learns what is above, also where the role ends below it, and whom to ask for more. The token of an event has a role in the
   * event alone.
   */
  async shown(author: Author, home: Home, id: string, eventId: string | null = null) {
    const { token } = author;
    const isReached = token.eventId === undefined || token.eventId === eventId;
    const chain = isReached ? await this.chain(home) : null;
    const { role, from } = chain === null ? noRole : await this.roleIn(author, chain);
    const above = role === "none" ? [] : (chain?.homes ?? []).filter(one => one.id !== id);
    return {
      attributes: { role },
      meta: {
        inherited_from: from === null || from.id === id ? null : identifierOf(from),
        parents: above.filter(({ kind }) => kind !== "platform").map(identifierOf),
        admins: chain === null || role === "none" ? [] : await this.#adminsIn(author, chain),
      },
    };
  }

  /** Forgets what is cached of an organisation, after a change in this process. */
  forget(organisationId: string): void {
    this.#grants.delete(organisationId);
  }

  /** Returns a grant of an organisation, also one that another process made just now, or null for an unknown id. */
  async grant(organisationId: string, id: string): Promise<Grant | null> {
    const find = async (): Promise<Grant | null> =>
      (await this.grants(organisationId)).list.find(grant => grant.id === id) ?? null;
    const known = await find();
    if (known !== null) return known;
    this.forget(organisationId);
    return await find();
  }

  /** Returns all grants of an organisation, at most 0.9 s old. */
  async grants(organisationId: string): Promise<Grants> {
    return await this.#grants.getOrLoad(organisationId, id => this.#load(id));
  }

  /** Returns the addresses of admins, those of the nearest place first. Backends of workflows learn none. */
  async #adminsIn({ token }: Author, { homes, organisationId }: Chain): Promise<readonly string[]> {
    if (kindOf(token) === "dialogue" || organisationId === "") return [];
    const { list } = await this.grants(organisationId);
    const admins = homes.flatMap(home =>
      list.filter(({ role, scope }) => role === "admin" && isSameHome(home, scope)),
    );
    return [...new Set(admins.map(({ email }) => email))].slice(0, adminsMax);
  }

  async #granted(
    userId: string,
    { homes, organisationId }: Chain,
    isOperator: boolean,
  ): Promise<EffectiveRole> {
    if (isOperator) return { role: "admin", from: null };
    // Everybody who authors may read what the platform offers.
    if (organisationId === "") return { role: "viewer", from: null };
    const { list } = await this.grants(organisationId);
    let best = noRole;
    for (const { userId: holder, scope, role } of list) {
      const counts = holder === userId && homes.some(home => isSameHome(home, scope));
      if (counts && roles.indexOf(role) > roles.indexOf(best.role)) best = { role, from: scope };
    }
    return best;
  }

  async #load(organisationId: string): Promise<Loaded<Grants>> {
    const partition = directoryPartition("organisation", organisationId);
    const [stored] = await this.#options.store.read(partition, [{ type: "record", key: grantsKey }]);
    if (stored === null) return { value: noGrants, version: null };
    return { value: JSON.parse(stored.value) as Grants, version: stored.version };
  }
}

function identifierOf({ kind, id }: Home) {
  return { type: `${kind}s`, id };
}

function chainOf(organisationId: string, ...below: readonly Home[]): Chain {
  return { homes: [...below, { kind: "organisation", id: organisationId }], organisationId };
}

export const noGrants: Grants = { rev: 0, list: [] };

/** Requires that an organisation which has an admin keeps one. */
export function requireAdmin(before: readonly Grant[], after: readonly Grant[]): void {
  const isAdmin = ({ scope, role }: Grant): boolean => role === "admin" && scope.kind === "organisation";
  if (after.some(isAdmin) || !before.some(isAdmin)) return;
  throw new AppError(
    "conflict",
    "Cannot take away the last admin of the organisation: make another one first",
  );
}

/** Returns the home of a record, or null if the id can be none of ours. */
export async function homeOf(services: HomeServices, kind: Kind, id: string): Promise<Home | null> {
  const home = ownHome(kind, id) ?? (await services.places.homeOf(id));
  return home === null ? null : await homeFor(services, kind, home);
}

/** Returns the home of records of a kind under a home: grants of spaces and projects are kept in their organisation. */
export async function homeFor(
  { roles }: Pick<HomeServices, "roles">,
  { resource }: Kind,
  home: Home,
): Promise<Home> {
  if (resource.home !== "organisation" || home.kind === "organisation") return home;
  const chain = await roles.chain(home);
  return chain === null ? home : { kind: "organisation", id: chain.organisationId };
}

interface HomeServices {
  readonly roles: Roles;
  readonly places: Places;
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
  services: Pick<HomeServices, "roles">,
  author: Author,
  home: Home | null,
  wanted: NeededAccess,
): Promise<Access> {
  const access = await findAccess(services, author, home, wanted);
  if (access === null) throw notFound(wanted.noun);
  return withRole(access, wanted);
}

async function findAccess(
  { roles }: Pick<HomeServices, "roles">,
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
  services: Pick<HomeServices, "roles">,
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
