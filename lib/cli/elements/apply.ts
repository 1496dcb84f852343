/** `elements apply` and `elements export`: elements of an event and files of them. */

import { eventFlag, isActive } from "../events/fields.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { type Operation, pathOf, type ResourceObject } from "../frame/control_api.ts";
import { type CliError, conflict, exits, invalid, wrongUsage } from "../frame/errors.ts";
import type { LocatedDocument } from "../frame/host.ts";
import { json, rows } from "../frame/output.ts";
import {
  type Attributes,
  changeOf,
  creationsOf,
  type ElementRef,
  listElements,
  sendOperations,
} from "./batches.ts";
import type { FileElement } from "./file.ts";

/** The flag that publishes. */
export const publishFlag = { description: "Publish them as well; the event must be running" };

/** An element of the file beside that of the event. */
interface Pair {
  readonly element: FileElement;
  /** Its attributes, in which ids stand for elements that exist. */
  readonly attributes: Attributes;
  readonly remote: ResourceObject | undefined;
  /** Attributes of the file that the event's element has not; with `parent` where its wrapper is another. */
  readonly changed: readonly string[];
  readonly isPublished: boolean;
}

/** `elements apply`. */
export const applyElements: CommandSpec = {
  words: ["elements", "apply"],
  summary: "Create the elements of a file, which may name each other",
  flags: {
    event: eventFlag,
    file: { value: "path", description: "YAML or JSON; - reads stdin", required: true },
    publish: publishFlag,
    update: { description: "Change elements that exist and differ" },
  },
  changes: "Creates, and with --update changes, elements: all or none of each 500",
  examples: [
    "elements apply --event $EVENT --file show.yaml",
    "elements apply --event $EVENT --file show.yaml --publish",
  ],
  requests: 2,
  output: rows({
    name: ["NAME", "text"],
    type: ["TYPE", "text"],
    action: ["ACTION", "text"],
    is_published: ["PUBLISHED", "flag"],
    id: ["ID", "text"],
  }),
  exits: {
    [exits.conflict]: "An element of the same name differs, or the event is not running",
    [exits.invalid]: "The file has errors, each of which is named with line and column",
  },
  async run({ flags }, context) {
    const { event: eventId = "", file: path = "" } = flags;
    const file = await readFile(context, path);
    const api = await context.api();
    const within = { kind: "event", id: eventId } as const;
    const publishes = "publish" in flags;
    if (publishes) requireActive((await api.get(pathOf(within))).data);
    const remotes = await listElements(api, eventId);
    const byName = new Map(remotes.map(remote => [String(remote.attributes.name), remote]));
    const { elementsOfFile, filePointer } = await import("./file.ts");
    const { compared } = await import("./items.ts");
    const { elements, faults } = elementsOfFile(file.document, new Set(byName.keys()));
    if (faults.length > 0) {
      throw invalid(`${path} has ${faults.length === 1 ? "an error" : `${faults.length} errors`}`, {
        details: faults.map(({ pointer, detail }) => `${file.locate(pointer)}: ${detail}`),
      });
    }
    // A wrapper waits for its children, of which a timecode may publish some later.
    const waiting = new Set(elements.filter(isTimed).map(({ parent }) => parent));
    const pairs = elements.map((element): Pair => {
      const remote = byName.get(element.name);
      const { attributes, changed } = compared(element, byName);
      const isReady = !isTimed(element) && !waiting.has(element.name);
      const isPublished = publishes && isReady && (remote === undefined || isDraft(remote));
      return { element, attributes, remote, changed, isPublished };
    });
    if (!("update" in flags)) requireEqual(pairs, file, path);
    const operations = operationsOf(eventId, pairs, byName);
    const byLid = new Map(elements.map(element => [element.name, element]));
    const byId = new Map(pairs.map(({ element, remote }) => [remote?.id, element]));
    const ids = await sendOperations(context, operations, {
      within,
      where: ({ data }, pointer) => {
        const { lid = "", id } = data as { readonly lid?: string; readonly id?: string };
        const element = id === undefined ? byLid.get(lid) : byId.get(id);
        return element && file.locate(filePointer(element.pointer, element.attributes, pointer));
      },
    });
    const data = pairs.map(({ element: { name, attributes }, remote, changed, isPublished }) => ({
      name,
      type: attributes.content_type,
      action: remote === undefined ? "created" : changed.length > 0 ? "updated" : "exists",
      is_published: isPublished || (remote !== undefined && !isDraft(remote)),
      id: remote?.id ?? ids.get(name),
    }));
    return { data };
  },
};

