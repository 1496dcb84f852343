/** The attributes of an element that producers edit, and how an edit of them is taken back. */

import type { Path } from "../../../../base/json/mod.ts";
import type { Resource } from "../api.ts";
import type { Rundown } from "../run/rundown.ts";
import type { Step } from "../undo.ts";
import { nameOf } from "./contents.ts";
import { type Attributes, changedPaths, takeBack } from "./merge.ts";

const times: readonly string[] = ["start_mode", "start_offset"];

/** Attributes that the editor changes; after the first publication those alone that are not frozen. */
const drafted = [
  "name",
  "start_mode",
  "start_offset",
  "duration",
  "require_verified_user",
  "max_votes_per_user",
  "max_votes_per_option",
  "min_options_per_vote",
  "max_options_per_vote",
  "custom_fields",
  "question",
] as const;
const always = [
  "reveal_results_mode",
  "reveal_answer_mode",
  "reveal_answer_in",
  "reveal_answer_on_vote",
  "correct_option",
  "annotations",
] as const;

export function isPublished({ attributes }: Resource): boolean {
  return Number(attributes.published_at ?? 0) > 0;
}

export function isTime(name: string): boolean {
  return times.includes(name);
}

export function pick(attributes: Attributes, names: readonly string[]): Attributes {
  return Object.fromEntries([...new Set(names)].map(name => [name, attributes[name]]));
}

export function namesOf(paths: readonly Path[]): string {
  return [...new Set(paths.map(nameOf))].join(", ");
}

export function isFrozen(name: string): boolean {
  return drafted.some(each => each === name);
}

/** Returns the attributes that can change after the publication. */
export function openOf(attributes: Attributes): Attributes {
  return Object.fromEntries(always.map(name => [name, attributes[name]]));
}

export function editable({ attributes }: Resource): Attributes {
  return Object.fromEntries([...drafted, ...always].map(name => [name, attributes[name]]));
}

/** Returns the names of the attributes that differ. */
export function changesOf(base: Attributes, mine: Attributes): readonly string[] {
  return Object.keys(mine).filter(name => JSON.stringify(mine[name]) !== JSON.stringify(base[name]));
}

interface Edit {
  readonly id: string;
  readonly title: string;
  /** The attributes that were changed, before and after. */
  readonly before: Attributes;
  readonly after: Attributes;
}

interface Around {
  readonly rundown: Pick<Rundown, "byHandIfPassed" | "readEvent">;
  /** Reads the element as it is now. */
  readonly read: () => Promise<{ readonly element: Resource; readonly etag: string }>;
}

/** Returns what takes a saved change back, but for what others have changed since. */
export function editStep(edit: Edit, around: Around): Step {
  const { id, title, before, after } = edit;
  const { rundown, read } = around;
  const label = `${namesOf(changedPaths(before, after))} of “${title}”`;
  const turn: Step["turn"] = async () => {
    const [{ element, etag }, { withoutPassedTimes }] = await Promise.all([
      read(),
      import("../plan/copies.ts"),
      rundown.readEvent(),
    ]);
    const now = editable(element);
    const { attributes, overwritten } = takeBack(before, after, pick(now, Object.keys(after)));
    const names = changesOf(now, attributes);
    const frozen = isPublished(element) ? names.filter(isFrozen) : [];
    const left = names.filter(name => !frozen.includes(name));
    const notes = [
      ...(overwritten.length > 0 ? [`Somebody has changed ${namesOf(overwritten)} since`] : []),
      ...(frozen.length > 0 ? [`Fans have seen ${frozen.map(name => nameOf([name])).join(", ")}`] : []),
    ].join(". ");
    const sent = pick({ ...now, ...attributes }, left.some(isTime) ? [...left, ...times] : left);
    const back = (): Step["turn"] =>
      editStep({ id, title, before: pick(now, Object.keys(sent)), after: sent }, around).turn;
    if (left.length === 0) return { operations: [], note: notes, back };
    const data = { type: "elements", id, attributes: sent };
    const { operations, note } = withoutPassedTimes(rundown, [
      { op: "update", data, meta: { if_match: etag } },
    ]);
    return { operations, note: [notes, note].filter(text => text !== "").join(". "), back };
  };
  return { label, turn };
}
