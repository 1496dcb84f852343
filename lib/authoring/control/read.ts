/** Reads resources, lists of them, and what they include. */

import { AppError } from "../../base/errors/mod.ts";
import { type BoardEntry, type Partition, readPageAfter, type Store } from "../../storage/mod.ts";
import { type ResourceType, type Role, resources } from "../table/mod.ts";
import type { Author } from "./access/authors.ts";
import { type Access, homeOf, isReached, requireAccess, requireReach } from "./access/roles.ts";
import {
  arranged,
  type Document,
  isWanted,
  keysOf,
  linkageOf,
  pageLinks,
  pageOf,
  type ResourceObject,
  relatedTo,
  type Shown,
  type ShownAs,
  show,
  shownOf,
} from "./jsonapi/documents.ts";
import type { ListView, View } from "./jsonapi/types.ts";
import {
  type Circumstances,
  type Home,
  homePartition,
  type Identifier,
  type Kind,
  type Narrowed,
  notFound,
  ownHome,
} from "./kind.ts";
import type { ControlServices, Kinds } from "./services.ts";
import { runTransaction, type Transaction } from "./transaction.ts";

export class Reader {
  readonly #services: ControlServices;
  readonly #kinds: Kinds;

  constructor(services: ControlServices, kinds: Kinds) {
    this.#services = services;
    this.#kinds = kinds;
  }

  /**
   * Returns one resource.
   *
   * @throws {AppError} `not_found`: there is none that the caller may see.
   */
  async one(
    author: Author,
    type: ResourceType,
    id: string,
    view: View,
  ): Promise<Document & { readonly data: ResourceObject }> {
    const kind = this.#kindOf(type);
    const { noun } = kind.resource;
    const { home, reached } = await this.#visible(author, kind, await homeOf(this.#services, kind, id));
    const circumstances = this.circumstances(author);
    const shown: ShownAs = { base: this.#services.base, fields: view.fields, isListed: false };
    const [data = null] = await runTransaction(this.#services.store, homePartition(home), {
      keys: keysOf(kind, id),
      steps: [tx => seen(kind, show(kind, id, tx, circumstances, shown), reached)],
    });
    if (data === null || !isReached(author, kind, data.entity, "read")) throw notFound(noun);
    return await this.#withIncluded({ data: data.object }, author, view, shown);
  }

