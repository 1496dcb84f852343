/** What elements lack before they can go on air: what the platform would refuse, and what fans would miss. */

import { type Content, contentFaults } from "../../../../authoring/table/content.ts";
import type { ContentType } from "../../../../authoring/table/content_types.ts";
import type { Path } from "../../../../base/json/mod.ts";
import { missingTexts, nameOf, pathOf } from "../editor/contents.ts";
import { type Attributes, readerOf } from "../editor/merge.ts";
import { textsOfTemplate, titleOf } from "../results.ts";

export interface Planned {
  readonly id: string;
  readonly attributes: Attributes;
  /** Id of the wrapper that shows it; null: none does. */
  readonly parent: string | null;
}

export interface Lack {
  readonly text: string;
  /** True if the platform refuses to publish it, or the clock never does; false: somebody should know. */
  readonly isRefused: boolean;
}

export interface PlannedShow {
  /** Types of the project's app; null: it has none, and elements may be anything. */
  readonly types: readonly ContentType[] | null;
  readonly locales: readonly string[];
  /** Boards that the page for fans has, as elements name them; null: nobody knows. */
  readonly boards: readonly string[] | null;
  /** Seconds for which the show runs; 0: until somebody stops it. */
  readonly duration: number;
}

/** Most titles that one line names. */
const titlesMax = 3;

/** True if fans have not seen an element, and may yet. */
function isAhead({ attributes: { state } }: Planned): boolean {
  return state === undefined || state === "non_scheduled" || state === "future";
}

/** Returns what each element that is still to come lacks, by its id. */
export function lacksOf(
  elements: readonly Planned[],
  show: PlannedShow,
): ReadonlyMap<string, readonly Lack[]> {
  const lacks = new Map<string, Lack[]>();
  for (const element of elements) {
    if (isAhead(element))
      lacks.set(element.id, [...contentLacks(element, show), ...timeLacks(element, show)]);
  }
  for (const [id, others] of overlapsOf(elements)) {
    const text = `Its time overlaps that of ${titles(others)}`;
    lacks.get(id)?.push({ text, isRefused: false });
  }
  // A wrapper is as ready as what is inside.
  for (const wrapper of elements) {
    const inside = elements.filter(({ parent }) => parent === wrapper.id);
    lacks.get(wrapper.id)?.push(...lacksInside(wrapper, inside, lacks));
  }
  return lacks;
}

function contentLacks({ attributes }: Planned, { types, locales, boards }: PlannedShow): readonly Lack[] {
  if (types === null) return [];
  const type = types.find(each => each.content_type === attributes.content_type);
  if (type === undefined)
    return [{ text: `The project has no content type ${attributes.content_type}`, isRefused: true }];
  const faults = contentFaults(type, attributes as Content, { isPublished: true });
  const read = readerOf(attributes);
  const missing = locales.flatMap(locale => {
    const count = missingTexts(type, locale, read).length;
    return count === 0 ? [] : [`${count === 1 ? "A text is" : `${count} texts are`} missing in ${locale}`];
  });
  return [
    ...faults.map(fault => ({ text: wordsOf(fault, attributes), isRefused: true })),
    ...[...missing, ...boardLacks(type, read, boards)].map(text => ({ text, isRefused: false })),
    ...textsOfTemplate(type, attributes).map(name => ({
      text: `Still the example text: ${name}`,
      isRefused: false,
    })),
  ];
}

/** Names the boards of an element that fans do not get to see. */
function boardLacks(
  { custom_fields: groups }: ContentType,
  read: (path: Path) => unknown,
  boards: PlannedShow["boards"],
): readonly string[] {
  // The board of a round comes before the one that is named.
  if (boards === null || Number(read(["custom_fields", "round", "all"]) ?? 0) > 0) return [];
  const properties = (groups ?? []).flatMap(group => group.properties ?? []);
  return properties
    .filter(({ type, field }) => (type ?? field) === "leaderboard_ref")
    .flatMap(({ key }) => Object.values(Object(read(["custom_fields", key]))).map(String))
    .filter(id => !boards.includes(id))
    .map(id => `The page for fans has no board ${id}`);
}

