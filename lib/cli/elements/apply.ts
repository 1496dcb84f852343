/** `elements apply` and `elements export`: elements of an event and files of them. */

import { type Attributes, type Change, creationsOf } from "../../authoring/table/element_batches.ts";
import { needsLocales } from "../../authoring/table/element_content.ts";
import type { FileElement } from "../../authoring/table/element_file.ts";
import {
  eventName,
  mapTexts,
  pathOfToken,
  replaceTokens,
  tokenOf,
} from "../../authoring/table/references.ts";
import type { LocatedDocument } from "../../base/text/document.ts";
import { isActive } from "../events/fields.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import { CliError, conflict, exits, invalid, missingFile } from "../frame/errors.ts";
import { eventFlag } from "../frame/flags.ts";
import { json, rows } from "../frame/output.ts";
import { type ResourceObject, relation } from "../frame/resources.ts";
import { yamlText } from "../frame/text.ts";
import { listElements, sendChanges } from "./batches.ts";

const fileBytesMax = 16_777_216;

export const publishFlag = { description: "Publish them as well; the event must be running" };

interface Pair {
  readonly element: FileElement;
  readonly attributes: Attributes;
  readonly remote: ResourceObject | undefined;
  /** Attributes of the file that the event's element has not; with `parent` where its wrapper is another. */
  readonly changed: readonly string[];
  readonly isPublished: boolean;
}

