/** The owners of elements and events, which actions name by their ids alone. */

import { type Directory, directoryPartition, type Places } from "../../fans/directory/mod.ts";
import { Cache, type Loaded } from "../../storage/background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { elementKey } from "../table/contents.ts";
import type { ElementRecord } from "./sources.ts";

/** Elements and events whose owner a process remembers, and for how long in ms. */
const ownersKept = { entriesMax: 20_000, maxAgeMs: 30_000 };

/** The owner of an element or event. */
interface Owner {
  readonly spaceId: string;
  readonly projectId: string;
  readonly eventId: string;
}

interface OwnersServices {
  readonly store: Store;
  readonly places: Places;
  readonly directory: Pick<Directory, "project">;
  /** Unix ms. */
  readonly clock: () => number;
}

/** Finds the owners of elements and events. */
export class Owners {
  readonly #services: OwnersServices;
  readonly #owners: Cache<Owner | null>;

  constructor(services: OwnersServices) {
    this.#services = services;
    this.#owners = new Cache({ ...ownersKept, clock: services.clock });
  }

  /** Returns the owner of an element or event; null: there is none of this id. */
  of(id: string): Owner | null | Promise<Owner | null> {
    return this.#owners.getOrLoad(id, () => this.#load(id));
  }

  /** Forgets that there was no such element or event. */
  forget(id: string): void {
    if (this.#owners.get(id) === null) this.#owners.delete(id);
  }

  async #load(id: string): Promise<Loaded<Owner | null>> {
    const { store, places, directory } = this.#services;
    const home = await places.homeOf(id);
    if (home?.kind !== "project") return { value: null };
    const [element, event] = await store.read(directoryPartition("project", home.id), [
      { type: "record", key: elementKey(id) },
      { type: "record", key: `event:${id}` },
    ]);
    const project = await directory.project(home.id);
    const eventId = element === null ? id : (JSON.parse(element.value) as ElementRecord).refs.event;
    if (project === null || eventId === undefined || (element ?? event) === null) return { value: null };
    return { value: { spaceId: project.spaceId, projectId: home.id, eventId } };
  }
}