/** Returns a fault of contents in words, with the field that it is about. */
export function wordsOf(
  { pointer, detail }: { readonly pointer: string; readonly detail: string },
  attributes: Attributes,
): string {
  const path = pointer.includes("/values/") ? pathOf(pointer, attributes) : null;
  const [, index] = /^\/question\/options\/(\d+)/.exec(pointer) ?? [];
  const place = path !== null ? nameOf(path) : index === undefined ? "" : `option ${Number(index) + 1}`;
  return place === "" ? detail : `${place}: ${detail}`;
}

function isTimed({ attributes }: Planned): boolean {
  return attributes.start_mode === "timecode";
}

function timeLacks(element: Planned, { duration }: PlannedShow): readonly Lack[] {
  const isLate = isTimed(element) && duration > 0 && Number(element.attributes.start_offset) >= duration;
  return isLate ? [{ text: "Its time is after the end of the show", isRefused: true }] : [];
}

/** Elements inside a wrapper are published with it by hand; the clock publishes each at its own time. */
function lacksInside(
  wrapper: Planned,
  inside: readonly Planned[],
  lacks: ReadonlyMap<string, readonly Lack[]>,
): readonly Lack[] {
  const ahead = inside.filter(isAhead);
  const unready = ahead.filter(({ id }) => lacks.get(id)?.some(({ isRefused }) => isRefused));
  const offsetOf = ({ attributes }: Planned): number => Number(attributes.start_offset ?? 0);
  const drafts = ahead.filter(
    child => !isTimed(child) || (isTimed(wrapper) && offsetOf(child) > offsetOf(wrapper)),
  );
  const isShownWithout = isTimed(wrapper) && drafts.length > 0;
  return [
    ...(unready.length > 0 ? [{ text: `Not ready inside: ${titles(unready)}`, isRefused: true }] : []),
    ...(isShownWithout
      ? [{ text: `The clock shows it without what are drafts then: ${titles(drafts)}`, isRefused: true }]
      : drafts.length > 0
        ? [{ text: `Drafts are inside, which are taken with it: ${titles(drafts)}`, isRefused: false }]
        : []),
  ];
}

/** Returns the elements with timecodes that are open while another one is. A wrapper and what is inside belong together. */
function overlapsOf(elements: readonly Planned[]): ReadonlyMap<string, readonly Planned[]> {
  const spans = elements
    .filter(element => isAhead(element) && isTimed(element))
    .map(element => {
      const from = Number(element.attributes.start_offset ?? 0);
      // Nobody knows when one closes that is open until it is stopped: its begin alone counts.
      return { element, from, to: from + Number(element.attributes.duration ?? 0) };
    })
    .sort((a, b) => a.from - b.from);
  const found = new Map<string, Planned[]>();
  const note = (one: Planned, other: Planned): void => {
    const known = found.get(one.id);
    if (known === undefined) found.set(one.id, [other]);
    else known.push(other);
  };
  for (const [index, one] of spans.entries()) {
    for (const other of spans.slice(index + 1)) {
      if (other.from >= one.to && other.from > one.from) break;
      if (isOneGroup(one.element, other.element)) continue;
      note(one.element, other.element);
      note(other.element, one.element);
    }
  }
  return found;
}

function isOneGroup(one: Planned, other: Planned): boolean {
  const isSibling = one.parent !== null && one.parent === other.parent;
  return isSibling || one.parent === other.id || other.parent === one.id;
}

function titles(elements: readonly Planned[]): string {
  const named = elements.slice(0, titlesMax).map(({ attributes }) => titleOf(attributes));
  const more = elements.length - titlesMax;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
