/**
 * Checks the actions that a request reports.
 *
 * @module
 */

import { momentOf } from "../_times.ts";
import { Faults, isObject, itemsOf, optionalId, type PlacedItem, userOf } from "../batch/items.ts";
import { propertiesOf } from "../batch/properties.ts";
import type { QueuedAction } from "../worker/queued_action.ts";

/** Longest name of an action, in characters. */
export const actionCharactersMax = 64;
/** How far an action may lie back, in ms. */
export const actionAgeMsMax: number = 7 * 24 * 60 * 60 * 1_000;
/** How far a reporting clock may be ahead, in ms; such an action counts as of now. */
export const actionAheadMsMax = 60_000;
/** Largest metadata of an action as JSON, in characters. */
export const metadataCharactersMax = 4_096;

/** An action as its request reports it. */
export type ReportedAction = Pick<QueuedAction, "userId" | "action" | "data" | "at" | "metadata"> & {
  /** Null where the request gives none. */
  readonly actionId: string | null;
};

/** What actions are checked for. */
export interface ActionCheck {
  /** Unix ms. */
  readonly now: number;
  /**
   * The user who reports; null where a back end does, which names the user of each action, and may say when it happened: a user
   * who did could make up for days that were missed, and pass by limits.
   */
  readonly userId: string | null;
}

/** How many actions a body reports, as far as that shows before it is checked. */
export function actionsIn(body: unknown): number {
  const list = isObject(body) ? body.actions : body;
  return Array.isArray(list) ? list.length : 1;
}

/**
 * The actions of a body: one, a list, or an object with the list as `actions`.
 *
 * @throws {AppError} `validation_failed` with every fault.
 */
export function checkActions(body: unknown, check: ActionCheck): readonly ReportedAction[] {
  const faults = new Faults();
  const placed = itemsOf(body, "actions", faults);
  const actions = placed.map(item => checkedAction(item, check, faults));
  faults.refuseAny();
  return actions;
}

/**
 * The one action of a body.
 *
 * @throws {AppError} `validation_failed` with every fault.
 */
export function checkAction(body: unknown, check: ActionCheck): ReportedAction {
  const faults = new Faults();
  const item = isObject(body) ? body : {};
  if (!isObject(body)) faults.add("Expected an object");
  faults.refuseAny();
  const placed = { item, base: [], content: item, contentBase: [], userKey: "userId" } as const;
  const action = checkedAction(placed, check, faults);
  faults.refuseAny();
  return action;
}

function checkedAction(placed: PlacedItem, { now, userId }: ActionCheck, faults: Faults): ReportedAction {
  const { content, contentBase, item, userKey } = placed;
  const { action, metadata } = content;
  if (
    typeof action !== "string" ||
    action === "" ||
    action.length > actionCharactersMax ||
    !action.isWellFormed()
  ) {
    const detail = action === undefined ? "Is required" : `Expected 1 to ${actionCharactersMax} characters`;
    faults.add(detail, ...contentBase, "action");
  }
  const isOwn = userId !== null && item[userKey] === undefined;
  return {
    userId: isOwn ? userId : userOf(placed, faults),
    action: typeof action === "string" ? action : "",
    data: propertiesOf(placed, "data", faults),
    at: userId === null ? timeOf(placed, now, faults) : ownTime(placed, now, faults),
    actionId: optionalId(placed, "actionId", faults),
    ...(metadata === undefined ? {} : { metadata: metadataOf(placed, faults) }),
  };
}

function timeOf({ content, contentBase }: PlacedItem, now: number, faults: Faults): number {
  const { timestamp } = content;
  if (timestamp === undefined) return now;
  const at = momentOf(timestamp);
  if (at !== null && at >= now - actionAgeMsMax && at <= now + actionAheadMsMax) return Math.min(at, now);
  const detail =
    at === null ? "Expected a time in ISO 8601 with its offset" : "Expected a time of the last 7 days";
  faults.add(detail, ...contentBase, "timestamp");
  return now;
}

function ownTime({ content, contentBase }: PlacedItem, now: number, faults: Faults): number {
  if (content.timestamp !== undefined) faults.add("Is said by back ends alone", ...contentBase, "timestamp");
  return now;
}

function metadataOf({ content, contentBase }: PlacedItem, faults: Faults): Readonly<Record<string, unknown>> {
  const { metadata } = content;
  if (isObject(metadata) && sizeOf(metadata) <= metadataCharactersMax) return metadata;
  const detail = `Expected an object of at most ${metadataCharactersMax} characters of JSON`;
  faults.add(detail, ...contentBase, "metadata");
  return {};
}

/** What is nested too deeply to be written has no end. */
function sizeOf(metadata: object): number {
  try {
    return JSON.stringify(metadata).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
