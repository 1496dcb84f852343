/** The records of loyalty in a copy of a person's data. */

import * as v from "valibot";
import type { HistoryEntry, Notification } from "../fans/loyalty/user/history.ts";
import type { ReadMarks } from "../fans/loyalty/user/inbox.ts";
import type { UserState } from "../fans/loyalty/user/state.ts";
import type { ProgressByWebhook } from "../fans/loyalty/webhooks/progress.ts";
import { flag, formatOf, list, map, maybe, ms, number, object, text, values } from "./record_format.ts";

const milestone = v.object({
  milestoneId: text("Id of the level"),
  threshold: number("Points that the level took when it was reached"),
  until: maybe(ms("When the user has to qualify again; without it never")),
});
const challenge = v.object({
  status: text("Whether the run is under way, completed or failed; `none` between two runs"),
  run: text("The run: its period in the calendar, or its number"),
  startedAt: ms("When the run began"),
  endsAt: ms("When the run ends; null: never"),
  endedAt: ms("When the run was completed or failed; null: it is under way"),
  counts: map(v.number(), "Number of actions that have counted, by mission"),
  values: maybe(
    map(v.array(v.string()), "Different values that have counted, as digests or texts, by mission"),
  ),
  missionsCompleted: list(v.string(), "Ids of the missions that are completed"),
  completions: number("Number of completed runs"),
});
const coupon = v.object({
  id: text("Id of this coupon of the user"),
  couponId: text("Id of the coupon in the rules"),
  code: v.nullable(text("The code to redeem; null: none yet")),
  receivedAt: ms("When the user received it"),
  expiresAt: ms("When it ends; null: never"),
});
const lotEntries = {
  id: text("Id of the points, as debits name it"),
  amount: number("Number of points at first"),
  remaining: number("Number of points that are left"),
  creditedAt: ms("When they were earned"),
  activatesAt: ms("When they become usable; null: they are"),
  expiresAt: ms("When those left expire; null: never"),
};
const entry = v.object({
  metricId: text("Id of the metric, such as points"),
  type: text("`credit` or `debit`"),
  amount: number("Number of points, above 0"),
  balanceAfter: number("Balance after it, in points"),
  status: text("`completed`; `pending`: not usable yet; `expired`: lost"),
  at: maybe(ms("When it happened, if that is another time than the record's")),
  lot: maybe(object(lotEntries, "The points of a credit, which expire together")),
  draws: maybe(
    list(
      v.object({
        lot: text("Id of the points"),
        amount: number("Number of points taken or given back"),
        of: number("Number of points that there were at first"),
        creditedAt: ms("When they were earned"),
        expiresAt: ms("When they expire; null: never"),
      }),
      "From which points a debit took, or to which it gave back",
    ),
  ),
});
const cost = object(
  { currency: text("Id of the metric that pays"), amount: number("Number of points") },
  "What was paid",
);
const itemPlace = {
  inventorySetId: maybe(text("Id of the set of the item")),
  inventoryItemId: maybe(text("Id of the item")),
};
const rewardEntries = {
  type: text("What is given: points of a metric, an item, a coupon, or several"),
  metricId: maybe(text("Id of the metric")),
  metricQuantity: maybe(number("Number of points; below 0 it takes them")),
  ...itemPlace,
  couponId: maybe(text("Id of the coupon in the rules")),
};
const bundleEntries = { ...rewardEntries, rewardId: maybe(text("Id of several rewards together")) };
const item = v.object({ setId: text("Id of the set"), itemId: text("Id of the item") });
const lifetime = v.tuple([number("Points ever earned"), number("Points ever spent")]);
const milestones = map(milestone, "The highest level that the user has reached, by set");
const challenges = map(challenge, "Progress in challenges and their missions, by challenge");
const coupons = list(coupon, "Coupons of the user");
const limited = maybe(
  map(v.number(), "Rules that a limit for all users held back, with the times that they had applied"),
);
const optionalText = (description: string) => maybe(text(description));
const payload = object(
  {
    challengeId: optionalText("Id of the challenge"),
    missionId: optionalText("Id of the mission"),
    couponId: optionalText("Id of the coupon in the rules"),
    userCouponId: optionalText("Id of the coupon of the user"),
    redemptionId: optionalText("Id of the purchase"),
    productId: optionalText("Id of the product"),
    quantity: maybe(number("Number of units bought")),
    metadata: maybe(values("Notes of the app or back end")),
    reason: optionalText("Why a back end gave, corrected or refused it"),
    metricChanges: map(
      v.object({ oldValue: number("Points before"), newValue: number("Points after") }),
      "Balances before and after, by metric",
    ),
    inventoryChanges: object(
      {
        received: list(item, "Items that the user received"),
        lost: list(item, "Items that the user lost"),
      },
      "Items that came and went",
    ),
    milestoneChanges: map(
      v.object({
        oldValue: text("Id of the level before; empty: none"),
        newValue: text("Id of the level after; empty: none"),
      }),
      "Levels before and after, by set",
    ),
  },
  "What it is about, and what changed",
);

