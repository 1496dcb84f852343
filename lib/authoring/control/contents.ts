/**
 * The contents of events and templates: their elements, elements that none lists yet or any more, and the assets that they
 * show.
 */

import { AppError } from "../../base/errors/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import type { Store, Write } from "../../storage/mod.ts";
import {
  answersKey,
  assetKey,
  type Contents,
  type ContentsEntry,
  contentsKey,
  elementKey,
  elementTimesOf,
  noContents,
  statsKey,
} from "../table/mod.ts";
import { type Change, type Entity, eventCodec, type Home, homePartition, type Input } from "./kind.ts";
import { runTransaction, type Transaction } from "./transaction.ts";
import type { WorkTask } from "./work.ts";

export function eventKey(id: string): string {
  return `event:${id}`;
}

export function templateKey(id: string): string {
  return `template:${id}`;
}

export function contentsOf(tx: Transaction, ownerId: string): Contents {
  return tx.get<Contents>(contentsKey(ownerId)) ?? noContents;
}

export function eventOf({ refs }: Entity): string {
  return refs.event ?? "";
}

export function entryOf(entity: Entity, parent: string | undefined): ContentsEntry {
  const { startMode, startOffset, publishedAt, revokedAt } = elementTimesOf(entity);
  const planned = startMode === "timecode" ? { offset: startOffset } : {};
  return {
    id: entity.id,
    ...(parent === undefined ? {} : { parent }),
    ...(publishedAt === null ? planned : { at: publishedAt }),
    ...(revokedAt === null ? {} : { isRevoked: true }),
  };
}

export function orderElements(tx: Transaction, eventId: string, ids: readonly string[], input: Input): void {
  const { rev, elements } = contentsOf(tx, eventId);
  const byId = new Map(elements.map(entry => [entry.id, entry]));
  const ordered = [...new Set(ids)].flatMap(id => byId.get(id) ?? []);
  if (ordered.length !== elements.length || ids.length !== elements.length) {
    const detail = `Expected each of the ${elements.length} elements of the event once`;
    throw new AppError("conflict", "Cannot order the elements as the event has others", {
      fields: [{ pointer: `${input.pointer}/relationships/elements/data`, detail }],
    });
  }
  if (ordered.some((entry, index) => entry !== elements[index]))
    tx.put(contentsKey(eventId), { rev: rev + 1, elements: ordered });
}

/** The board of a project that has the notes, by the time in Unix ms from which their elements are deleted. */
const board = "staged";
const notesMax = 100;
const deletesMax = 300;

/** Returns the writes that note elements under the id of their event, to be deleted from a time on (Unix ms). */
export function stagedWrites(eventId: string, elementIds: readonly string[], at: number): readonly Write[] {
  return [
    { type: "put", key: stagedKey(eventId), value: JSON.stringify(elementIds) },
    { type: "score", op: "set", key: board, member: eventId, score: at },
  ];
}

/** Returns the writes that remove a note. The commit has to check its record, so that nothing of it was deleted. */
export function unstagedWrites(eventId: string): readonly Write[] {
  return [
    { type: "delete", shape: "record", key: stagedKey(eventId) },
    { type: "unscore", key: board, member: eventId },
  ];
}

/** Returns the deletes of what fans left to an event or element. */
export function deletesOf(id: string): readonly Write[] {
  return [
    { type: "delete", shape: "tally", key: statsKey(id) },
    { type: "delete", shape: "log", key: answersKey(id) },
  ];
}

export function stagedKey(eventId: string): string {
  return `staged:${eventId}`;
}

/** Returns the task that deletes what notes name. */
export function stagedTask(store: Store): WorkTask {
  return async ({ kind, id }, now) => {
    if (kind !== "project") return null;
    const partition = directoryPartition("project", id);
    const [{ entries }] = await store.read(partition, [{ type: "board", key: board, limit: notesMax }]);
    for (const { member, score } of entries) {
      if (score > now) return score;
      await deleteStaged(store, partition, member);
    }
    return entries.length < notesMax ? null : now;
  };
}

export async function deleteStaged(store: Store, partition: string, eventId: string): Promise<void> {
  const key = stagedKey(eventId);
  let isDone: boolean | undefined = false;
  while (isDone === false) {
    [isDone] = await runTransaction(store, partition, {
      keys: [key],
      steps: [tx => deletePart(tx, eventId)],
    });
  }
}

/** Deletes some elements of a note, and notes the others. Returns true if none are left, or the event was completed meanwhile. */
function deletePart(tx: Transaction, eventId: string): boolean {
  const ids = tx.get<readonly string[]>(stagedKey(eventId));
  for (const id of ids?.slice(0, deletesMax) ?? []) {
    tx.put(elementKey(id), null);
    for (const left of deletesOf(id)) tx.effect(left);
  }
  const left = ids?.slice(deletesMax) ?? [];
  if (left.length > 0) tx.put(stagedKey(eventId), left);
  else for (const write of unstagedWrites(eventId)) tx.effect(write);
  return left.length === 0;
}

