/**
 * Updates of many profiles: checked as a whole, then applied one by one.
 *
 * @module
 */

import { mapConcurrent } from "../../background/mod.ts";
import { inGroups } from "../batch/groups.ts";
import { Faults, isObject, itemsOf, type JsonObject, type PlacedItem, userOf } from "../batch/items.ts";
import { type BulkAnswer, bulkAnswer, type ItemResult, itemError } from "../batch/results.ts";
import type { AudienceMember } from "../member.ts";
import type { MetricChange } from "../sight.ts";
import type { CustomFields } from "./custom_fields.ts";
import { patchFaults, patchMembers } from "./patch.ts";
import { type ProfileChange, type Profiles, requireVersion } from "./profiles.ts";

/** Most metrics that one update changes. */
export const metricChangesMax = 50;
/** Largest amount that one update adds to a metric or takes from it. */
export const metricChangeMax = 1_000_000_000;
/** Number of users of one request whose updates are applied at a time. */
export const updateLanes = 32;

/** What an update may say. */
export interface UpdateRules {
  readonly fields: CustomFields;
  /** The metrics of the space by id; null: the caller must not change any. */
  readonly metrics: ReadonlyMap<string, MetricBounds> | null;
}

/** Between which values a metric is. */
export interface MetricBounds {
  readonly minimumValue: number;
  readonly maximumValue: number;
}

/** A checked update. */
export interface ProfileUpdate extends ProfileChange {
  readonly userId: string;
}

/** The result of one update. */
export interface UpdateResult extends ItemResult {
  /** Of the profile after the update. */
  readonly version?: number;
  /** Where metrics changed. */
  readonly transactionId?: string;
}

const members: ReadonlySet<string> = new Set([...patchMembers, "metrics", "expectedVersion"]);

/**
 * The updates of a body: one, a list, or an object with the list as `updates`.
 *
 * @throws {AppError} `validation_failed` with every fault.
 */
export function checkUpdates(body: unknown, rules: UpdateRules): readonly ProfileUpdate[] {
  const faults = new Faults();
  const updates = itemsOf(body, "updates", faults).map(placed => {
    const userId = userOf(placed, faults);
    return { userId, ...checkedChange(placed, rules, faults) };
  });
  faults.refuseAny();
  return updates;
}

/**
 * The change of one profile.
 *
 * @throws {AppError} `validation_failed` with every fault.
 */
export function checkUpdate(content: JsonObject, rules: UpdateRules): ProfileChange {
  const faults = new Faults();
  const placed = { item: {}, base: [], content, contentBase: [], userKey: "user_id" } as const;
  const change = checkedChange(placed, rules, faults);
  faults.refuseAny();
  return change;
}

/** Applies updates, those of one user in their order and users side by side, and answers what became of each. */
export async function applyUpdates(
  profiles: Profiles,
  memberOf: (userId: string) => AudienceMember,
  { batchId, updates }: { readonly batchId: string; readonly updates: readonly ProfileUpdate[] },
): Promise<BulkAnswer<UpdateResult>> {
  const placed = updates.map((update, index) => ({ update, index }));
  const results: UpdateResult[] = [];
  await mapConcurrent(
    inGroups(placed, ({ update }) => update.userId),
    updateLanes,
    async group => {
      for (const { update, index } of group) {
        const { userId } = update;
        const result = { index, id: `${batchId}.${index}`, userId };
        results[index] = { ...result, ...(await applied(profiles, memberOf(userId), update)) };
      }
    },
  );
  return bulkAnswer(batchId, results, "succeeded");
}

async function applied(
  profiles: Profiles,
  member: AudienceMember,
  change: ProfileChange,
): Promise<Pick<UpdateResult, "status" | "error" | "version" | "transactionId">> {
  try {
    const { version, transactionId } = await profiles.change(member, change);
    return { status: "succeeded", version, ...(transactionId === null ? {} : { transactionId }) };
  } catch (error) {
    return { status: "failed", error: itemError(error) };
  }
}

function checkedChange(placed: PlacedItem, rules: UpdateRules, faults: Faults): ProfileChange {
  const { content, contentBase, userKey } = placed;
  for (const name of Object.keys(content)) {
    if (!members.has(name) && !(name === "userId" && userKey === "userId"))
      faults.add("Is not a known member", ...contentBase, name);
  }
  const patch = Object.fromEntries(
    patchMembers.flatMap(name => (content[name] === undefined ? [] : [[name, content[name]]])),
  );
  for (const { pointer, detail } of patchFaults(patch, { ...rules, isBackEnd: rules.metrics !== null })) {
    faults.addAt(detail, contentBase, pointer);
  }
  const { expectedVersion } = content;
  const isVersion = Number.isSafeInteger(expectedVersion) && Number(expectedVersion) >= 0;
  if (expectedVersion !== undefined && !isVersion)
    faults.add("Expected the version of a profile", ...contentBase, "expectedVersion");
  return {
    patch,
    metrics: checkedMetrics(placed, rules, faults),
    admit: isVersion ? requireVersion(Number(expectedVersion)) : undefined,
  };
}

function checkedMetrics(
  { content, contentBase }: PlacedItem,
  { metrics }: UpdateRules,
  faults: Faults,
): readonly MetricChange[] {
  const base = [...contentBase, "metrics"];
  if (content.metrics === undefined) return [];
  if (metrics === null) {
    faults.add("Is changed by back ends alone", ...base);
    return [];
  }
  const entries = isObject(content.metrics) ? Object.entries(content.metrics) : [];
  if (entries.length === 0 || entries.length > metricChangesMax) {
    faults.add(`Expected an object of 1 to ${metricChangesMax} metrics`, ...base);
    return [];
  }
  return entries.flatMap(([metricId, change]): MetricChange[] => {
    const bounds = metrics.get(metricId);
    if (bounds === undefined) faults.add("Is not a metric of the space", ...base, metricId);
    const { op, value } = isObject(change) ? change : {};
    if (op !== "set" && op !== "incr") {
      faults.add("Expected set or incr", ...base, metricId, "op");
      return [];
    }
    const [least, most] =
      op === "incr" || bounds === undefined
        ? [-metricChangeMax, metricChangeMax]
        : [bounds.minimumValue, bounds.maximumValue];
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least || value > most) {
      faults.add(`Expected a whole number from ${least} to ${most}`, ...base, metricId, "value");
      return [];
    }
    return [{ metricId, op, value }];
  });
}
