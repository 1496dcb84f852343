/** Profile updates by back ends: checked as a whole, then applied one by one. */

import { isMembers, type Members } from "../../../base/json/mod.ts";
import type { CompiledConfig, SpaceUser } from "../../loyalty/mod.ts";
import type { MetricChange } from "../../loyalty/user/history.ts";
import {
  BodyErrors,
  type BulkItem,
  readBulkItems,
  readOptionalId,
  readUserId,
  refuseUnknownMembers,
} from "../batch/items.ts";
import { applyPerUser, type BulkResult, bulkResult, type ItemServices } from "../batch/results.ts";
import { type PatchRules, patchErrors, patchMembers } from "./patch.ts";
import type { ProfileChange, Profiles } from "./profiles.ts";
import type { UpdateId } from "./record.ts";

const metricChangesMax = 50;
const metricChangeMax = 1_000_000_000;

export interface UpdateRules extends Pick<PatchRules, "fields"> {
  /** The metrics of the space by id; null if the caller is a user, who may not change any. */
  readonly metrics: CompiledConfig["metrics"] | null;
  /** The issuer of accounts that external ids name. @default external ids are refused */
  readonly accountIssuer?: string | undefined;
}

export interface ProfileUpdate extends ProfileChange {
  readonly userId: string;
  /** The id under which it takes effect once; null if the request has none. */
  readonly updateId: string | null;
}

/** For how long the id of an update is remembered, in ms. */
const rememberedMs = 7 * 24 * 60 * 60 * 1_000;
/** For how long an update without an id is, so that its request can find out whether it took effect. */
const inRequestMs = 60_000;

const members: ReadonlySet<string> = new Set([...patchMembers, "metrics", "expectedVersion", "updateId"]);

/**
 * Checks the updates of a body: one, a list, or an object with the list as `updates`.
 *
 * @throws {AppError} `validation_failed` with every error.
 */
export function checkUpdates(body: unknown, rules: UpdateRules): readonly ProfileUpdate[] {
  const errors = new BodyErrors();
  const updates = readBulkItems(body, "updates", errors, rules.accountIssuer).map(item => ({
    userId: readUserId(item, errors),
    updateId: readUpdateId(item, rules, errors),
    ...checkChange(item, rules, errors),
  }));
  errors.throwIfAny();
  return updates;
}

/**
 * Checks the change of one profile.
 *
 * @throws {AppError} `validation_failed` with every error.
 */
export function checkUpdate(content: Members, rules: UpdateRules): Omit<ProfileUpdate, "userId"> {
  const errors = new BodyErrors();
  const item = { item: {}, path: [], content, contentPath: [], userKey: "user_id" } as const;
  const updateId = readUpdateId(item, rules, errors);
  const change = checkChange(item, rules, errors);
  errors.throwIfAny();
  return { ...change, updateId };
}

/** Users may not make the platform remember ids: their updates may be repeated without harm. */
function readUpdateId(item: BulkItem, { metrics }: UpdateRules, errors: BodyErrors): string | null {
  if (metrics !== null) return readOptionalId(item, "updateId", errors);
  if (item.content.updateId !== undefined)
    errors.add("Only back ends may name it", ...item.contentPath, "updateId");
  return null;
}

/** Applies updates, those of one user in their order. */
export async function applyUpdates(
  { profiles, ...services }: ItemServices & { readonly profiles: Profiles },
  userOf: (userId: string) => SpaceUser,
  {
    batchId,
    updates,
    isFromUser = false,
  }: {
    readonly batchId: string;
    readonly updates: readonly ProfileUpdate[];
    /** True where a user changes the own profile: nothing is remembered of that. @default false */
    readonly isFromUser?: boolean;
  },
): Promise<BulkResult> {
  const idOf = ({ updateId }: ProfileUpdate, index: number): string => updateId ?? `${batchId}.${index}`;
  const results = await applyPerUser(
    updates,
    idOf,
    async (update, index) => {
      const once = isFromUser ? undefined : onceOf(update, idOf(update, index));
      const { version, transactionId } = await profiles.change(userOf(update.userId), { ...update, once });
      return { status: "succeeded", version, ...(transactionId === null ? {} : { transactionId }) };
    },
    services,
  );
  return bulkResult(batchId, results, "succeeded");
}

/** Returns the id by which a repetition of an update is recognised; undefined for one that may be repeated without harm. */
export function onceOf(
  { updateId, metrics = [], isExpectedVersion }: Omit<ProfileUpdate, "userId">,
  generatedId: string,
): UpdateId | undefined {
  if (updateId !== null) return { id: updateId, rememberedMs };
  if (metrics.length === 0 && isExpectedVersion === undefined) return undefined;
  return { id: generatedId, rememberedMs: inRequestMs };
}

function checkChange(item: BulkItem, rules: UpdateRules, errors: BodyErrors): ProfileChange {
  const { content, contentPath } = item;
  refuseUnknownMembers(item, members, errors);
  const patch = Object.fromEntries(
    patchMembers.filter(name => content[name] !== undefined).map(name => [name, content[name]]),
  );
  const { fields, metrics } = rules;
  errors.addAll(patchErrors(patch, { fields, isBackEnd: metrics !== null }), contentPath);
  const { expectedVersion } = content;
  const isVersion = Number.isSafeInteger(expectedVersion) && Number(expectedVersion) >= 0;
  if (expectedVersion !== undefined && !isVersion)
    errors.add("Expected the version of a profile", ...contentPath, "expectedVersion");
  return {
    patch,
    metrics: checkMetrics(item, rules, errors),
    isExpectedVersion: isVersion ? version => version === expectedVersion : undefined,
  };
}

function checkMetrics(
  { content, contentPath }: BulkItem,
  { metrics }: UpdateRules,
  errors: BodyErrors,
): readonly MetricChange[] {
  const path = [...contentPath, "metrics"];
  if (content.metrics === undefined) return [];
  if (metrics === null) {
    errors.add("Only back ends may change it", ...path);
    return [];
  }
  const entries = isMembers(content.metrics) ? Object.entries(content.metrics) : [];
  if (entries.length === 0 || entries.length > metricChangesMax) {
    errors.add(`Expected an object of 1 to ${metricChangesMax} metrics`, ...path);
    return [];
  }
  return entries.flatMap(([metricId, change]): MetricChange[] => {
    const metric = metrics.get(metricId);
    if (metric === undefined) errors.add("Is not a metric of the space", ...path, metricId);
    const { op, value, ...others } = isMembers(change) ? change : {};
    for (const name in others) errors.add("Is not a known member", ...path, metricId, name);
    if (op !== "set" && op !== "incr") {
      errors.add("Expected set or incr", ...path, metricId, "op");
      return [];
    }
    const isBounded = op === "set" && metric !== undefined;
    const least = isBounded ? metric.minimumValue : -metricChangeMax;
    const most = isBounded ? metric.maximumValue : metricChangeMax;
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least || value > most) {
      errors.add(`Expected a whole number from ${least} to ${most}`, ...path, metricId, "value");
      return [];
    }
    return [{ metricId, op, value }];
  });
}