/** Projects that are asked at a time, and noted events of one that are looked into at a time. */
const projectsAtOnce = 16;
const ownersAtOnce = 20;
/** Most users of an asset that an error names. */
const namedMax = 10;

/** The id of an asset, or the digest in its address. */
const mention = /\/assets\/[0-9a-f-]{36}\/([0-9a-f]{64})|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/g;

/** The board of a project with the events and templates that mentioned an asset, latest first. */
function usesKey(asset: string): string {
  return `asset_uses:${asset}`;
}

/** Returns the ids and digests that may be those of assets. Ids of the same project are those of other records. */
export function assetsIn(entities: readonly Entity[]): ReadonlySet<string> {
  const found = entities.flatMap(({ id, attributes: { custom_fields, question, settings } }) => {
    const text = JSON.stringify([custom_fields, question, settings]).toLowerCase();
    const named = [...text.matchAll(mention)].map(([, digest, other = ""]) => digest ?? other);
    return named.filter(each => !each.startsWith(id.slice(0, 13)));
  });
  return new Set(found);
}

export function noteAssets(tx: Transaction, ownerId: string, assets: Iterable<string>, now: number): void {
  for (const asset of assets)
    tx.effectOnce({ type: "score", op: "set", key: usesKey(asset), member: ownerId, score: now });
}

/** Notes the assets that a change lets an event or template mention. */
export function noteChange(tx: Transaction, ownerId: string, entity: Entity, change: Change): void {
  const known = change.previous === null ? new Set() : assetsIn([change.previous]);
  const added = [...assetsIn([entity])].filter(asset => !known.has(asset));
  noteAssets(tx, ownerId, added, change.now);
}

/** @throws {AppError} `conflict`: something shows the asset. */
export async function requireUnused(store: Store, space: Home, id: string): Promise<void> {
  const [asset, projects] = await store.read(homePartition(space), [
    { type: "record", key: assetKey(id) },
    { type: "record", key: "projects" },
  ]);
  if (asset === null || projects === null) return;
  const { attributes } = JSON.parse(asset.value) as Entity;
  const names = [id, String(attributes.sha256)];
  const ids = JSON.parse(projects.value) as readonly string[];
  const found = await mapConcurrent(ids, projectsAtOnce, each =>
    usersIn(store, homePartition({ kind: "project", id: each }), names),
  );
  const users = found.flat();
  if (users.length === 0) return;
  const shown = users.slice(0, namedMax).join(", ");
  throw new AppError("conflict", `Cannot remove the asset as it is in use by ${shown}`, {
    details: { users: users.slice(0, namedMax), count: users.length },
  });
}

/** Returns what shows an asset in a project, by type and id, and forgets what no longer does. */
async function usersIn(
  store: Store,
  partition: string,
  names: readonly string[],
): Promise<readonly string[]> {
  for (;;) {
    const boards = await store.read(
      partition,
      names.map(name => ({ type: "board", key: usesKey(name), limit: ownersAtOnce, reverse: true }) as const),
    );
    const owners = new Set(boards.flatMap(({ entries }) => entries.map(({ member }) => member)));
    if (owners.size === 0) return [];
    const found = await mapConcurrent([...owners], ownersAtOnce, async owner => {
      const keys = [eventKey(owner), templateKey(owner)];
      const step = (tx: Transaction) => usersOf(tx, owner, names);
      return (await runTransaction(store, partition, { keys, steps: [step] })).flat();
    });
    if (found.flat().length > 0) return found.flat();
  }
}

function usersOf(tx: Transaction, ownerId: string, names: readonly string[]): readonly string[] {
  const isUser = (entity: Entity): boolean => {
    const mentioned = assetsIn([entity]);
    return names.some(name => mentioned.has(name));
  };
  const stored = tx.get(eventKey(ownerId));
  const template = tx.get<Entity>(templateKey(ownerId));
  const { elements } = contentsOf(tx, ownerId);
  for (const { id } of elements) tx.want(elementKey(id), { isGuarded: true });
  const inside = elements.flatMap(({ id }) => tx.get<Entity>(elementKey(id), { isGuarded: true }) ?? []);
  const users = inside.filter(isUser).map(({ id }) => `elements/${id}`);
  if (stored !== null && isUser(eventCodec.decode(stored))) users.unshift(`events/${ownerId}`);
  if (template !== null && (isUser(template) || users.length > 0)) return [`event_templates/${ownerId}`];
  if (users.length === 0)
    for (const name of names) tx.effect({ type: "unscore", key: usesKey(name), member: ownerId });
  return users;
}
