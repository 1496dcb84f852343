/** Assets and their tags. */

import { AppError } from "../../../base/errors/mod.ts";
import { assetKey, assetUrl, digestKey, resources } from "../../table/mod.ts";
import { type DigestNote, notesKey } from "../assets/files.ts";
import { requireUnused } from "../contents.ts";
import {
  type Entity,
  type Home,
  homePartition,
  type Input,
  type Kind,
  ownRecords,
  sharedKind,
  unknownRelated,
} from "../kind.ts";
import type { ControlServices } from "../services.ts";
import type { Transaction } from "../transaction.ts";

/** Most tags of an asset. It is on six boards for each, and on six without any. */
const tagsPerAssetMax = 20;

export const assetTallies = { mime: "mime", uploader: "uploaders", usage: "usage" } as const;
/** Most assets of a space, and most bytes of their files together: 1 TiB. */
const assetsMax = 100_000;
const assetBytesMax = 1_099_511_627_776;

function boardKey({ mime = "", tag = "", uploader = "" }: Readonly<Record<string, unknown>>): string {
  return `assets:${mime}:${tag}:${uploader}`;
}

export function assetKind({ publicUrl, store, work }: ControlServices): Kind {
  return {
    resource: resources.assets,
    records: ownRecords(assetKey),
    board: ({ filters }) => ({ key: boardKey(filters), isExact: true }),
    present(entity) {
      const url = assetUrl(publicUrl, entity.refs.space ?? "", entity.attributes);
      return { attributes: { url }, related: { tags: tagsOf(entity).map(id => ({ type: "tags", id })) } };
    },
    prepare(entity, tx, { previous, input }) {
      if (previous === null && tx.get(digestKey(digestOf(entity))) !== null)
        throw new AppError("conflict", "Cannot store the file again: the space has it already");
      return { ...entity, state: { tags: taggedBy(entity, tx, input) } };
    },
    changed(entity, tx, { previous }) {
      const { id, created } = entity;
      const [before, after] = [previous === null ? [] : boardsOf(previous), boardsOf(entity)];
      for (const key of after.filter(each => !before.includes(each)))
        tx.effect({ type: "score", op: "set", key, member: id, score: created });
      for (const key of before.filter(each => !after.includes(each)))
        tx.effect({ type: "unscore", key, member: id });
      const { mime, bytes } = entity.attributes as Omit<DigestNote, "id">;
      if (previous?.attributes.mime === mime) return;
      tx.put(digestKey(digestOf(entity)), { id, mime, bytes } satisfies DigestNote);
      if (previous !== null) {
        countType(previous, tx, -1);
        return countType(entity, tx, 1);
      }
      tx.effect({ type: "unscore", key: notesKey, member: id });
      count(entity, tx, 1);
    },
    removed(entity, tx, { now }) {
      const note = { key: notesKey, member: entity.id, score: now * 1_000 };
      tx.effect({ type: "score", op: "set", ...note });
      for (const key of boardsOf(entity)) tx.effect({ type: "unscore", key, member: entity.id });
      tx.put(digestKey(digestOf(entity)), null);
      count(entity, tx, -1);
    },
    checkRemoval: (id, home) => requireUnused(store, home, id),
    async beforeRemoval(id, home) {
      await requireUnused(store, home, id);
      await work.expect(home);
    },
  };
}

export function tagKind(): Kind {
  const tags = sharedKind(resources.tags);
  return {
    ...tags,
    prepare(entity, tx) {
      const nameOf = ({ attributes }: Entity): string => String(attributes.name).toLowerCase();
      const same = tags.records.list(tx).find(each => nameOf(each) === nameOf(entity));
      if (same === undefined) return entity;
      throw new AppError("conflict", "Cannot create the tag: the space has one of this name", {
        details: { id: same.id },
      });
    },
  };
}

/** Returns the ids that are no tags of a space. Tags are never removed, so that nothing has to be checked again. */
export function unknownTags(tx: Transaction, ids: readonly string[]): readonly string[] {
  const known = tx.get<readonly Entity[]>("tags", { isGuarded: true }) ?? [];
  return ids.filter(id => !known.some(tag => tag.id === id));
}

function taggedBy(entity: Entity, tx: Transaction, input: Input): readonly string[] {
  const { add = [], remove = [] } = input.links?.tags ?? {};
  if (unknownTags(tx, [...add, ...remove]).length > 0) throw unknownRelated(input, "tags");
  const tags = [...new Set([...tagsOf(entity), ...add])].filter(id => !remove.includes(id));
  if (tags.length > tagsPerAssetMax && add.length > 0)
    throw new AppError("conflict", `Cannot add the tag: an asset has at most ${tagsPerAssetMax}`);
  return tags;
}

/** Every combination of filters that finds the asset has a board, so that pages and their totals cost one read. */
function boardsOf(entity: Entity): readonly string[] {
  const mime = String(entity.attributes.mime);
  const types = [undefined, mime, `${mime.split("/", 1)[0]}/*`];
  const people = [undefined, entity.refs.uploader];
  const tags = [undefined, ...tagsOf(entity)];
  return types.flatMap(type =>
    people.flatMap(uploader => tags.map(tag => boardKey({ mime: type, tag, uploader }))),
  );
}

function countType({ attributes }: Entity, tx: Transaction, by: 1 | -1): void {
  tx.effect({ type: "add", key: assetTallies.mime, field: String(attributes.mime), by });
}

function count(entity: Entity, tx: Transaction, by: 1 | -1): void {
  const { attributes, refs } = entity;
  countType(entity, tx, by);
  tx.effect({ type: "add", key: assetTallies.uploader, field: refs.uploader ?? "", by });
  const bytes = by * Number(attributes.bytes);
  tx.effect({ type: "add", key: assetTallies.usage, field: "assets", by, max: assetsMax });
  tx.effect({ type: "add", key: assetTallies.usage, field: "bytes", by: bytes, max: assetBytesMax });
}

/** @throws {AppError} `conflict`: a space has no room for another file of so many bytes. */
export async function requireRoom({ store }: ControlServices, home: Home, bytes: number): Promise<void> {
  const [usage] = await store.read(homePartition(home), [{ type: "tally", key: assetTallies.usage }]);
  const hasRoom =
    (usage.get("assets") ?? 0) < assetsMax && (usage.get("bytes") ?? 0) + bytes <= assetBytesMax;
  if (hasRoom) return;
  throw new AppError(
    "conflict",
    `Cannot store the file: a space has at most ${assetsMax} assets and ${assetBytesMax} bytes of files, so remove some first`,
  );
}

function tagsOf({ state }: Entity): readonly string[] {
  return (state?.tags ?? []) as readonly string[];
}

function digestOf({ attributes }: Entity): string {
  return String(attributes.sha256);
}
