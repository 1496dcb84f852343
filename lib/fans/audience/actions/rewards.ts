/** Rewards that back ends grant to many users: checked as a whole, then granted one by one. */

import * as v from "valibot";
import { parseIsoTime } from "../../../base/calendar/mod.ts";
import { named } from "../../../http/mod.ts";
import { issueDetail, propertiesSchema, wellFormed } from "../../../http/requests/validate.ts";
import type { Space } from "../../directory/mod.ts";
import {
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
} from "../../loyalty/http/requests.ts";
import type { CompiledConfig, Loyalty } from "../../loyalty/mod.ts";
import { type GrantedReward, pointDateErrors } from "../../loyalty/user/history.ts";
import type { NamedProjects } from "../batch/items.ts";
import {
  BodyErrors,
  type BulkItem,
  itemIdCharactersMax,
  readBulkItems,
  readUserId,
  refuseUnknownMembers,
} from "../batch/items.ts";
import { applyPerUser, type ItemResult, type ItemServices } from "../batch/results.ts";

const amountMax = 1_000_000_000;
const id = v.pipe(v.string(), v.minLength(1), v.maxLength(itemIdCharactersMax), wellFormed);
const name = v.string();
const shortText = v.pipe(v.string(), v.maxLength(256), wellFormed);
const time = v.pipe(
  v.string(),
  v.check(text => parseIsoTime(text) !== null, "Expected a time in ISO 8601 with its offset"),
);

const common = {
  rewardId: v.exactOptional(id),
  projectId: v.exactOptional(
    v.pipe(v.string(), v.description("The user's project (a UUID), for users who did not sign up")),
  ),
  reason: v.optional(shortText, ""),
  metadata: v.optional(
    propertiesSchema({
      name: "RewardMetadata",
      entriesMax: dataPropertiesMax,
      nameCharactersMax: dataNameCharactersMax,
      textCharactersMax: dataTextCharactersMax,
    }),
    {},
  ),
  notify: v.exactOptional(
    v.strictObject({
      title: v.pipe(shortText, v.minLength(1)),
      message: v.optional(v.pipe(v.string(), v.maxLength(1_024), wellFormed), ""),
      display: v.optional(v.picklist(["toast", "modal", "banner", "inbox"]), "toast"),
    }),
  ),
};
const amountDetail = `Expected an integer from 1 to ${amountMax}`;

export const BulkRewardSchema = named(
  "BulkReward",
  v.pipe(
    v.variant(
      "type",
      [
        v.object({
          type: v.literal("metric"),
          metricId: v.exactOptional(name),
          currency: v.exactOptional(v.pipe(name, v.description("Another name of metricId"))),
          amount: v.pipe(
            v.number(amountDetail),
            v.safeInteger(amountDetail),
            v.minValue(1, amountDetail),
            v.maxValue(amountMax, amountDetail),
          ),
          availableAt: v.exactOptional(v.pipe(time, v.description("From when the points count"))),
          expiresAt: v.exactOptional(v.pipe(time, v.description("Until when the points count"))),
          ...common,
        }),
        v.object({
          type: v.literal("inventory"),
          inventorySetId: name,
          inventoryItemId: name,
          ...common,
        }),
        v.object({ type: v.literal("coupon"), couponId: name, ...common }),
      ],
      "Expected metric, inventory or coupon",
    ),
    v.description("Points, an item of an inventory or a coupon"),
  ),
);

const membersByType: ReadonlyMap<unknown, ReadonlySet<string>> = new Map(
  BulkRewardSchema.options.map(({ entries }) => [entries.type.literal, new Set(Object.keys(entries))]),
);

type RewardInput = v.InferOutput<typeof BulkRewardSchema>;

interface RewardOrder {
  readonly userId: string;
  /** The id under which it is granted once; null if the request has none. */
  readonly rewardId: string | null;
  /** The user's project as the back end names it. */
  readonly projectId: string | undefined;
  readonly input: RewardInput;
}

interface RewardCheck {
  readonly config: CompiledConfig;
  /** Unix ms. */
  readonly now: number;
  /** The issuer of accounts that external ids name. @default external ids are refused */
  readonly accountIssuer?: string | undefined;
  /** Receives the projects that the rewards name, which the caller checks afterwards. */
  readonly projects: NamedProjects;
}

/**
 * Checks the rewards of a body: one, a list, or an object with the list as `rewards`.
 *
 * @throws {AppError} `validation_failed` with every error, among them rewards that the space does not have.
 */