export const applyElements: CommandSpec = {
  words: ["elements", "apply"],
  summary: "Create the elements of a file, which may name each other",
  flags: {
    event: eventFlag,
    file: { value: "path", description: "YAML or JSON; - reads stdin", required: true },
    publish: publishFlag,
    update: { description: "Change elements that exist and differ" },
    "dry-run": { description: "Let the server check everything, and change nothing" },
  },
  changes: "Creates, and with --update changes, elements: all or none of each 500",
  examples: [
    "elements apply --event $EVENT --file show.yaml",
    "elements apply --event $EVENT --file show.yaml --publish",
    "elements apply --event $EVENT --file show.yaml --dry-run",
  ],
  requests: 2,
  output: rows({
    name: "text",
    type: "text",
    action: "text",
    is_published: ["PUBLISHED", "flag"],
    id: "text?",
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
    const [publishes, isDryRun] = ["publish" in flags, "dry-run" in flags];
    if (publishes) requireActive((await api.read(within)).data);
    const locales = await localesFor(file.document, eventId, context);
    const remotes = await listElements(api, eventId);
    const byName = new Map(remotes.map(remote => [String(remote.attributes.name), remote]));
    const { elementsOfFile, filePointer } = await import("../../authoring/table/element_file.ts");
    const { compared } = await import("./file.ts");
    const { elements, faults } = elementsOfFile(file.document, new Set(byName.keys()), locales);
    if (faults.length > 0) {
      const own = faults.map(({ pointer, detail }) => `${file.locate(pointer)}: ${detail}`);
      const details = [...own, ...(await serverFaults(context, eventId, { elements, faults, file }))];
      throw invalid(`${path} has ${details.length === 1 ? "an error" : `${details.length} errors`}`, {
        details,
      });
    }
    const ownByName = new Map(elements.map(element => [element.name, element]));
    const idOf = (name: string): string =>
      byName.get(name)?.id ?? (name === eventName && !ownByName.has(name) ? eventId : tokenOf(name));
    // A wrapper waits for its children, of which a timecode may publish some later.
    const waiting = new Set(elements.filter(isTimed).map(({ parent }) => parent));
    const pairs = elements.map((element): Pair => {
      const remote = byName.get(element.name);
      const { attributes, changed } = compared(element, byName, idOf);
      const isReady = !isTimed(element) && !waiting.has(element.name);
      const isPublished = publishes && isReady && (remote === undefined || isDraft(remote));
      return { element, attributes, remote, changed, isPublished };
    });
    if (!("update" in flags)) requireEqual(pairs, file, path);
    const changes = changesOf(eventId, pairs, byName);
    const byId = new Map(pairs.map(({ element, remote }) => [remote?.id, element]));
    const ids = await sendChanges(context, changes, {
      within,
      isDryRun,
      where: ({ id }, pointer) => {
        const name = pathOfToken(id);
        const element = name === null ? byId.get(id) : ownByName.get(name);
        return element && file.locate(filePointer(element.pointer, element.attributes, pointer));
      },
    });
    const data = pairs.map(({ element: { name, attributes }, remote, changed, isPublished }) => ({
      name,
      type: attributes.content_type,
      action: actionOf(
        remote === undefined ? "created" : changed.length > 0 ? "updated" : "exists",
        isDryRun,
      ),
      is_published: isPublished || (remote !== undefined && !isDraft(remote)),
      // In a trial there are ids that nothing will have.
      id: remote?.id ?? (isDryRun ? null : ids.get(name)),
    }));
    return { data, notes: draftsByClock(pairs) };
  },
};

/** Returns what the server finds wrong with the elements of a file that have no fault of their own, without those in the event. */
async function serverFaults(
  context: CliContext,
  eventId: string,
  {
    elements,
    faults,
    file,
  }: { readonly file: LocatedDocument } & ReturnType<
    typeof import("../../authoring/table/element_file.ts").elementsOfFile
  >,
): Promise<readonly string[]> {
  const { filePointer } = await import("../../authoring/table/element_file.ts");
  const isFaulty = ({ pointer }: FileElement): boolean =>
    faults.some(fault => `${fault.pointer}/`.startsWith(`${pointer}/`));
  const sound = new Map(elements.filter(one => !isFaulty(one)).map(one => [one.name, one]));
  // Each alone: what it names may be faulty.
  const nobody = "00000000-0000-4000-8000-000000000000";
  const changes = [...sound.values()].map(({ name, attributes }): Change => {
    const values = mapTexts(attributes, text => replaceTokens(text, () => nobody)) as Attributes;
    return { op: "add", id: tokenOf(name), attributes: values, related: { event: eventId } };
  });
  const within = { kind: "event", id: eventId } as const;
  const where = ({ id }: Change, pointer: string): string | undefined => {
    const element = sound.get(pathOfToken(id) ?? "");
    return element && file.locate(filePointer(element.pointer, element.attributes, pointer));
  };
  try {
    await sendChanges(context, changes, { within, isDryRun: true, where });
    return [];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return error.exit === exits.invalid ? (error.options.details ?? []) : [];
  }
}

/** Names the drafts that their wrappers, which the clock publishes, are shown without. */
function draftsByClock(pairs: readonly Pair[]): readonly string[] {
  const isByClock = ({ element, remote }: Pair): boolean =>
    isTimed({ attributes: { ...remote?.attributes, ...element.attributes } });
  const left = pairs.filter(
    pair => !isByClock(pair) && !pair.isPublished && (pair.remote === undefined || isDraft(pair.remote)),
  );
  return pairs.filter(isByClock).flatMap(({ element: { name } }) => {
    const drafts = left.flatMap(({ element: child }) => (child.parent === name ? child.name : []));
    const note = `${name} is shown by the clock without what are drafts: ${drafts.join(", ")}`;
    return drafts.length === 0 ? [] : [note];
  });
}

/** Returns the locales of the project of an event where the contents of a document depend on them. */
export async function localesFor(
  document: unknown,
  eventId: string,
  context: CliContext,
): Promise<readonly string[]> {
  if (!needsLocales(document)) return [];
  const api = await context.api();
  const { data, included } = await api.read({ kind: "event", id: eventId }, { include: "project" });
  const project = included("projects", relation(data, "project"));
  return (project?.attributes.locales ?? []) as readonly string[];
}

function actionOf(action: "created" | "updated" | "exists", isDryRun: boolean): string {
  return isDryRun && action !== "exists" ? `would be ${action}` : action;
}

/** Writes texts by the paths of their files. @throws {CliError} A file has another text, and is not to be replaced. */
export async function writeFiles(
  { files }: CliContext,
  texts: ReadonlyMap<string, string>,
  { isForced, next }: { readonly isForced: boolean; readonly next?: string },
): Promise<void> {
  for (const [path, text] of texts) {
    const before = await files.readText(path, fileBytesMax);
    if (before !== null && before !== text && !isForced)
      throw conflict(`${path} exists and differs`, {
        hint: "Give --force to replace it, or another --out",
        next,
      });
  }
  for (const [path, text] of texts) await files.writeText(path, text);
}

/** Reads a document. @throws {CliError} There is no such file. */
export async function readFile({ files }: CliContext, path: string): Promise<LocatedDocument> {
  const file = await files.read(path);
  if (file === null) throw missingFile(path);
  return file;
}

/** @throws {CliError} The event is not running, so that nothing can be published. */
export function requireActive(event: ResourceObject): void {
  if (isActive(event)) return;
  const { state } = event.attributes;
  const next = state === "future" ? `grandstand events start ${event.id}` : undefined;
  throw conflict(`Cannot publish in the event as it is ${state}`, { next });
}

/** True if an element was never published, and no timecode will publish it. */
export function isDraft({ attributes }: ResourceObject): boolean {
  return attributes.state === "non_scheduled";
}

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

function changesOf(
  eventId: string,
  pairs: readonly Pair[],
  byName: ReadonlyMap<string, ResourceObject>,
): readonly Change[] {
  const parentOf = ({ parent }: FileElement): string | null =>
    parent === undefined ? null : (byName.get(parent)?.id ?? tokenOf(parent));
  const created = creationsOf(
    eventId,
    pairs
      .filter(({ remote }) => remote === undefined)
      .map(({ element, attributes, isPublished }) => ({
        id: tokenOf(element.name),
        attributes,
        parent: parentOf(element),
        isPublished,
      })),
  );
  const wrappers = new Set(pairs.map(({ element }) => element.parent));
  const changes: Change[] = [];
  const last: Change[] = [];
  for (const { element, attributes, remote, changed, isPublished } of pairs) {
    if (remote === undefined) continue;
    const { id } = remote;
    const publish = isPublished ? { action: "publish" } : {};
    const isWrapper = wrappers.has(element.name);
    const written = Object.entries(attributes).filter(([name]) => changed.includes(name));
    const now = { ...Object.fromEntries(written), ...(isWrapper ? {} : publish) };
    const related = changed.includes("parent") ? { parent: parentOf(element) } : {};
    const ifMatch = String(remote.meta?.etag);
    if (changed.length > 0 || "action" in now)
      changes.push({ op: "update", id, attributes: now, related, ifMatch });
    if (isPublished && isWrapper) last.push({ op: "update", id, attributes: publish });
  }
  return [...created.changes, ...changes, ...created.wrappers, ...last];
}

export const exportElements: CommandSpec = {
  words: ["elements", "export"],
  summary: "Write the elements of an event as a file for elements apply",
  flags: {
    event: eventFlag,
    out: { value: "path", description: "The file; otherwise stdout", otherwise: "-" },
    force: { description: "Replace a file that differs" },
  },
  examples: ["elements export --event $EVENT", "elements export --event $EVENT --out show.yaml"],
  output: json,
  exits: { [exits.conflict]: "The file exists and differs" },
  async run({ flags: { event: eventId = "", out = "-", force } }, context) {
    const { itemsOf } = await import("./file.ts");
    const data = itemsOf(eventId, await listElements(await context.api(), eventId));
    const text = await yamlText(data);
    if (out === "-") return { data, shown: text };
    await writeFiles(context, new Map([[out, text]]), { isForced: force !== undefined });
    return { data, shown: "", notes: [`${data.length} elements in ${out}`] };
  },
};
