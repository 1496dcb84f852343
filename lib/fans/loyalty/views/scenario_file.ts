/**
 * The file of scenarios: what users do, and what they are expected to have then.
 *
 * @module
 */

import * as v from "valibot";
import { parseIsoTime } from "../../../base/calendar/mod.ts";
import { choiceOf, hasMember } from "../config/fields.ts";
import { RewardSchema } from "../config/rewards.ts";

const scenariosMax = 1_000;
const stepsMax = 10_000;

const time = v.pipe(
  v.string(),
  v.transform((text): number | null => parseIsoTime(text)),
  v.number("Expected a time such as 2026-12-05T12:00:00Z"),
);
const common = { at: time, user: v.pipe(v.string(), v.minLength(1), v.maxLength(128)) };
const scalars = v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]));
/** Names the step for one that takes it back. */
const id = v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(64)));
/** The code with which the step is expected to be refused. @default it takes effect */
const refused = v.exactOptional(v.string());
const actionStep = v.strictObject({
  ...common,
  action: v.string(),
  id,
  data: v.optional(scalars, {}),
  /** For an action that is reported late. */
  happenedAt: v.exactOptional(time),
  /** The element that the action votes for; `isRight` where the user knows the answer. */
  element: v.exactOptional(
    v.strictObject({
      type: v.optional(v.string(), "quiz"),
      points: v.optional(v.number(), 0),
      seconds: v.optional(v.number(), 0),
      isRight: v.exactOptional(v.boolean()),
    }),
  ),
});
const profileStep = v.strictObject({
  ...common,
  profile: v.record(v.string(), v.union([v.string(), v.number(), v.boolean(), v.array(v.string())])),
});
const grantStep = v.strictObject({ ...common, grant: v.pipe(v.array(RewardSchema), v.minLength(1)), id });
const redeemStep = v.strictObject({
  ...common,
  /** Id of the product. */
  redeem: v.string(),
  quantity: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1)), 1),
  currency: v.exactOptional(v.string()),
  id,
  refused,
});
const refundStep = v.strictObject({ ...common, refund: v.string(), refused });
const reverseStep = v.strictObject({ ...common, reverse: v.string(), refused });
const expectation = v.strictObject({
  metrics: v.optional(v.record(v.string(), v.number()), {}),
  /** Scores by the ids of boards, those of an event as `<eventId>/<boardId>`; null: not on the board. */
  boards: v.optional(v.record(v.string(), v.nullable(v.number())), {}),
  inventory: v.optional(v.record(v.string(), v.array(v.string())), {}),
  /** The highest rung of each ladder; empty before the first. */
  milestones: v.optional(v.record(v.string(), v.string()), {}),
  challenges: v.optional(
    v.record(v.string(), v.picklist(["none", "in_progress", "completed", "failed"])),
    {},
  ),
  /** Numbers of coupons that have not expired. */
  coupons: v.optional(v.record(v.string(), v.number()), {}),
  /** Units that are left of limited products. */
  stock: v.optional(v.record(v.string(), v.number()), {}),
  /** The titles of all announcements so far. */
  notifications: v.exactOptional(v.array(v.string())),
});
const expectStep = v.strictObject({ ...common, expect: expectation });
const steps = {
  expect: expectStep,
  profile: profileStep,
  grant: grantStep,
  redeem: redeemStep,
  refund: refundStep,
  reverse: reverseStep,
};
const allSteps = [
  actionStep,
  profileStep,
  expectStep,
  grantStep,
  redeemStep,
  refundStep,
  reverseStep,
] as const;
const step = choiceOf("ScenarioStep", allSteps, input => {
  const kind = Object.keys(steps).find(name => hasMember(input, name));
  return kind === undefined ? actionStep : steps[kind as keyof typeof steps];
});

const section = v.exactOptional(v.unknown());
/** Schema of a file of scenarios. */
export const ScenariosSchema = v.strictObject({
  /** The sections of a project's settings that declare boards. */
  boards: v.optional(v.strictObject({ leaderboards: section, eventLeaderboards: section }), {}),
  scenarios: v.pipe(
    v.array(
      v.strictObject({
        name: v.string(),
        steps: v.pipe(v.array(step), v.minLength(1), v.maxLength(stepsMax)),
      }),
    ),
    v.minLength(1),
    v.maxLength(scenariosMax),
  ),
});

/** Steps in ascending time. */
export type Scenario = v.InferOutput<typeof ScenariosSchema>["scenarios"][number];
export type StepOf<K extends "action" | "profile" | "expect" | "grant" | "redeem" | "refund" | "reverse"> =
  Extract<Scenario["steps"][number], Readonly<Record<K, unknown>>>;
