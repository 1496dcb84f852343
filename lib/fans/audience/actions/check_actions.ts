/** Checks reported actions, by hand for speed (see `batch/items.ts`). */

import { parseIsoTime } from "../../../base/calendar/mod.ts";
import { isMembers } from "../../../base/json/mod.ts";
import {
  arePropertiesSmall,
  propertiesBytesMax,
  propertyNumberExpectation,
} from "../../../http/requests/validate.ts";
import type { ActionData } from "../../loyalty/config/rules.ts";
import {
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
} from "../../loyalty/http/requests.ts";
import type { NamedProjects } from "../batch/items.ts";
import {
  BodyErrors,
  type BulkItem,
  readBulkItems,
  readOptionalId,
  readUserId,
  refuseUnknownMembers,
  withUserId,
} from "../batch/items.ts";
import { inheritedNames } from "../profile/patch.ts";
import type { QueuedAction } from "../worker/queued_action.ts";

const nameCharactersMax = 64;
const ageMsMax = 7 * 24 * 60 * 60 * 1_000;
/** Largest lead of a reporting clock, in ms; such an action counts as of now. */
const leadMsMax = 60_000;
/** Largest metadata of an action, in characters of JSON. */
const metadataCharactersMax = 4_096;

export type ReportedAction = Pick<
  QueuedAction,
  "userId" | "action" | "data" | "at" | "metadata" | "projectId"
> & {
  readonly actionId: string | null;
};

interface ActionCheck {
  /** Unix ms. */
  readonly now: number;
  /**
   * The user who reports; null for a back end, which names users and times. A user who named the time could make up for missed
   * days and evade limits.
   */
  readonly userId: string | null;
  /** The issuer of accounts that external ids name. @default external ids are refused */
  readonly accountIssuer?: string | undefined;
  /** Receives the projects that the actions name, which the caller checks afterwards. */
  readonly projects: NamedProjects;
}

export function countActions(body: unknown): number {
  const list = isMembers(body) ? body.actions : body;
  return Array.isArray(list) ? list.length : 1;
}

/**
 * Checks the actions of a body: one, a list, or an object with the list as `actions`.
 *
 * @throws {AppError} `validation_failed` with every error.
 */
export function checkActions(body: unknown, check: ActionCheck): readonly ReportedAction[] {
  const errors = new BodyErrors();
  const actions = readBulkItems(body, "actions", errors, check.accountIssuer).map(item =>
    checkItem(item, check, errors),
  );
  errors.throwIfAny();
  return actions;
}

/**
 * Checks a body that is one action of a back end.
 *
 * @throws {AppError} `validation_failed` with every error.
 */
export function checkAction(body: unknown, check: ActionCheck): ReportedAction {
  const errors = new BodyErrors();
  if (!isMembers(body)) errors.add("Expected an object");
  errors.throwIfAny();
  const item = withUserId(body as BulkItem["item"], [], check.accountIssuer, errors);
  const placed = { item, path: [], content: item, contentPath: [], userKey: "userId" } as const;
  const action = checkItem(placed, check, errors);
  errors.throwIfAny();
  return action;
}

const actionMembers: ReadonlySet<string> = new Set([
  "action",
  "actionId",
  "projectId",
  "timestamp",
  "data",
  "metadata",
]);

function checkItem(
  item: BulkItem,
  { now, userId, projects }: ActionCheck,
  errors: BodyErrors,
): ReportedAction {
  refuseUnknownMembers(item, actionMembers, errors);
  const { content, contentPath, userKey } = item;
  const { action, metadata } = content;
  if (!isText(action, nameCharactersMax) || action === "") {
    const detail = action === undefined ? "Is required" : `Expected 1 to ${nameCharactersMax} characters`;
    errors.add(detail, ...contentPath, "action");
  }
  if (userId !== null && content.projectId !== undefined) {
    errors.add("Only back ends may set it", ...contentPath, "projectId");
  }
  const isOwn = userId !== null && item.item[userKey] === undefined;
  const checked = {
    userId: isOwn ? userId : readUserId(item, errors),
    action: typeof action === "string" ? action : "",
    data: readData(item, errors),
    at: readTime(item, { now, userId }, errors),
    actionId: readOptionalId(item, "actionId", errors),
    projectId: userId === null ? projects.read(item) : undefined,
  };
  return metadata === undefined ? checked : { ...checked, metadata: readMetadata(item, errors) };
}

function readTime(
  { content, contentPath }: BulkItem,
  { now, userId }: Pick<ActionCheck, "now" | "userId">,
  errors: BodyErrors,
): number {
  const { timestamp } = content;
  if (timestamp === undefined) return now;
  const at = parseIsoTime(timestamp);
  const isRecent = at !== null && at >= now - ageMsMax && at <= now + leadMsMax;
  if (isRecent && userId === null) return Math.min(at, now);
  let detail = "Expected a time of the last 7 days";
  if (at === null) detail = "Expected a time in ISO 8601 with its offset";
  if (userId !== null) detail = "Only back ends may set it";
  errors.add(detail, ...contentPath, "timestamp");
  return now;
}

const noData: ActionData = {};

function readData({ content, contentPath }: BulkItem, errors: BodyErrors): ActionData {
  const { data } = content;
  if (data === undefined) return noData;
  if (!isMembers(data)) {
    errors.add("Expected an object of named properties", ...contentPath, "data");
    return noData;
  }
  let count = 0;
  for (const name in data) {
    count += 1;
    const detail = propertyError(name, data[name]);
    if (detail !== null) errors.add(detail, ...contentPath, "data", name);
  }
  if (count > dataPropertiesMax) {
    errors.add(`Expected at most ${dataPropertiesMax} properties`, ...contentPath, "data");
  }
  if (!arePropertiesSmall(data)) {
    errors.add(`Expected at most ${propertiesBytesMax} bytes of JSON`, ...contentPath, "data");
  }
  return data as ActionData;
}

function propertyError(name: string, value: unknown): string | null {
  if (!isText(name, dataNameCharactersMax) || inheritedNames.has(name)) {
    return `Expected a name of at most ${dataNameCharactersMax} characters that objects do not inherit`;
  }
  if (typeof value === "string") {
    const isAllowed = isText(value, dataTextCharactersMax);
    return isAllowed ? null : `Expected at most ${dataTextCharactersMax} characters`;
  }
  if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return propertyNumberExpectation;
  }
  return typeof value === "boolean" || typeof value === "number"
    ? null
    : "Expected a text, a finite number or a boolean";
}

function readMetadata(
  { content, contentPath }: BulkItem,
  errors: BodyErrors,
): QueuedAction["metadata"] & object {
  const { metadata } = content;
  if (isMembers(metadata) && JSON.stringify(metadata).length <= metadataCharactersMax) return metadata;
  const detail = `Expected an object of at most ${metadataCharactersMax} characters of JSON`;
  errors.add(detail, ...contentPath, "metadata");
  return {};
}

function isText(value: unknown, charactersMax: number): value is string {
  return typeof value === "string" && value.length <= charactersMax && value.isWellFormed();
}
