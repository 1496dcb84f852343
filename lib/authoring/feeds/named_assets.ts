/** The files that elements name by id or address: their addresses, and what they show. */

import { directoryPartition } from "../../fans/directory/records.ts";
import type { Loaded } from "../../storage/background/mod.ts";
import { readMany } from "../../storage/board_pages.ts";
import type { ReadRecord, Store } from "../../storage/mod.ts";
import { assetKey, assetUrl, digestKey } from "../table/contents.ts";
import { type FeedAssets, fieldsOf, noAssets, questionOf } from "./feed_element.ts";

/** Age in ms from which the records of files are read again. */
export const assetsAgeMsMax = 5_000;

interface Named {
  readonly attributes: Readonly<Record<string, unknown>>;
}

const idShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** The digest in the address of a file. */
const addressShape = /^(?:https?:)?\/\/.*\/assets\/[0-9a-f-]{36}\/([0-9a-f]{64})\//;

/** Lists the values that may name files. Ids of the same project are those of other records. */
export function assetNames(elements: readonly Named[], projectId: string): readonly string[] {
  const isOther = (id: string): boolean => !id.toLowerCase().startsWith(projectId.slice(0, 13));
  const isName = (value: unknown): value is string =>
    typeof value === "string" && (addressShape.test(value) || (idShape.test(value) && isOther(value)));
  const names = elements.flatMap(({ attributes }) => {
    const { fields, options = [] } = questionOf(attributes);
    const lists = [attributes.custom_fields, fields, ...options.map(option => option.fields)];
    return lists.flatMap(fieldsOf).flatMap(({ values }) => Object.values(values).flat().filter(isName));
  });
  return [...new Set(names)];
}

/** Returns the digest in the address of a file of the platform. */
function digestIn(name: string): string | undefined {
  return addressShape.exec(name)?.[1];
}

/** Reads the files of a project's space that are named so. What is no file of it is left out. */
export async function readAssets(
  { store, publicUrl }: { readonly store: Store; readonly publicUrl: string },
  { projectId, names }: { readonly projectId: string; readonly names: readonly string[] },
): Promise<Loaded<FeedAssets>> {
  const [project] = await store.read(directoryPartition("project", projectId), [record("project")]);
  if (project === null) return { value: noAssets };
  const { spaceId } = JSON.parse(project.value) as { readonly spaceId: string };
  const partition = directoryPartition("space", spaceId);
  const addressed = names.filter(name => digestIn(name) !== undefined);
  const notes = await readMany(
    store,
    partition,
    addressed.map(name => record(digestKey(digestIn(name) ?? ""))),
  );
  const idByAddress = new Map(
    addressed.map((name, index) => [name, (JSON.parse(notes[index]?.value ?? "{}") as { id?: string }).id]),
  );
  const ids = names.map(name => (idByAddress.has(name) ? (idByAddress.get(name) ?? "") : name.toLowerCase()));
  const found = await readMany(
    store,
    partition,
    ids.map(id => record(assetKey(id))),
  );
  const assets = names.flatMap((name, index) => {
    const stored = found[index];
    if (stored == null) return [];
    const { attributes } = JSON.parse(stored.value) as Named;
    const url = idByAddress.has(name) ? name : assetUrl(publicUrl, spaceId, attributes);
    return [[name, { url, text: String(attributes.alt_text ?? "") }] as const];
  });
  const version = found.map(stored => stored?.version).join(" ");
  return { value: new Map(assets), version };
}

function record(key: string): ReadRecord {
  return { type: "record", key };
}
