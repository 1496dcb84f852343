/**
 * From the id of a record to the partition that has it.
 *
 * Ids of authored records begin with the first 48 bits of their owner's id. Who owns these bits is noted once, when the owner is
 * created or seeded. Ids that do not say it, as seeds have them, are noted one by one.
 *
 * @module
 */

import { isUuid, uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import { Cache } from "../../storage/background/mod.ts";
import { platformPartition, type Store } from "../../storage/mod.ts";
import { childId, idPrefix, isChildId } from "./ids.ts";

const key = "home";
const entriesMax = 20_000;
/** What owns resources: an organisation, a space or a project. Each has one partition. */
export type HomeKind = "organisation" | "space" | "project";

/** Bytes of chance in an id. */
const idBytes = 10;

/** The owner of records, whose partition holds them; `platform`: the deployment itself. */
export interface Home {
  readonly kind: HomeKind | "platform";
  readonly id: string;
}

/** Returns true for one and the same home. */
export function isSameHome(a: Home, b: Home): boolean {
  return a.kind === b.kind && a.id === b.id;
}

interface PlacesOptions {
  readonly store: Store;
  readonly random: RandomBytes;
}

interface NewIdOptions {
  readonly isNew?: boolean;
  readonly random?: RandomBytes;
}

/** Finds the homes of records. A note never changes, so it is cached for good. */
export class Places {
  readonly #store: Store;
  readonly #random: RandomBytes;
  readonly #homes = new Cache<Home>({ entriesMax });

  constructor({ store, random }: PlacesOptions) {
    this.#store = store;
    this.#random = random;
  }

  /**
   * Makes an id for a record of a home, which {@linkcode keep} has to note before the record is created.
   *
   * @param isNew True for a home that is being created, and that claims the beginning of its id first.
   */
  async newId(home: Home, { isNew = false, random = this.#random }: NewIdOptions = {}): Promise<string> {
    const owner = await this.#find(idPrefix(home.id));
    const isOwn = owner === null ? isNew : isSameHome(owner, home);
    return isOwn ? childId(home.id, random(idBytes)) : uuid(random);
  }

  /** Notes the home of a new id that does not say it, because another home has the first bits of this one. */
  async keep(id: string, home: Home): Promise<void> {
    if (!isChildId(id)) await notePlace(this.#store, id, home);
  }

  /** Returns the home of a record, or null if the id can be none of ours. A record of the id need not exist. */
  async homeOf(id: string): Promise<Home | null> {
    if (!isUuid(id)) return null;
    return await this.#find(isChildId(id) ? idPrefix(id) : id);
  }

  async #find(name: string): Promise<Home | null> {
    const cached = this.#homes.get(name);
    if (cached !== undefined) return cached;
    const [stored] = await this.#store.read(partitionOf(name), [{ type: "record", key }]);
    if (stored === null) return null;
    const home = JSON.parse(stored.value) as Home;
    this.#homes.set(name, home);
    return home;
  }
}

/** Claims the first 48 bits of a home's id, unless another home has them. */
export async function claimPlace(store: Store, { kind, id }: Home): Promise<void> {
  await store.commit(partitionOf(idPrefix(id)), {
    checks: [{ key, version: null }],
    writes: [{ type: "put", key, value: JSON.stringify({ kind, id }) }],
  });
}

/** Notes the home of a record whose id does not say it. */
export async function notePlace(store: Store, id: string, home: Home): Promise<void> {
  await store.commit(partitionOf(id), { writes: [{ type: "put", key, value: JSON.stringify(home) }] });
}

/** Tells whether ids of a home, or one id of it, lead to a home. */
export async function hasPlace(store: Store, home: Home, id?: string): Promise<boolean> {
  const [stored] = await store.read(partitionOf(id ?? idPrefix(home.id)), [{ type: "record", key }]);
  return stored !== null;
}

function partitionOf(name: string): string {
  return platformPartition("place", name);
}