/** Reads a document. @throws {CliError} There is no such file. */
export async function readFile({ files }: CliContext, path: string): Promise<LocatedDocument> {
  const file = await files.read(path);
  if (file === null) throw missingFile(path);
  return file;
}

/** Creates the error for a file that there is not. */
export function missingFile(path: string): CliError {
  return wrongUsage(`Cannot read ${path}: there is no such file`, { code: "missing_file" });
}

/** @throws {CliError} The event is not running, so that nothing can be published. */
export function requireActive(event: ResourceObject): void {
  if (isActive(event)) return;
  throw conflict(`Cannot publish in the event as it is ${event.attributes.state}`, {
    ...(event.attributes.state === "future" ? { next: `grandstand events start ${event.id}` } : {}),
  });
}

/** True if an element was never published, and no timecode will publish it. */
export function isDraft({ attributes }: ResourceObject): boolean {
  return attributes.state === "non_scheduled";
}

/** True if a timecode publishes an element. */
export function isTimed({ attributes }: { readonly attributes: Attributes }): boolean {
  return attributes.start_mode === "timecode";
}

/** @throws {CliError} An element of the event differs from that of the file. */
function requireEqual(pairs: readonly Pair[], { locate }: LocatedDocument, path: string): void {
  const details = pairs.flatMap(({ element, changed }) =>
    changed.length === 0
      ? []
      : [`${locate(element.pointer)}: ${element.name} differs in ${changed.join(", ")}`],
  );
  if (details.length === 0) return;
  throw conflict("The event has other elements of the same name", {
    details,
    hint: `Rename them in ${path}, or change those of the event with --update`,
  });
}

function operationsOf(eventId: string, pairs: readonly Pair[], byName: ReadonlyMap<string, ResourceObject>) {
  const parentOf = ({ parent }: FileElement): ElementRef | null => {
    if (parent === undefined) return null;
    const remote = byName.get(parent);
    return remote === undefined ? { lid: parent } : { id: remote.id };
  };
  const created = creationsOf(
    eventId,
    pairs
      .filter(({ remote }) => remote === undefined)
      .map(({ element, attributes, isPublished }) => ({
        lid: element.name,
        attributes,
        parent: parentOf(element),
        isPublished,
      })),
  );
  const wrappers = new Set(pairs.map(({ element }) => element.parent));
  const changes: Operation[] = [];
  const last: Operation[] = [];
  for (const { element, attributes, remote, changed, isPublished } of pairs) {
    if (remote === undefined) continue;
    const ref = { id: remote.id };
    const publish = isPublished ? { action: "publish" } : {};
    const isWrapper = wrappers.has(element.name);
    const written = Object.entries(attributes).filter(([name]) => changed.includes(name));
    const now = { ...Object.fromEntries(written), ...(isWrapper ? {} : publish) };
    const moved = changed.includes("parent") ? { parent: parentOf(element) } : {};
    const etag = String(remote.meta?.etag);
    if (changed.length > 0 || "action" in now)
      changes.push(changeOf({ ref, attributes: now, ...moved, etag }));
    if (isPublished && isWrapper) last.push(changeOf({ ref, attributes: publish }));
  }
  return [...created.operations, ...changes, ...created.wrappers, ...last];
}

/** `elements export`. */
export const exportElements: CommandSpec = {
  words: ["elements", "export"],
  summary: "Write the elements of an event as a file for elements apply",
  flags: {
    event: eventFlag,
    out: { value: "path", description: "The file; otherwise stdout", otherwise: "-" },
    force: { description: "Replace a file that differs" },
  },
  examples: ["elements export --event $EVENT", "elements export --event $EVENT --out show.yaml"],
  requests: 1,
  output: json,
  exits: { [exits.conflict]: "The file exists and differs" },
  async run({ flags: { event: eventId = "", out = "-", force } }, context) {
    const { itemsOf } = await import("./items.ts");
    const data = itemsOf(await listElements(await context.api(), eventId));
    const { stringify } = await import("yaml");
    const text = stringify(data, { lineWidth: 0 });
    if (out === "-") return { data, shown: text };
    const before = await context.files.readText(out, 16_777_216);
    if (before !== null && before !== text && force === undefined) {
      throw conflict(`${out} exists and differs`, {
        hint: "Give --force to replace it, or another --out",
      });
    }
    await context.files.writeText(out, text);
    return { data, shown: "", notes: [`${data.length} elements in ${out}`] };
  },
};