  /** Returns where the caller finds records of a kind, and what the caller reaches there if they lie above. */
  async #visible(author: Author, kind: Kind, home: Home | null) {
    const { noun, read: needed } = kind.resource;
    const wanted = { needed, noun, eventId: null };
    return kind.outline === undefined
      ? { ...(await requireAccess(this.#services, author, home, wanted)), reached: null }
      : await requireReach(this.#services, author, home, wanted);
  }

  /** Returns a page of the resources of a type under a parent; of a list without one `parent` has no id. */
  async list(
    author: Author,
    {
      type,
      parent,
      access,
    }: { readonly type: ResourceType; readonly parent: Identifier; readonly access: ListAccess },
    view: ListView,
    self: string,
  ): Promise<Document> {
    const kind = this.#kindOf(type);
    const circumstances = this.circumstances(author);
    const shown: ShownAs = { base: this.#services.base, fields: view.fields, isListed: true };
    const scope = {
      organisationId: access.chain.organisationId,
      spaceId: "",
      userId: author.user.id,
      resource: `${parent.type}/${parent.id}/${type}`,
      filters: { ...view.filters, sort: JSON.stringify(view.sort) } as Readonly<Record<string, string>>,
    };
    const { cursors } = this.#services;
    const after = cursors.open(scope, view.cursor, "page[cursor]");
    const { reached = null } = access;
    const listing = { kind, parent, home: access.home, circumstances, shown, view, reached };
    const narrowed = (await kind.narrow?.(parent, view, circumstances.now)) ?? null;
    const page = await (kind.board === undefined || narrowed !== null
      ? this.#sortedPage(listing, after, narrowed)
      : kind.board(view, circumstances.now).isExact === true
        ? this.#exactPage(listing, after)
        : this.#boardPage(listing, after));
    const { total } = page;
    const numbered =
      view.number === undefined ? undefined : { number: view.number, size: view.count, total: total ?? 0 };
    const links = pageLinks(self, cursors.seal(scope, page.next), numbered);
    const meta = total === undefined ? {} : { meta: { total, ...(numbered && { page: numbered }) } };
    return await this.#withIncluded({ data: page.objects, links, ...meta }, author, view, shown);
  }

  circumstances(author: Author): Circumstances {
    return { now: Math.floor(this.#services.clock() / 1_000), author };
  }

  /** A page of a bounded list, of which all records are read if they have to be filtered or ordered. */
  async #sortedPage(listing: Listing, after: string | undefined, narrowed: Narrowed | null): Promise<Page> {
    const { kind, parent, home, circumstances, shown, reached } = listing;
    const areHomes = ownHome(kind, "") !== null;
    const view =
      narrowed === null ? listing.view : { ...listing.view, sort: null, filters: narrowed.filters };
    const { list: listed = () => [] } = kind;
    const list = (tx: Transaction, parentId: string): readonly string[] =>
      listed(tx, parentId).filter(id => reached === null || !areHomes || reached.has(id));
    const isPlain = view.sort === null && Object.keys(view.filters).length === 0;
    const needed = (all: readonly string[]) => (isPlain ? pageOf(all, view, after).ids : all);
    const paged = (all: readonly string[], found: readonly Shown[]): Page => {
      const byId = new Map(found.map(({ object }) => [object.id, object]));
      const { ids, ...page } = pageOf(isPlain ? all : arranged(found, view), view, after);
      return { objects: ids.flatMap(id => byId.get(id) ?? []), ...page };
    };
    const read = async <T>(step: (tx: Transaction) => T): Promise<T> => {
      const [answer] = await runTransaction(this.#services.store, homePartition(home), {
        keys: [],
        steps: [step],
      });
      return answer as T;
    };
    if (narrowed !== null || kind.listFor !== undefined || areHomes) {
      const ids = () => kind.listFor?.(circumstances.author) ?? read(tx => list(tx, parent.id));
      const all = narrowed?.ids ?? (await ids());
      return paged(all, await this.#load(listing, needed(all)));
    }
    // List and records are of one instant, so that nobody sees a part of a change.
    return await read(tx => {
      const all = list(tx, parent.id);
      const ids = needed(all);
      for (const id of ids) for (const key of keysOf(kind, id)) tx.want(key);
      return paged(
        all,
        ids.flatMap(id => seen(kind, show(kind, id, tx, circumstances, shown), reached) ?? []),
      );
    });
  }

  /** A page of a list whose filters have a board each: two reads, whatever the filter and the page. */
  async #exactPage(listing: Listing, after: string | undefined): Promise<Page> {
    const { kind, home, view, circumstances } = listing;
    const key = kind.board?.(view, circumstances.now).key ?? "";
    const { ids, ...page } = await readExactPage(this.#services.store, homePartition(home), {
      key,
      view,
      after,
    });
    const found = await this.#load(listing, ids);
    return { ...page, objects: found.map(({ object }) => object) };
  }

  /** A page of a list that a board orders. Entries that a filter leaves out cost a bounded number of reads. */
  async #boardPage(listing: Listing, after: string | undefined): Promise<Page> {
    const { kind, home, view, circumstances } = listing;
    const { key, max } = kind.board?.(view, circumstances.now) ?? { key: "" };
    const direction = view.sort === null || view.sort.descending ? "desc" : "asc";
    let point = after === undefined ? null : (JSON.parse(after) as BoardEntry);
    const objects: ResourceObject[] = [];
    for (let round = 0; round < filteredReadsMax; round++) {
      const query = { key, direction, after: point, max, limit: view.count } as const;
      const { entries, isEnd } = await readPageAfter(this.#services.store, homePartition(home), query);
      const found = await this.#load(
        listing,
        entries.map(({ member }) => member),
      );
      for (const each of found) {
        if (!isWanted(each, view.filters)) continue;
        objects.push(each.object);
        point = entries.find(({ member }) => member === each.object.id) ?? point;
        if (objects.length === view.count) return { objects, next: JSON.stringify(point) };
      }
      if (isEnd) return { objects, next: null };
      point = entries.at(-1) ?? point;
    }
    return { objects, next: JSON.stringify(point) };
  }

  /** Reads records, in the order of the ids. */
  async #load(
    { kind, home, circumstances, shown, reached }: Omit<Listing, "parent" | "view">,
    ids: readonly string[],
  ): Promise<readonly Shown[]> {
    const groups = new Map<string, { readonly home: Home; readonly ids: string[] }>();
    for (const id of ids) {
      const own = ownHome(kind, id) ?? home;
      const group = groups.get(own.id);
      if (group === undefined) groups.set(own.id, { home: own, ids: [id] });
      else group.ids.push(id);
    }
    const parts = await Promise.all(
      [...groups.values()].map(async group => {
        // A list that has no parent mixes what is the caller's with what lies above.
        const visible =
          kind.listFor === undefined ? reached : await this.#reachIn(circumstances.author, group.home);
        const entities = await kind.load?.(group.home, group.ids);
        if (entities !== undefined)
          return entities.map(entity => shownOf(kind.resource, entity, { attributes: {} }, shown));
        return await runTransaction(this.#services.store, homePartition(group.home), {
          keys: group.ids.flatMap(id => keysOf(kind, id)),
          steps: group.ids.map(
            id => (tx: Transaction) => seen(kind, show(kind, id, tx, circumstances, shown), visible),
          ),
        });
      }),
    );
    const found = parts.flat().filter(each => each !== null);
    if (groups.size < 2) return found;
    const byId = new Map(found.map(each => [each.object.id, each]));
    return ids.flatMap(id => byId.get(id) ?? []);
  }

  /** Adds the related resources that a view includes, level by level. */
  async #withIncluded<D extends Document>(
    document: D,
    author: Author,
    view: View,
    shown: ShownAs,
  ): Promise<D> {
    if (view.include.length === 0) return document;
    const primary = Array.isArray(document.data) ? document.data : [document.data as ResourceObject];
    const found = new Map<string, ResourceObject>();
    // What is as deep is read at once, whatever path leads to it.
    let paths = view.include.map(path => ({ names: path.split("."), objects: primary }));
    while (paths.length > 0) {
      const steps = paths.map(({ names: [name = "", ...rest], objects }) => {
        const wanted = objects.flatMap(object => relatedTo(object, name));
        return { name, rest, objects, wanted };
      });
      const withRoles = steps.filter(({ name }) => name === "my_role").flatMap(({ objects }) => objects);
      await this.#includeRoles(withRoles, author, found);
      const wanted = steps.flatMap(step => step.wanted);
      await this.#include(wanted, author, { ...shown, isListed: true }, found);
      paths = steps
        .filter(({ rest }) => rest.length > 0)
        .map(({ rest, wanted: ids }) => ({
          names: rest,
          objects: ids.flatMap(({ type, id }) => found.get(`${type}/${id}`) ?? []),
        }));
    }
    const own = new Set(primary.map(({ type, id }) => `${type}/${id}`));
    return {
      ...document,
      included: [...found].filter(([name]) => !own.has(name)).map(([, object]) => object),
    };
  }

