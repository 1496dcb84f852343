/** Finds the entities of a manifest on the server. */

import { type Attribute, resources } from "../../authoring/table/mod.ts";
import type { Fault } from "../../authoring/table/references.ts";
import { mapConcurrent } from "../../storage/background/mod.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { conflict } from "../frame/errors.ts";
import { pathOf, type ResourceObject } from "../frame/resources.ts";
import { type Manifest, types, type Wanted } from "./read.ts";

export const keyAnnotation = "manifest/key";
/** The annotation with digests of what was last applied. */
export const appliedAnnotation = "manifest/applied";

const readsMax = 6;

export interface Remote {
  readonly found: ReadonlyMap<string, ResourceObject>;
  /** Entities without a mark that have the name of one that was not found, by its path. */
  readonly namesakes: ReadonlyMap<string, ResourceObject>;
  readonly elements: ReadonlyMap<string, readonly ResourceObject[]>;
  readonly addresses: ReadonlyMap<string, string>;
  /** Number of entities beside them that the manifest does not have. */
  readonly unmanaged: number;
}

export function annotationOf({ attributes }: ResourceObject, name: string): string | null {
  return (attributes.annotations as Readonly<Record<string, string>> | undefined)?.[name] ?? null;
}

/**
 * Finds the entities of a manifest: by the id that it gives, else by their annotation, apps by their address.
 *
 * @throws {CliError} An id is not there, or two entities have one mark.
 */
export async function readRemote(manifest: Manifest, space: string, api: ControlApi): Promise<Remote> {
  const found = new Map<string, ResourceObject>();
  const namesakes = new Map<string, ResourceObject>();
  const elements = new Map<string, readonly ResourceObject[]>();
  const faults: Fault[] = [];
  let unmanaged = 0;

  async function read(path: string, wanted: readonly Wanted[]): Promise<readonly ResourceObject[]> {
    if (wanted.length === 0) return [];
    const list = await api.all(path, fieldsOf(wanted));
    if (list.isTruncated) throw conflict(`${path} has too many entries for a manifest`);
    for (const one of wanted) {
      const match = matchOf(one, list.data, manifest.id);
      if (match !== undefined) found.set(one.path, match);
      else if (one.id !== null)
        faults.push({ pointer: `${one.pointer}/id`, detail: `There is no ${one.kind} ${one.id} here` });
      const { name = "" } = one.attributes;
      const same = list.data.filter(
        other => name !== "" && other.attributes.name === name && annotationOf(other, keyAnnotation) === null,
      );
      if (match === undefined && same[0] !== undefined && same.length === 1) namesakes.set(one.path, same[0]);
    }
    const matched = new Set(wanted.flatMap(({ path: each }) => found.get(each)?.id ?? []));
    unmanaged += list.data.length - matched.size;
    return list.data;
  }

  const below = (parent: Wanted | null, kind: Wanted["kind"]): readonly Wanted[] =>
    manifest.wanted.filter(one => one.parent === parent && one.kind === kind);
  const inSpace = (list: string): string => pathOf({ kind: "space", id: space }, list);
  const projects = below(null, "project");
  const [apps] = await Promise.all([
    read(inSpace("apps"), below(null, "app")),
    read(inSpace("projects"), projects),
  ]);
  await mapConcurrent(projects, readsMax, async project => {
    const id = found.get(project.path)?.id;
    if (id !== undefined) await read(pathOf({ kind: "project", id }, "events"), below(project, "event"));
  });
  const events = manifest.wanted.filter(({ kind }) => kind === "event");
  await mapConcurrent(events, readsMax, async event => {
    const id = found.get(event.path)?.id;
    if (id === undefined) return;
    elements.set(id, await read(pathOf({ kind: "event", id }, "elements"), below(event, "element")));
  });
  for (const one of manifest.wanted) {
    const isOrphan = one.id !== null && one.parent !== null && !found.has(one.parent.path);
    if (isOrphan)
      faults.push({ pointer: `${one.pointer}/id`, detail: `Its ${one.parent?.kind} does not exist yet` });
  }
  if (faults.length > 0) throw manifest.refusal(faults);
  const addresses = new Map(apps.map(({ id, attributes }) => [id, String(attributes.spec_url)]));
  return { found, namesakes, elements, addresses, unmanaged };
}

function fieldsOf(wanted: readonly Wanted[]): Readonly<Record<string, string>> {
  const type = types[wanted[0]?.kind ?? "app"];
  const { attributes, relationships } = resources[type];
  const names = Object.entries<Attribute>(attributes).filter(
    ([name, { heavy = false }]) =>
      !heavy || (name !== "settings" && wanted.some(one => one.attributes[name] !== undefined)),
  );
  const isUsual = names.every(([, { heavy = false }]) => !heavy);
  const all = [...names.map(([name]) => name), ...Object.keys(relationships)];
  return isUsual ? {} : { [`fields[${type}]`]: all.join(",") };
}

function matchOf(
  { kind, path, formerPaths, id, attributes }: Wanted,
  list: readonly ResourceObject[],
  manifestId: string,
): ResourceObject | undefined {
  // The newest app of an address is first.
  if (kind === "app")
    return list.find(one => (id === null ? one.attributes.spec_url === attributes.spec_url : one.id === id));
  const marks = [path, ...formerPaths].map(each => `${manifestId}/${each}`);
  const [match, another] = list.filter(
    one => one.id === id?.toLowerCase() || marks.includes(annotationOf(one, keyAnnotation) ?? ""),
  );
  if (match === undefined || another === undefined) return match;
  throw conflict(`Two ${types[kind]} are ${path}: ${match.id} and ${another.id}`, {
    hint: `Remove one of them, or its annotation ${keyAnnotation}`,
    next: `grandstand annotations delete ${kind} ${another.id} ${keyAnnotation}`,
  });
}
