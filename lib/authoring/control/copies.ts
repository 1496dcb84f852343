/**
 * Copies of elements: of an event under another one, into a template and out of it.
 *
 * Elements exist as far as contents list them, so many of them are written in several commits, and the commit that writes the
 * contents makes all of them visible. Until then a note names them, and the work deletes what a dead process leaves.
 */

import { AppError } from "../../base/errors/mod.ts";
import type { Write } from "../../storage/mod.ts";
import {
  type Contents,
  contentsKey,
  elementKey,
  noContents,
  replaceIds,
  withoutMarks,
} from "../table/mod.ts";
import {
  assetsIn,
  contentsOf,
  entryOf,
  noteAssets,
  stagedKey,
  stagedWrites,
  unstagedWrites,
} from "./contents.ts";
import {
  type Attributes,
  type BeforeChange,
  type Codec,
  type CopiedElements,
  type Entity,
  type Home,
  homePartition,
  type Started,
  unknownRelated,
} from "./kind.ts";
import type { ControlServices } from "./services.ts";
import { runTransaction, type Transaction } from "./transaction.ts";

/** Most elements, and most UTF-16 units of them, that one commit writes. */
const elementsAtOnce = 400;
const unitsAtOnce = 2_000_000;
const assetsMax = 400;
/** Time for which a copy may be in the making. */
const stagedMs = 600_000;

/** The owner of copied elements: an event, or a template, whose elements nobody finds by their ids. */
interface CopyTarget {
  readonly home: Home;
  readonly id: string;
  readonly as: "event" | "template";
  /** True if nothing is to be written. */
  readonly isDry: boolean;
}

interface ReadSource {
  readonly stored: unknown;
  readonly contents: Contents;
  readonly elements: readonly Entity[];
}

/** Reads the event or template of a key with its elements as they were at one instant; null if there is none. */
export async function readSource(
  { store }: ControlServices,
  home: Home,
  id: string,
  key: string,
): Promise<ReadSource | null> {
  const step = (tx: Transaction): ReadSource | null => {
    tx.want(contentsKey(id));
    const stored = tx.get(key);
    const contents = contentsOf(tx, id);
    for (const entry of contents.elements) tx.want(elementKey(entry.id), { isGuarded: true });
    const elements = contents.elements.flatMap(
      entry => tx.get<Entity>(elementKey(entry.id), { isGuarded: true }) ?? [],
    );
    return stored === null ? null : { stored, contents, elements };
  };
  const rule = { keys: [key, contentsKey(id)], steps: [step], isDry: true };
  const [source = null] = await runTransaction(store, homePartition(home), rule);
  return source;
}

/** Returns what a creation takes over from the record that one of its relationships names; undefined if it names none. */
export async function copiedFrom(
  services: ControlServices,
  { id, input, isDry }: BeforeChange,
  { relationship, keyOf, codec, as }: CopiedRelationship,
): Promise<Started | undefined> {
  const sourceId = input.refs[relationship] ?? null;
  if (sourceId === null) return undefined;
  const home: Home = { kind: "project", id: input.refs.project ?? "" };
  const source = await readSource(services, home, sourceId, keyOf(sourceId));
  if (source === null) throw unknownRelated(input, relationship);
  const copied = await copyElements(services, source, sourceId, { home, id, as, isDry });
  const { attributes } = codec.decode(source.stored);
  const { duration, settings } = copiedAttributes(attributes, copied.ids);
  const taken = Object.entries({ duration, settings }).filter(([, value]) => value !== undefined);
  return { copied, attributes: { ...Object.fromEntries(taken), ...input.attributes } };
}

/** The relationship that names what a new record takes over. */
interface CopiedRelationship {
  readonly relationship: string;
  readonly keyOf: (id: string) => string;
  readonly codec: Codec;
  readonly as: CopyTarget["as"];
}

