/**
 * Records that former versions wrote: nothing notes where they are, and no list of their parents names them, so that the control API
 * does not find them.
 *
 * @module
 */

import { mapConcurrent } from "../../storage/background/mod.ts";
import {
  decide,
  type PartitionLister,
  platformPartition,
  type Read,
  type Store,
  storageLimits,
  tenantPartitions,
} from "../../storage/mod.ts";
import { isChildId } from "./ids.ts";
import { openEventsKey, openEventsOf } from "./open_events.ts";
import { claimPlace, type Home, hasPlace, notePlace } from "./places.ts";
import { directoryPartition, projectsKey, spacesKey } from "./records.ts";

/** Events that are read together. */
const eventsAtOnce = 100;
const readsAtOnce = 16;

/** A record that the control API does not find. */
interface Unlisted {
  /** Names it, for people. */
  readonly name: string;
  repair(): Promise<void>;
}

/** Finds unlisted organisations, spaces, projects and events; null for each that is listed. `now` is Unix seconds. */
export async function* findUnlisted(
  store: Store & PartitionLister,
  now: number,
): AsyncGenerator<readonly (Unlisted | null)[], void> {
  for (const kind of ["organisation", "space", "project"] as const) {
    for await (const group of tenantPartitions(store, { tenant: kind, record: kind })) {
      for (const { tenant, kind: part } of group) {
        const home = { kind, id: (tenant as Readonly<Record<string, string>>)[kind] ?? "" };
        if (part !== "directory") continue;
        yield [await unlistedHome(store, home, now)];
        if (kind === "project") yield* unlistedEvents(store, home);
      }
    }
  }
}

async function unlistedHome(
  store: Store,
  home: Home & { readonly kind: "organisation" | "space" | "project" },
  now: number,
): Promise<Unlisted | null> {
  const { kind, id } = home;
  const partition = directoryPartition(kind, id);
  const [stored, open] = await store.read(partition, [
    { type: "record", key: kind },
    { type: "record", key: openEventsKey },
  ]);
  if (stored === null) return null;
  const owners = JSON.parse(stored.value) as { readonly organisationId?: string; readonly spaceId?: string };
  const list = kind === "organisation" ? null : parentList(kind, owners);
  const isListed = list === null ? await isKnown(store, id) : await hasId(store, list, id);
  const isOpen = kind !== "project" || open !== null;
  if (isListed && isOpen && (await hasPlace(store, home))) return null;
  return {
    name: `the ${kind} ${id}`,
    async repair() {
      await claimPlace(store, home);
      if (list === null) await listOrganisation(store, id, now);
      else await addIds(store, list.partition, list.key, [id]);
      if (kind === "project") await openEventsOf(store, id, now);
    },
  };
}

function parentList(
  kind: "space" | "project",
  { organisationId = "", spaceId = "" }: { readonly organisationId?: string; readonly spaceId?: string },
) {
  return kind === "project"
    ? { partition: directoryPartition("space", spaceId), key: projectsKey }
    : { partition: directoryPartition("organisation", organisationId), key: spacesKey };
}

async function* unlistedEvents(store: Store, home: Home): AsyncGenerator<readonly (Unlisted | null)[], void> {
  const partition = directoryPartition("project", home.id);
  for (let offset = 0; ; offset += eventsAtOnce) {
    const [{ entries }] = await store.read(partition, [
      { type: "board", key: "events", offset, limit: eventsAtOnce },
    ]);
    const reads = entries.map(({ member }): Read => ({ type: "standing", key: "events_created", member }));
    const created = reads.length === 0 ? [] : await store.read(partition, reads);
    const found = entries.map((entry, index) => ({ ...entry, isDated: created[index] !== null }));
    yield await mapConcurrent(found, readsAtOnce, async ({ member: id, score, isDated }) => {
      if (isDated && (isChildId(id) || (await hasPlace(store, home, id)))) return null;
      return {
        name: `the event ${id} of project ${home.id}`,
        async repair() {
          if (!isChildId(id)) await notePlace(store, id, home);
          await store.commit(partition, {
            writes: [{ type: "score", op: "min", key: "events_created", member: id, score }],
          });
        },
      };
    });
    if (entries.length < eventsAtOnce) return;
  }
}

async function isKnown(store: Store, organisationId: string): Promise<boolean> {
  const [standing] = await store.read(platformPartition("control"), [
    { type: "standing", key: "organisations", member: organisationId },
  ]);
  return standing !== null;
}

/** Adds an organisation to the list that operators see. */
export async function listOrganisation(store: Store, id: string, now: number): Promise<void> {
  await store.commit(platformPartition("control"), {
    writes: [{ type: "score", op: "min", key: "organisations", member: id, score: now }],
  });
}

/** Returns the ids of the oldest organisations that operators see, at most 500. */
export async function oldestOrganisations(store: Store): Promise<readonly string[]> {
  const query = { type: "board", key: "organisations", limit: storageLimits.rangeLimitMax } as const;
  const [{ entries }] = await store.read(platformPartition("control"), [query]);
  return entries.map(({ member }) => member);
}

async function hasId(
  store: Store,
  { partition, key }: { readonly partition: string; readonly key: string },
  id: string,
): Promise<boolean> {
  const [stored] = await store.read(partition, [{ type: "record", key }]);
  return stored !== null && (JSON.parse(stored.value) as readonly string[]).includes(id);
}

/** Adds ids to a list, behind those that it has. */
export async function addIds(
  store: Store,
  partition: string,
  key: string,
  ids: readonly string[],
): Promise<void> {
  await decide(store, partition, {
    reads: [{ type: "record", key }],
    idempotent: true,
    apply: ([stored]) => {
      const listed = stored === null ? [] : (JSON.parse(stored.value) as readonly string[]);
      const added = ids.filter(id => !listed.includes(id));
      const value = JSON.stringify([...listed, ...added]);
      return { writes: added.length === 0 ? [] : [{ type: "put", key, value }], answer: undefined };
    },
  });
}
