/**
 * Which events, elements and templates show an asset. Boards of their project note the events and templates that mentioned an asset;
 * whether one still does is looked up when the asset is to be removed.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import { elementKey } from "../../table/mod.ts";
import { type Entity, eventCodec, type Home, homePartition } from "../entity.ts";
import type { Change } from "../kind.ts";
import { contentsOf, eventKey, templateKey } from "../kinds/contents.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { assetKey } from "./files.ts";

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

/** Notes that an event or template mentions assets. */
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