  async #includeRoles(
    objects: readonly ResourceObject[],
    author: Author,
    found: Map<string, ResourceObject>,
  ): Promise<void> {
    const { roles } = this.#services;
    for (const object of objects) {
      const { type, id } = object;
      const home = await homeOf(this.#services, this.#kindOf(type), id);
      if (home === null || linkageOf(object, "my_role") === undefined) continue;
      const eventId = type === "events" ? id : (relatedTo(object, "event")[0]?.id ?? null);
      const role = await roles.shown(author, home, id, eventId);
      found.set(`scope_roles/${id}`, { type: "scope_roles", id, ...role });
    }
  }

  async #include(
    wanted: readonly Identifier[],
    author: Author,
    shown: ShownAs,
    found: Map<string, ResourceObject>,
  ): Promise<void> {
    const circumstances = this.circumstances(author);
    const groups = new Map<string, { readonly kind: Kind; readonly home: Home; readonly ids: string[] }>();
    const identifiers = new Map(wanted.map(each => [`${each.type}/${each.id}`, each]));
    for (const [name, { type, id }] of identifiers) {
      if (type === "users") await this.#includeUser(id, found);
      const kind = this.#kinds[type];
      const home = kind === undefined || found.has(name) ? null : await homeOf(this.#services, kind, id);
      if (kind === undefined || home === null) continue;
      const key = `${type} ${home.kind} ${home.id}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { kind, home, ids: [id] });
      else group.ids.push(id);
    }
    await Promise.all(
      [...groups.values()].map(async ({ kind, home, ids }) => {
        const { type } = kind.resource;
        // What the caller may not see is left out.
        const access = await this.#visible(author, kind, home).catch(ignoreRefusal);
        if (access === null) return;
        const listing = { kind, home, circumstances, shown, reached: access.reached };
        for (const { entity, object } of await this.#load(listing, ids)) {
          // Statistics have the id of a record that the caller sees.
          if (type === "stats" || isReached(author, kind, entity, "read"))
            found.set(`${type}/${object.id}`, object);
        }
      }),
    );
  }

  /** Returns what a caller reaches in a home without a role in it; null: the caller has one. */
  async #reachIn(author: Author, home: Home): Promise<ReadonlyMap<string, Role> | null> {
    const { roles } = this.#services;
    const chain = await roles.chain(home);
    if (chain === null || (await roles.roleIn(author, chain)).role !== "none") return null;
    return await roles.reach(author, chain.organisationId);
  }

  /** Addresses of people are for admins, who list roles. */
  async #includeUser(id: string, found: Map<string, ResourceObject>): Promise<void> {
    const user = await this.#services.authors.user(id);
    if (user !== null) found.set(`users/${id}`, { type: "users", id, attributes: { name: user.name } });
  }

  #kindOf(type: ResourceType): Kind {
    const kind = this.#kinds[type];
    if (kind === undefined) throw new TypeError(`Cannot read ${type}: ${Object.keys(resources).join(", ")}`);
    return kind;
  }
}

/** A list that is being read. */
interface Listing {
  readonly kind: Kind;
  readonly parent: Identifier;
  readonly home: Home;
  readonly circumstances: Circumstances;
  readonly shown: ShownAs;
  readonly view: ListView;
  /** Roles by home where the caller has none in the home of the list; null: everything may be shown. */
  readonly reached: ReadonlyMap<string, Role> | null;
}

type ListAccess = Access & { readonly reached?: Listing["reached"] };

interface Page {
  readonly objects: readonly ResourceObject[];
  /** The position after the page; null at the end. */
  readonly next: string | null;
  readonly total?: number;
}

/** Most reads of a page whose filter leaves entries out; the page may be shorter then, and `next` goes on. */
const filteredReadsMax = 20;

/** Returns what a caller sees of a record that lies above what the caller reaches: its outline, or null. */
function seen(kind: Kind, shown: Shown | null, reached: Listing["reached"]): Shown | null {
  if (shown === null || reached === null || kind.outline === undefined) return shown;
  const { fields, isNeeded } = kind.outline;
  const { id, attributes, relationships = {}, ...object } = shown.object;
  const role = reached.get(id);
  if (role !== undefined && role !== "none") return shown;
  if (isNeeded === undefined ? role === undefined : !isNeeded(shown.entity, reached)) return null;
  const within = (members: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(members).filter(([name]) => fields.has(name)));
  // Tag and digests of `meta` tell of what stays hidden.
  const { meta: _, ...rest } = object;
  return {
    ...shown,
    object: { ...rest, id, attributes: within(attributes), relationships: within(relationships) },
  };
}

function ignoreRefusal(error: unknown): null {
  if (error instanceof AppError && (error.code === "not_found" || error.code === "forbidden")) return null;
  throw error;
}

/** Reads the page that a view names by its number, or the one after a position. The newest entries come first unless the view says otherwise. */
async function readExactPage(
  store: Store,
  partition: Partition,
  { key, view, after }: { readonly key: string; readonly view: ListView; readonly after: string | undefined },
) {
  const { count, number = 1, sort } = view;
  const reverse = sort?.descending ?? true;
  const offset = (number - 1) * count;
  const limit = after === undefined ? count : 0;
  const [found] = await store.read(partition, [{ type: "board", key, reverse, offset, limit }]);
  const { entries, isEnd } =
    after === undefined
      ? { entries: found.entries, isEnd: offset + count >= found.size }
      : await readPageAfter(store, partition, {
          key,
          limit: count,
          direction: reverse ? "desc" : "asc",
          after: JSON.parse(after) as BoardEntry,
        });
  const ids = entries.map(({ member }) => member);
  return { ids, next: isEnd ? null : JSON.stringify(entries.at(-1)), total: found.size };
}