/** Copies elements under new ids. What mentions the copied records mentions their copies then. */
export async function copyElements(
  services: ControlServices,
  { contents, elements }: ReadSource,
  sourceId: string,
  target: CopyTarget,
): Promise<CopiedElements> {
  const { home, id, as, isDry } = target;
  const now = Math.floor(services.clock() / 1_000);
  const ids = new Map([[sourceId, id]]);
  for (const element of elements) ids.set(element.id, await services.places.newId(home));
  const parents = new Map(contents.elements.map(entry => [entry.id, entry.parent]));
  const copies = elements.map((element): Entity => {
    const parent = parents.get(element.id);
    return {
      id: ids.get(element.id) ?? element.id,
      rev: 1,
      created: now,
      updated: now,
      attributes: copiedAttributes(element.attributes, ids),
      refs: { [as]: id, ...(parent === undefined ? {} : { parent: ids.get(parent) ?? parent }) },
    };
  });
  const entries = copies.map(copy => entryOf(copy, copy.refs.parent));
  const parts = partsOf(copies);
  const assets = [...assetsIn(copies)].slice(0, assetsMax);
  if (isDry || parts.length < 2) return { ids, entries, elements: copies, isStaged: false, assets };
  await stage(services, target, parts);
  return { ids, entries, elements: [], isStaged: true, assets };
}

/** Returns attributes in which ids are replaced, without the annotations that mark one record. */
export function copiedAttributes(attributes: Attributes, ids: ReadonlyMap<string, string>): Attributes {
  const text = JSON.stringify(withoutMarks(attributes));
  return JSON.parse(replaceIds(text, id => ids.get(id))) as Attributes;
}

/** Lists copied elements under their new owner, in the commit that creates it. */
export function finishCopy(
  tx: Transaction,
  ownerId: string,
  { entries, elements, isStaged, assets }: CopiedElements,
  now: number,
): void {
  if (isStaged) {
    // The work may have begun to delete them.
    if ((tx.get<readonly string[]>(stagedKey(ownerId)) ?? []).length < entries.length)
      throw new AppError("conflict", "Cannot finish the copy as it took too long: make it again");
    for (const write of unstagedWrites(ownerId)) tx.effect(write);
  }
  for (const element of elements) tx.put(elementKey(element.id), element);
  const { rev } = tx.get<Contents>(contentsKey(ownerId)) ?? noContents;
  tx.put(contentsKey(ownerId), { rev: rev + 1, elements: entries });
  noteAssets(tx, ownerId, assets, now);
}

/** Writes elements that nothing lists yet. Each commit checks the note, so that none comes after the deletion of the others. */
async function stage(
  { store, work, clock }: ControlServices,
  { home, id }: CopyTarget,
  parts: readonly (readonly Entity[])[],
): Promise<void> {
  await work.expect(home);
  const partition = homePartition(home);
  const puts = parts.map(part =>
    part.map(
      (element): Write => ({ type: "put", key: elementKey(element.id), value: JSON.stringify(element) }),
    ),
  );
  const ids = parts.flat().map(element => element.id);
  const [first = [], ...others] = puts;
  const noted = await store.commit(partition, {
    checks: [{ key: stagedKey(id), version: null }],
    writes: [...stagedWrites(id, ids, clock() + stagedMs), ...first],
  });
  const version = noted.ok ? noted.version : "";
  const commits = await Promise.all(
    others.map(writes => store.commit(partition, { checks: [{ key: stagedKey(id), version }], writes })),
  );
  if (!noted.ok || commits.some(({ ok }) => !ok))
    throw new AppError("conflict", "Cannot make the copy now: try again");
}

function partsOf(elements: readonly Entity[]): readonly (readonly Entity[])[] {
  const parts: Entity[][] = [];
  let units = 0;
  for (const element of elements) {
    const { length } = JSON.stringify(element);
    const part = parts.at(-1);
    if (part === undefined || part.length === elementsAtOnce || units + length > unitsAtOnce) {
      parts.push([element]);
      units = length;
    } else {
      part.push(element);
      units += length;
    }
  }
  return parts;
}