const step = number("Number of the step, counted from the first of January 1970");
const buckets = v.array(v.tuple([step, number("Number or sum in the step")]));
const counter = v.object({
  total: maybe(number("Number or sum of all actions")),
  buckets: maybe(
    v.pipe(buckets, v.description("Number or sum of the actions of days or other steps of the calendar")),
  ),
  last: maybe(number("Number of the last step with an action, in a row without gaps")),
  length: maybe(number("Number of steps in the row")),
  earlier: maybe(
    list(
      v.tuple([number("Number of the last step of the row"), number("Number of steps in the row")]),
      "Rows before it",
    ),
  ),
  values: maybe(map(v.union([v.number(), buckets]), "Counts by value, such as a shop or a match")),
});

const redemption = v.object({
  id: text("Id of the purchase"),
  productId: text("Id of the product"),
  quantity: number("Number of units"),
  cost,
  status: text("How far it is: `reserved`, `pending`, `completed`, `rejected` or `refunded`"),
  fault: optionalText("Why it was rejected"),
  fulfilment: object(
    {
      type: text("A coupon, an item, by hand, or by another service"),
      couponId: optionalText("Id of the coupon in the rules"),
      ...itemPlace,
    },
    "How the product reaches the user",
  ),
  takesStock: flag("Whether its units count against a limited stock"),
  stockPeriod: optionalText("The period in which its units count"),
  poolId: optionalText("Id of the pool of codes that it takes a code from"),
  paid: list(entry, "The entries of the ledger that paid it"),
  received: object(
    { items: list(item, "Items"), coupons: list(v.string(), "Ids of the coupons of the user") },
    "What the user received",
  ),
  boughtAt: ms("When it was bought"),
  changedAt: ms("When it changed last"),
  metadata: maybe(values("Notes of the app or back end")),
});

const total = number("The total, in points");
const loyalty = formatOf<UserState>()(
  v.object({
    revision: number("Number of changes"),
    changedAt: ms("When it changed last"),
    config: text("The version of the rules that decided last"),
    projectId: v.nullable(text("The project whose boards have the user's scores; null: none yet")),
    zone: v.nullable(
      object(
        {
          name: text("Name of the zone"),
          from: ms("Since when it counts"),
          before: text("The zone before"),
        },
        "The time zone of the user's days; null: that of the rules",
      ),
    ),
    metrics: map(v.number(), "Balances, such as points, by metric"),
    lifetime: map(lifetime, "What was ever earned and spent, by metric"),
    lots: map(v.array(v.object(lotEntries)), "Points that become usable or expire together, by metric"),
    inventory: map(v.array(v.string()), "Ids of the user's items, by set"),
    milestones,
    challenges,
    coupons,
    counters: map(counter, "Counts of actions for the rules of the club, by rule"),
    orphanedCounters: map(ms("When it was first so"), "Since when counts serve no rule any more"),
    activeAt: ms(
      "The last action, purchase or reward, where points expire without activity; null: not known",
    ),
    reminded: map(
      ms("When the points expire"),
      "Up to which expiry of points the user was reminded, by metric",
    ),
    dueAt: ms("When time alone changes something next; null: never"),
    chainedExpiries: number("Number of expiries in a row"),
    records: number("Number of records in the history so far"),
    historyParts: list(
      v.tuple([number("Number of records in the part"), number("Size of the part in bytes")]),
      "The parts of the history, oldest first",
    ),
    redemptions: list(redemption, "Purchases with steps to do"),
    gifts: list(
      v.object({
        id: text("Id of the gift"),
        ruleId: text("Id of the rule that gives it"),
        userId: text("Id of the other user, as the action named it"),
        rewards: list(v.object(rewardEntries), "What the other user gets"),
      }),
      "Rewards for other users that are under way",
    ),
    undelivered: list(
      v.object({
        target: text("The board, with project, event and season"),
        score: number("The score"),
        at: ms("When it was reached"),
        asOf: number("Number of changes of the user until then"),
      }),
      "Scores on their way to boards",
    ),
    sums: map(
      v.union([v.tuple([total, ms("When it stops changing")]), v.tuple([total])]),
      "Totals from which boards compute scores, by board",
    ),
    onceMarks: object(
      {
        generation: number("Number of the list of ids that is in use"),
        count: number("Number of ids in it"),
      },
      "How many ids have taken effect, so that none does twice",
    ),
    votes: list(
      v.tuple([number("Number of the list of votes"), number("Most votes that the list may have")]),
      "Where the votes of the user are kept",
    ),
    voterOf: list(v.string(), "Ids of elements among whose voters the user is about to be listed"),
    mergedInto: v.nullable(text("The user whom this one was merged into; null: none")),
  }),
);