export function checkRewards(
  body: unknown,
  { config, now, projects, accountIssuer }: RewardCheck,
): readonly RewardOrder[] {
  const errors = new BodyErrors();
  const orders = readBulkItems(body, "rewards", errors, accountIssuer).flatMap(
    (item): readonly RewardOrder[] => {
      const { content, contentPath } = item;
      const userId = readUserId(item, errors);
      const members = membersByType.get(content.type);
      if (members !== undefined) refuseUnknownMembers(item, members, errors);
      checkConfigured(item, config, now, errors);
      const parsed = v.safeParse(BulkRewardSchema, content);
      for (const issue of parsed.issues ?? []) {
        const path = (issue.path ?? []).map(({ key }) => String(key));
        errors.add(issueDetail(issue), ...contentPath, ...path);
      }
      const projectId = projects.read(item);
      if (!parsed.success) return [];
      return [{ userId, rewardId: parsed.output.rewardId ?? null, projectId, input: parsed.output }];
    },
  );
  errors.throwIfAny();
  return orders;
}

const dateNames = ["availableAt", "expiresAt"] as const;

/** Checks what the configuration of the space says of a reward, whatever else is wrong with it. */
function checkConfigured(item: BulkItem, config: CompiledConfig, now: number, errors: BodyErrors): void {
  const { content, contentPath } = item;
  const { type, inventorySetId } = content;
  const requireKnown = (member: string, isKnown: (id: string) => boolean): void => {
    const value = content[member];
    if (typeof value !== "string") return;
    if (!isKnown(value)) errors.add("Is not in the configuration of the space", ...contentPath, member);
  };
  if (type === "metric") {
    const member = content.metricId === undefined ? "currency" : "metricId";
    if (content[member] === undefined) errors.add("Is required", ...contentPath, member);
    requireKnown(member, metricId => config.metrics.has(metricId));
    checkDates(item, config.metrics.get(String(content[member]))?.lots !== undefined, now, errors);
  } else if (type === "inventory") {
    const set = config.config.inventory.find(({ id: setId }) => setId === inventorySetId);
    requireKnown("inventorySetId", () => set !== undefined);
    if (set !== undefined)
      requireKnown("inventoryItemId", itemId => set.items.some(({ id }) => id === itemId));
  } else if (type === "coupon") {
    requireKnown("couponId", couponId => config.coupons.has(couponId));
  }
}

function checkDates(
  { content, contentPath }: BulkItem,
  hasLots: boolean,
  now: number,
  errors: BodyErrors,
): void {
  for (const { member, detail } of hasLots ? pointDateErrors(datesOf(content), now) : []) {
    errors.add(detail, ...contentPath, member);
  }
  for (const date of dateNames) {
    if (hasLots || content[date] === undefined) continue;
    errors.add("Expected no dates: only points of a metric with lots have them", ...contentPath, date);
  }
}

/** Returns the valid dates of points in Unix ms. */
function datesOf(content: BulkItem["content"]): {
  readonly availableAt?: number;
  readonly expiresAt?: number;
} {
  return Object.fromEntries(
    dateNames.flatMap(date => {
      const at = parseIsoTime(content[date]);
      return at === null ? [] : [[date, at]];
    }),
  );
}

/** Grants checked rewards and returns the result of each, in the given order. `requestId` begins the ids of those without one. */
export async function grantRewards(
  { loyalty, ...services }: ItemServices & { readonly loyalty: Pick<Loyalty, "grant"> },
  space: Pick<Space, "id" | "organisationId">,
  requestId: string,
  orders: readonly RewardOrder[],
): Promise<readonly ItemResult[]> {
  const identified = orders.map((order, index) => ({
    ...order,
    rewardId: order.rewardId ?? `rew_${requestId}.${index}`,
  }));
  return await applyPerUser(
    identified,
    ({ rewardId }) => rewardId,
    async ({ userId, rewardId, projectId, input }) => {
      const user = { organisationId: space.organisationId, spaceId: space.id, userId, projectId: null };
      const reward = grantedReward(input);
      const { reason, metadata, notify } = input;
      const transaction = await loyalty.grant(user, {
        rewards: [reward],
        reason,
        id: rewardId,
        projectId,
        metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
        notification: notify,
      });
      if (transaction === null) return { status: "duplicate" };
      const { id: transactionId, payload } = transaction;
      const change = reward.type === "metric" ? payload.metricChanges[reward.metricId] : undefined;
      const balance = change === undefined ? {} : { balanceAfter: change.newValue };
      return { status: "succeeded", transactionId, ...balance };
    },
    services,
  );
}

function grantedReward(input: RewardInput): GrantedReward {
  switch (input.type) {
    case "metric": {
      const { metricId = input.currency ?? "", amount } = input;
      return { type: "metric", metricId, metricQuantity: amount, ...datesOf(input) };
    }
    case "inventory": {
      const { type, inventorySetId, inventoryItemId } = input;
      return { type, inventorySetId, inventoryItemId };
    }
    case "coupon":
      return { type: "coupon", couponId: input.couponId };
  }
}
