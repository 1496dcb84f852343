/**
 * The apps of spaces: what they specify, and which projects use them.
 *
 * The record `apps` of a space lists its apps with the projects that use each; `app:<id>` has a specification, which never changes. A
 * project is noted here before it names the app, so that an app which is used cannot be removed.
 *
 * @module
 */

import type { AppSpec, ContentType } from "../../authoring/mod.ts";
import { Cache, type Loaded } from "../../background/mod.ts";
import { type Directory, directoryPartition } from "../../directory/mod.ts";
import { decide, type Store } from "../../storage/mod.ts";
import { type Entity, projectCodec } from "../entity.ts";

/** The record of a space that lists its apps. */
export const appsKey = "apps";
const specsMax = 200;
/** Age in seconds of a note from which a project that does not name the app counts as one that was never made. */
const notedSecondsMax = 60;

/** Projects that use an app, with the time of the note in Unix seconds. */
type AppUses = Readonly<Record<string, number>>;

/** Returns the projects that use an app. */
export function usesOf({ state }: Entity): AppUses {
  return (state?.projects as AppUses | undefined) ?? {};
}

/** Returns the key of a specification. */
export function appKey(id: string): string {
  return `app:${id}`;
}

/** Dependencies of {@linkcode Apps}. */
interface AppsOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: () => number;
}

/** Reads specifications, and notes the projects that use them. */
export class Apps {
  readonly #options: AppsOptions;
  readonly #specs = new Cache<AppSpec | null>({ entriesMax: specsMax });

  constructor(options: AppsOptions) {
    this.#options = options;
  }

  /** Returns the specification of an app, or null if the space has no such app. */
  async spec(spaceId: string, id: string): Promise<AppSpec | null> {
    const found = await this.#specs.getOrLoad(`${spaceId}/${id}`, () => this.#load(spaceId, id));
    if (found === null) this.#specs.delete(`${spaceId}/${id}`);
    return found;
  }

  /** Returns a project, at most 0.9 s old. */
  async project(id: string): Promise<Entity | null> {
    const stored = await this.#options.directory.project(id);
    return stored === null ? null : projectCodec.decode(stored);
  }

  /** Returns the content types of a project's app; null: it has no app. */
  async typesOf(projectId: string): Promise<readonly ContentType[] | null> {
    const { app, space } = (await this.project(projectId))?.refs ?? {};
    if (app === undefined || space === undefined) return null;
    return (await this.spec(space, app))?.elements ?? null;
  }

  /** Notes that a project is about to use an app. Returns false if the space has no such app. */
  async use(spaceId: string, id: string, projectId: string): Promise<boolean> {
    const now = Math.floor(this.#options.clock() / 1_000);
    return await this.#change(spaceId, id, uses => ({ ...uses, [projectId]: now }));
  }

  /** Forgets a noted project that does not use the app: it was moved to another one, or its creation failed. */
  async releaseUnused(spaceId: string, id: string, projectId: string): Promise<void> {
    const [stored] = await this.#options.store.read(directoryPartition("project", projectId), [
      { type: "record", key: "project" },
    ]);
    if (stored !== null && projectCodec.decode(JSON.parse(stored.value)).refs.app === id) return;
    await this.#change(spaceId, id, ({ [projectId]: _, ...uses }) => uses);
  }

  /** Forgets noted projects that do not use the app, of processes that ended. */
  async releaseStale(spaceId: string, id: string): Promise<void> {
    const { store, clock } = this.#options;
    const [list] = await store.read(directoryPartition("space", spaceId), [{ type: "record", key: appsKey }]);
    const apps = list === null ? [] : (JSON.parse(list.value) as readonly Entity[]);
    const uses = apps.filter(app => app.id === id).flatMap(app => Object.entries(usesOf(app)));
    for (const [projectId, noted] of uses) {
      if (noted <= clock() / 1_000 - notedSecondsMax) await this.releaseUnused(spaceId, id, projectId);
    }
  }

  async #change(spaceId: string, id: string, change: (uses: AppUses) => AppUses): Promise<boolean> {
    return await decide(this.#options.store, directoryPartition("space", spaceId), {
      reads: [{ type: "record", key: appsKey }],
      idempotent: true,
      apply: ([stored]) => {
        const apps = stored === null ? [] : (JSON.parse(stored.value) as readonly Entity[]);
        const found = apps.find(app => app.id === id);
        if (found === undefined) return { writes: [], answer: false };
        const changed = { ...found, state: { ...found.state, projects: change(usesOf(found)) } };
        const value = JSON.stringify(apps.map(app => (app === found ? changed : app)));
        return { writes: [{ type: "put", key: appsKey, value }], answer: true };
      },
    });
  }

  async #load(spaceId: string, id: string): Promise<Loaded<AppSpec | null>> {
    const [stored] = await this.#options.store.read(directoryPartition("space", spaceId), [
      { type: "record", key: appKey(id) },
    ]);
    return { value: stored === null ? null : (JSON.parse(stored.value) as AppSpec) };
  }
}
