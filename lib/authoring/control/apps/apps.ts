/**
 * The apps of spaces: what they specify, and which projects use them.
 *
 * The record `apps` of a space lists its apps with the projects that use each; `app:<id>` has a specification, which never changes. A
 * project is noted here before it names the app, so that an app which is used cannot be removed. The work settles notes of processes
 * that died before the project named the app, or after it.
 */

import type { Directory } from "../../../fans/directory/mod.ts";
import { directoryPartition } from "../../../fans/directory/records.ts";
import { Cache, chain, type Loaded } from "../../../storage/background/mod.ts";
import { decide, type Store } from "../../../storage/mod.ts";
import type { AppSpec, ContentType } from "../../table/mod.ts";
import { type Entity, projectCodec } from "../kind.ts";
import type { ControlWork } from "../work.ts";

const appsKey = "apps";
const specsMax = 200;
/** Age in ms from which a note that is not settled is that of a dead process. */
const unsettledMsMax = 60_000;

/** Projects that use an app, with the time of the note in Unix seconds until it is settled, which is 0. */
type AppUses = Readonly<Record<string, number>>;

export function usesOf({ state }: Entity): AppUses {
  return (state?.projects as AppUses | undefined) ?? {};
}

export function appKey(id: string): string {
  return `app:${id}`;
}

interface ProjectType {
  readonly definition: ContentType;
  /** False: the project hides it. */
  readonly isEnabled: boolean;
}

/** An app that a project is about to use. */
export interface AppUse {
  readonly spaceId: string;
  readonly appId: string;
  readonly projectId: string;
  /** True if nothing is to be noted. */
  readonly isDry: boolean;
}

/** The content types of a project; null: it has no app. */
export type ProjectTypes = readonly ProjectType[] | null;

interface AppsOptions {
  readonly store: Store;
  readonly directory: Directory;
  readonly work: ControlWork;
  /** Unix ms. */
  readonly clock: () => number;
}

/** Reads specifications, and notes the projects that use them. */
export class Apps {
  readonly #options: AppsOptions;
  readonly #specs = new Cache<AppSpec | null>({ entriesMax: specsMax });

  constructor(options: AppsOptions) {
    this.#options = options;
    options.work.add(async ({ kind, id }, now) => (kind === "space" ? await this.settleAll(id, now) : null));
  }

  /** Returns the specification of an app, without a promise once it was read; null: the space has no such app. */
  spec(spaceId: string, id: string): AppSpec | null | Promise<AppSpec | null> {
    return this.#specs.getOrLoad(`${spaceId}/${id}`, () => this.#load(spaceId, id));
  }

  /** Returns a project, at most 0.9 s old. */
  async project(id: string): Promise<Entity | null> {
    const stored = await this.#options.directory.project(id);
    return stored === null ? null : projectCodec.decode(stored);
  }

  /** Returns the content types of a project, without a promise once its app was read; null: it has no app. */
  typesOf(project: Entity): ProjectTypes | Promise<ProjectTypes> {
    const { app, space } = project.refs;
    if (app === undefined || space === undefined) return null;
    return chain(this.spec(space, app), spec => spec && typesOf(spec, project));
  }

  /** Notes that a project is about to use an app, and returns the app; null: the space has no such app. */
  async use({ spaceId, appId, projectId, isDry }: AppUse): Promise<AppSpec | null> {
    const { work, clock } = this.#options;
    if (!isDry) await work.expect({ kind: "space", id: spaceId });
    const now = Math.floor(clock() / 1_000);
    const isThere = await this.#change(spaceId, apps => {
      if (!apps.some(app => app.id === appId)) return null;
      return isDry ? apps : apps.map(app => (app.id === appId ? withUse(app, projectId, now) : app));
    });
    return isThere ? await this.spec(spaceId, appId) : null;
  }

  /** Settles the notes about a project: it uses the app that its record names, and no other. */
  async settle(spaceId: string, projectId: string): Promise<void> {
    const partition = directoryPartition("project", projectId);
    const [stored] = await this.#options.store.read(partition, [{ type: "record", key: "project" }]);
    const used = stored === null ? undefined : projectCodec.decode(JSON.parse(stored.value)).refs.app;
    await this.#change(spaceId, apps =>
      apps.map(app =>
        usesOf(app)[projectId] === undefined ? app : withUse(app, projectId, app.id === used ? 0 : null),
      ),
    );
  }

  /** Settles the notes that dead processes left in a space. Returns when there may be others to settle, in Unix ms. */
  async settleAll(spaceId: string, now: number): Promise<number | null> {
    const partition = directoryPartition("space", spaceId);
    const [list] = await this.#options.store.read(partition, [{ type: "record", key: appsKey }]);
    const apps = list === null ? [] : (JSON.parse(list.value) as readonly Entity[]);
    const unsettled = apps.flatMap(app => Object.entries(usesOf(app)).filter(([, noted]) => noted > 0));
    let next: number | null = null;
    for (const [projectId, noted] of new Map(unsettled)) {
      const at = noted * 1_000 + unsettledMsMax;
      if (at <= now) await this.settle(spaceId, projectId);
      else next = Math.min(at, next ?? at);
    }
    return next;
  }

  async #change(
    spaceId: string,
    change: (apps: readonly Entity[]) => readonly Entity[] | null,
  ): Promise<boolean> {
    return await decide(this.#options.store, directoryPartition("space", spaceId), {
      reads: [{ type: "record", key: appsKey }],
      idempotent: true,
      apply: ([stored]) => {
        const changed = change(stored === null ? [] : (JSON.parse(stored.value) as readonly Entity[]));
        const value = JSON.stringify(changed);
        const isSame = changed === null || value === (stored?.value ?? "[]");
        return { writes: isSame ? [] : [{ type: "put", key: appsKey, value }], answer: changed !== null };
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

function typesOf({ elements }: AppSpec, { attributes }: Entity): readonly ProjectType[] {
  const hidden = (attributes.hidden_elements ?? []) as readonly string[];
  return elements.map(definition => ({ definition, isEnabled: !hidden.includes(definition.content_type) }));
}

function withUse(app: Entity, projectId: string, noted: number | null): Entity {
  const { [projectId]: _, ...others } = usesOf(app);
  const projects = noted === null ? others : { ...others, [projectId]: noted };
  return { ...app, state: { ...app.state, projects } };
}
