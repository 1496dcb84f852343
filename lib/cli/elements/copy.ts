/** `elements clone-from` and `elements clone-group`: copies of elements in another event. */

import { replaceIds } from "../../authoring/table/copies.ts";
import { eventFlag } from "../events/fields.ts";
import { id } from "../frame/checks.ts";
import type { CliContext, CliResult, CommandSpec } from "../frame/command.ts";
import { exits, invalid } from "../frame/errors.ts";
import { rows } from "../frame/output.ts";
import { pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { isTimed, publishFlag, requireActive } from "./apply.ts";
import { type Attributes, creationsOf, listElements, type NewElement, sendChanges } from "./batches.ts";
import { mapTexts, tokenOf } from "./references.ts";

const output = rows({ source: ["SOURCE", "text"], type: ["TYPE", "text"], id: ["NEW_ID", "text"] });
const copyExits = {
  [exits.conflict]: "The event is not running, so that nothing can be published",
  [exits.invalid]: "A content type is unknown, or the project of the event does not use it",
};
const changes = "Creates elements: all or none of each 500";

/** `elements clone-from`. */
export const cloneFrom: CommandSpec = {
  words: ["elements", "clone-from"],
  summary: "Copy the elements of an event into another one",
  flags: {
    "src-event": { ...eventFlag, description: "The event that has them" },
    "dst-event": { ...eventFlag, description: "The event that gets them" },
    include: { value: "types", description: "Only these content types, separated by commas" },
    exclude: { value: "types", description: "Not these content types, separated by commas" },
    publish: publishFlag,
  },
  changes,
  examples: [
    "elements clone-from --src-event $EVENT --dst-event $OTHER_EVENT",
    "elements clone-from --src-event $EVENT --dst-event $OTHER_EVENT --include poll,quiz",
  ],
  requests: 3,
  output,
  exits: copyExits,
  async run({ flags }, context) {
    const { "src-event": source = "", "dst-event": target = "" } = flags;
    const api = await context.api();
    const all = await listElements(api, source);
    const types = new Set(all.map(typeOf));
    const named = (flag: string): readonly string[] | undefined => flags[flag]?.split(",");
    const [include, exclude = []] = [named("include"), named("exclude")];
    const unknown = [...(include ?? []), ...exclude].filter(type => !types.has(type));
    if (unknown.length > 0) {
      throw invalid(`The event has no elements of ${unknown.join(", ")}`, {
        hint: `It has ${[...types].join(", ") || "none"}`,
      });
    }
    const chosen = all.filter(
      element => include?.includes(typeOf(element)) !== false && !exclude.includes(typeOf(element)),
    );
    return await copyInto(context, target, chosen, { publishes: "publish" in flags, all });
  },
};

/** `elements clone-group`. */
export const cloneGroup: CommandSpec = {
  words: ["elements", "clone-group"],
  summary: "Copy a wrapper with its children into an event",
  flags: {
    wrapper: { value: "id", description: "The wrapper", required: true, check: id },
    "to-event": { ...eventFlag, description: "The event that gets them; it may be that of the wrapper" },
    publish: publishFlag,
  },
  changes,
  examples: ["elements clone-group --wrapper $WRAPPER --to-event $OTHER_EVENT"],
  requests: 4,
  output,
  exits: copyExits,
  async run({ flags }, context) {
    const { wrapper: wrapperId = "", "to-event": target = "" } = flags;
    const api = await context.api();
    const { data: wrapper, included } = await api.get(pathOf({ kind: "element", id: wrapperId }), {
      include: "event",
    });
    const source = relation(wrapper, "event");
    const all = await listElements(api, source ?? "");
    const chosen = all.filter(
      element => element.id === wrapperId || relation(element, "parent") === wrapperId,
    );
    if (chosen.length === 1) {
      const event = included("events", source);
      const projectId = event === undefined ? "" : (relation(event, "project") ?? "");
      const type = encodeURIComponent(typeOf(wrapper));
      const { data } = await api.get(pathOf({ kind: "project", id: projectId }, "content_types", type));
      if (data.attributes.wrapper !== true)
        throw invalid(`${wrapperId} is a ${typeOf(wrapper)}, which is no wrapper`);
    }
    return await copyInto(context, target, chosen, { publishes: "publish" in flags, all });
  },
};

interface CopyOptions {
  readonly publishes: boolean;
  /** The elements of the source event. */
  readonly all: readonly ResourceObject[];
}

async function copyInto(
  context: CliContext,
  eventId: string,
  chosen: readonly ResourceObject[],
  { publishes, all }: CopyOptions,
): Promise<CliResult> {
  const api = await context.api();
  const within = { kind: "event", id: eventId } as const;
  const { data: event, included } = await api.get(pathOf(within), { include: "project" });
  if (publishes) requireActive(event);
  const project = included("projects", relation(event, "project"));
  const enabled = (project?.attributes.enabled_types ?? []) as readonly string[];
  const hasApp = project !== undefined && relation(project, "app") !== null;
  const missing = hasApp ? [...new Set(chosen.map(typeOf))].filter(type => !enabled.includes(type)) : [];
  if (missing.length > 0) {
    throw invalid(`The project of the event does not use ${missing.join(", ")}`, {
      hint: `It uses ${enabled.join(", ")}`,
    });
  }
  const { copiedAttributes } = await import("./items.ts");
  const ids = new Set(chosen.map(one => one.id));
  const source = chosen[0] === undefined ? null : relation(chosen[0], "event");
  const linked = (text: string): string =>
    replaceIds(text, one => (ids.has(one) ? tokenOf(one) : one === source ? eventId : undefined));
  const scheduled = new Set(chosen.map(one => (isTimed(one) ? relation(one, "parent") : null)));
  const copies = chosen.map((one): NewElement => {
    const parent = relation(one, "parent");
    return {
      id: tokenOf(one.id),
      attributes: mapTexts(copiedAttributes(one), linked) as Attributes,
      parent: parent !== null && ids.has(parent) ? tokenOf(parent) : null,
      isPublished: publishes && !isTimed(one) && !scheduled.has(one.id),
    };
  });
  const creations = creationsOf(eventId, copies);
  const made = await sendChanges(context, [...creations.changes, ...creations.wrappers], { within });
  const data = chosen.map(one => ({ source: one.id, type: typeOf(one), id: made.get(one.id) }));
  return { data, notes: notesOf(all, ids) };
}

/** Says what became of wrappers and children of which a part was left out. */
function notesOf(all: readonly ResourceObject[], ids: ReadonlySet<string>): readonly string[] {
  return all.flatMap(child => {
    const parent = relation(child, "parent");
    if (parent === null || ids.has(child.id) === ids.has(parent)) return [];
    return [
      ids.has(child.id)
        ? `${child.id} is in no wrapper, as ${parent} was left out`
        : `The copy of ${parent} lacks ${child.id}, which was left out`,
    ];
  });
}

function typeOf({ attributes }: ResourceObject): string {
  return String(attributes.content_type);
}