const action = {
  limited,
  name: text("Name of the action"),
  data: values("Data that the app or back end sent"),
  eventId: optionalText("Id of the event that the data name"),
  id: optionalText("Id under which it was reported"),
  at: maybe(ms("When it happened, if that is another time than the record's")),
  metadata: maybe(values("Notes of the back end that reported it")),
  element: maybe(
    object(
      {
        id: text("Id of the element"),
        type: text("Type of the element, such as a quiz"),
        points: number("Points that a right answer earns"),
        seconds: number("Seconds that the user took"),
        isRight: maybe(flag("Whether the answer is right, once the user may know")),
      },
      "The element that it answers",
    ),
  ),
  isReveal: maybe(flag("True where the answer became known after the action")),
  fired: maybe(list(v.string(), "Ids of the rules that applied")),
  advanced: maybe(
    list(
      v.tuple([
        text("Id of the mission"),
        text("The run: its period in the calendar, or its number"),
        number("Number or sum that it added"),
      ]),
      "Missions that it advanced",
    ),
  ),
};
const grant = {
  limited,
  rewards: list(
    v.object({
      ...bundleEntries,
      availableAt: maybe(ms("When its points become usable")),
      expiresAt: maybe(ms("When its points expire")),
    }),
    "The rewards",
  ),
  reason: text("Why"),
  id: optionalText("Id under which it was granted"),
  inheritance: maybe(
    object(
      {
        from: text("Id of the merged user"),
        lifetime: maybe(
          map(
            lifetime,
            "What that user had ever earned and spent beyond the points that went over, by metric",
          ),
        ),
        milestones,
        challenges,
        coupons,
      },
      "What a merged user had beside points and items",
    ),
  ),
};
const adjustment = {
  limited,
  changes: list(
    v.object({
      metricId: text("Id of the metric, such as points"),
      op: text("`set`: to the value; `incr`: by the value"),
      value: number("Number of points"),
    }),
    "The corrections",
  ),
  reason: text("Why"),
  id: optionalText("Id of the update of the profile that made it"),
};
const purchase = {
  limited,
  id: text("Id of the purchase"),
  step: text("The step: `reserved`, `sold`, `confirmed`, `rejected`, `completed` or `refunded`"),
  productId: text("Id of the product"),
  quantity: number("Number of units"),
  cost,
  boughtAt: ms("When it was bought"),
  given: maybe(list(v.object(bundleEntries), "What the user received")),
  couponExpiresAt: maybe(ms("When the coupon ends; null: never")),
};
const history = formatOf<HistoryEntry>()(
  v.object({
    id: text("Id of the record"),
    kind: text("What happened; a settlement is what time alone has changed"),
    at: ms("When it was recorded"),
    config: text("The version of the rules that decided"),
    action: maybe(object(action, "The action of the user")),
    grant: maybe(object(grant, "Rewards of a back end, or what a merged user had")),
    adjustment: maybe(object(adjustment, "A correction of balances by a back end")),
    reversalOf: optionalText("Id of the transaction that was taken back"),
    reversed: maybe(
      object(
        { at: ms("When it happened"), data: values("Data that the app or back end sent") },
        "The action of that transaction",
      ),
    ),
    redemption: maybe(object(purchase, "A step of a purchase")),
    profile: maybe(values("Fields of the profile that the rules have read")),
    mergedFrom: maybe(ms("The first time of several settlements in one")),
    transactions: list(
      v.object({
        type: text("What it is, such as earned points or a completed challenge"),
        at: maybe(ms("When it happened, if that is another time than the record's")),
        payload,
        entries: list(entry, "The entries in the ledger"),
      }),
      "What changed",
    ),
  }),
);

export const loyaltyFormats = {
  loyalty,
  history,
  notification: formatOf<Notification>()(
    v.object({
      type: text("What it announces"),
      display: text("How the app shows it"),
      title: text("Title"),
      message: text("Text"),
      payload,
    }),
  ),
  inbox: formatOf<ReadMarks>()(
    v.object({ ids: map(ms("When it was read"), "When notifications were read, by their ids") }),
  ),
  webhooks: formatOf<ProgressByWebhook>()(
    v.record(
      v.string(),
      object(
        {
          from: ms("Since when records are delivered"),
          cursor: v.nullable(text("Id of the last record that was delivered; null: none yet")),
          records: number("Number of records that are done"),
          failure: maybe(
            object(
              {
                attempts: number("Number of attempts"),
                retryAt: ms("When it is tried again"),
                reason: v.nullable(text("Why it failed; null: it was not tried")),
              },
              "The failure of the next record",
            ),
          ),
        },
        "How far the history was delivered, by webhook",
      ),
    ),
  ),
  votes: formatOf<Readonly<Record<string, number>>>()(
    v.record(v.string(), number("Number of votes, by element and option")),
  ),
};
