/**
 * The form of the records in a copy of a person's data: descriptions of their members, and times as texts. Loaded with the first copy.
 *
 * @module
 */

import { isoTime } from "../base/calendar/mod.ts";
import type { ProfileRecord } from "../fans/audience/profile/record.ts";
import type { DeadAction } from "../fans/audience/worker/dead_letter_queue.ts";
import type { AuditEntry } from "../fans/identity/audit/audit.ts";
import type { Session } from "../fans/identity/sessions/session.ts";
import type { User } from "../fans/identity/users.ts";
import type { HiddenUser } from "../fans/leaderboards/ranking/hidden_users.ts";
import type { RecordedStanding } from "../fans/leaderboards/scores/retention.ts";
import type { HistoryEntry, Notification } from "../fans/loyalty/user/history.ts";
import type { ReadMarks } from "../fans/loyalty/user/inbox.ts";
import type { UserState } from "../fans/loyalty/user/state.ts";
import type { ProgressByWebhook } from "../fans/loyalty/webhooks/progress.ts";
import type { Account } from "../fans/users/user_index.ts";

/** The unit of a stored time; for objects and lists the members that have times, `*` for each of them. */
type Times = "ms" | "s" | { readonly [member: string]: Times };

interface RecordFormat {
  /** Descriptions of the members by path. */
  readonly members: Readonly<Record<string, string>>;
  /** @default no member is a time */
  readonly times?: Times | undefined;
}

type Below<N extends string, P> = P extends string ? `${N}.${P}` : never;

/** The paths of members: names joined by dots, `*` for each entry of a list or map. Nothing is known below values of apps. */
type MemberPath<T> = unknown extends T
  ? never
  : T extends readonly unknown[]
    ? number extends T["length"]
      ? Below<"*", MemberPath<T[number]>>
      : NamedPath<T, keyof T & `${number}`>
    : T extends object
      ? string extends keyof T
        ? Below<"*", MemberPath<T[keyof T]>>
        : NamedPath<T, keyof T & string>
      : never;

type NamedPath<T, N extends keyof T & string> = {
  [K in N]-?: K | Below<K, MemberPath<NonNullable<T[K]>>>;
}[N];

/** The paths of a kind of record. A map has a description of its entries. */
type RecordPath<T> = MemberPath<T> | (string extends keyof T ? "*" : never);

/** Describes records by the paths of their type, so that a new member without a description does not compile. */
function formatOf<P extends string>(members: Readonly<Record<P, string>>, times?: Times): RecordFormat {
  return { members, times };
}

/** Puts descriptions below a member. */
function below<N extends string, P extends string>(name: N, members: Readonly<Record<P, string>>) {
  const entries = Object.entries<string>(members).map(([path, text]) => [`${name}.${path}`, text]);
  return Object.fromEntries(entries) as Readonly<Record<Below<N, P>, string>>;
}

const trail = formatOf<RecordPath<AuditEntry>>(
  {
    at: "When it happened",
    event: "What was done",
    outcome: "`ok`, or why it failed",
    provider: "How the user signs in",
    userId: "Id of the user",
    sessionId: "The session of a login",
    deviceId: "Id of the device",
    reason: "Why an operator did it",
    actor: "The key of the back end that did it",
    addressTag:
      "The network of the client: the first three parts of an address (IPv4), or its first half (IPv6)",
    userAgentTag: "A digest of the name of the browser, which tells two apart and names none",
    requestId: "Id of the request in the log of the server",
  },
  { at: "ms" },
);

const milestone = {
  milestoneId: "Id of the level",
  threshold: "Points that the level took when it was reached",
  until: "When the user has to qualify again; without it never",
} as const;
const challenge = {
  status: "Whether the run is under way, completed or failed; `none` between two runs",
  run: "The run: its period in the calendar, or its number",
  startedAt: "When the run began",
  endsAt: "When the run ends; null: never",
  endedAt: "When the run was completed or failed; null: it is under way",
  counts: "Number of actions that have counted, by mission",
  values: "Different values that have counted, as digests or texts, by mission",
  missionsCompleted: "Ids of the missions that are completed",
  completions: "Number of completed runs",
} as const;
const coupon = {
  id: "Id of this coupon of the user",
  couponId: "Id of the coupon in the rules",
  code: "The code to redeem; null: none yet",
  receivedAt: "When the user received it",
  expiresAt: "When it ends; null: never",
} as const;
const lot = {
  id: "Id of the points, as debits name it",
  amount: "Number of points at first",
  remaining: "Number of points that are left",
  creditedAt: "When they were earned",
  activatesAt: "When they become usable; null: they are",
  expiresAt: "When those left expire; null: never",
} as const;
const entry = {
  metricId: "Id of the metric, such as points",
  type: "`credit` or `debit`",
  amount: "Number of points, above 0",
  balanceAfter: "Balance after it, in points",
  status: "`completed`; `pending`: not usable yet; `expired`: lost",
  at: "When it happened, if that is another time than the record's",
  lot: "The points of a credit, which expire together",
  ...below("lot", lot),
  draws: "From which points a debit took, or to which it gave back",
  ...below("draws.*", {
    lot: "Id of the points",
    amount: "Number of points taken or given back",
    of: "Number of points that there were at first",
    creditedAt: "When they were earned",
    expiresAt: "When they expire; null: never",
  }),
} as const;
const price = { currency: "Id of the metric that pays", amount: "Number of points" } as const;
const reward = {
  type: "What is given: points of a metric, an item, a coupon, or several",
  metricId: "Id of the metric",
  metricQuantity: "Number of points; below 0 it takes them",
  inventorySetId: "Id of the set of the item",
  inventoryItemId: "Id of the item",
  couponId: "Id of the coupon in the rules",
} as const;
const bundle = { ...reward, rewardId: "Id of several rewards together" } as const;
const item = { setId: "Id of the set", itemId: "Id of the item" } as const;
const payload = {
  challengeId: "Id of the challenge",
  missionId: "Id of the mission",
  couponId: "Id of the coupon in the rules",
  userCouponId: "Id of the coupon of the user",
  redemptionId: "Id of the purchase",
  productId: "Id of the product",
  quantity: "Number of units bought",
  metadata: "Notes of the app or back end",
  reason: "Why a back end gave, corrected or refused it",
  metricChanges: "Balances before and after, by metric",
  ...below("metricChanges.*", { oldValue: "Points before", newValue: "Points after" }),
  inventoryChanges: "Items that came and went",
  ...below("inventoryChanges", {
    received: "Items that the user received",
    lost: "Items that the user lost",
  }),
  ...below("inventoryChanges.received.*", item),
  ...below("inventoryChanges.lost.*", item),
  milestoneChanges: "Levels before and after, by set",
  ...below("milestoneChanges.*", {
    oldValue: "Id of the level before; empty: none",
    newValue: "Id of the level after; empty: none",
  }),
} as const;
const lifetime = { "*.0": "Points ever earned", "*.1": "Points ever spent" } as const;
const limited = {
  limited: "Rules that a limit for all users held back, with the times that they had applied",
};

const runTimes = { startedAt: "ms", endsAt: "ms", endedAt: "ms" } as const;
const couponTimes = { receivedAt: "ms", expiresAt: "ms" } as const;
const lotTimes = { creditedAt: "ms", activatesAt: "ms", expiresAt: "ms" } as const;
const entryTimes = {
  at: "ms",
  lot: lotTimes,
  draws: { "*": { creditedAt: "ms", expiresAt: "ms" } },
} as const;
const rewardTimes = { availableAt: "ms", expiresAt: "ms" } as const;

type ShownAccount = Omit<User, "registration"> & { readonly registration?: string };

const account = formatOf<RecordPath<ShownAccount>>(
  {
    userId: "Id of the user",
    sealedId: "The external id, a credential",
    provider: "How the user signs in",
    username: "Name that the user chose",
    signUp: "When the user signed up",
    loginHistory: "When the user logged in, the last 50 times",
    devices: "The last 20 devices",
    "devices.*.deviceId": "Id of the device, as the app made it; a credential of anonymous users",
    "devices.*.signUp": "The first login on the device",
    "devices.*.lastLogin": "The last login on the device",
    appProfile: "What the app keeps about the user",
    registration: "The device of an anonymous user, a credential",
    account: "The registration with an e-mail address",
    "account.email": "The e-mail address",
    "account.isEmailVerified": "Whether the user has proved the address",
    "account.isContested": "Whether somebody else registered the address before it was proved",
    "account.nickname": "Name that the user chose",
    "account.passwordHash": "The hash of the password, a credential",
    "account.terms": "Consent to two sets of terms, as the app sent it",
    "account.terms.0": "Consent to the first set",
    "account.terms.1": "Consent to the second set",
    "account.updatedAt": "When the registration was last changed",
    origin: "The identity at another provider",
    "origin.issuer": "The address of the provider",
    "origin.subject": "Id of the user there",
    social: "The profile that another provider gave last",
    "social.nickname": "Name of the user there",
    "social.email": "The e-mail address there",
    "social.isEmailVerified": "Whether the provider says that the address is the user's",
    "social.updatedAt": "When the provider gave it",
    ban: "A ban by an operator",
    "ban.reason": "Why",
    "ban.until": "When it ends; null: it lasts until it is lifted",
    mergedInto: "The user whom this one was merged into",
    isRetired: "True while the user is being removed",
  },
  {
    signUp: "s",
    loginHistory: { "*": "s" },
    devices: { "*": { signUp: "s", lastLogin: "s" } },
    account: { updatedAt: "s" },
    social: { updatedAt: "s" },
    ban: { until: "s" },
  },
);

const session = formatOf<RecordPath<Session>>(
  {
    sid: "Id of the session",
    userId: "Id of the user",
    deviceId: "Id of the device",
    counter: "Number of renewals",
    rotatedAt: "When it was renewed last",
    isConfirmed: "Whether the app has used the last renewal",
    createdAt: "When the user logged in",
    lastSeen: "When it was last used",
    authenticatedAt: "When the user last proved who they are",
    expiresAt: "When it ends in any case",
    userAgent: "The browser or app, as it names itself",
    addressTag:
      "The network of the login: the first three parts of an address (IPv4), or its first half (IPv6)",
  },
  { rotatedAt: "ms", createdAt: "ms", lastSeen: "ms", authenticatedAt: "ms", expiresAt: "ms" },
);

const loyalty = formatOf<RecordPath<UserState>>(
  {
    revision: "Number of changes",
    changedAt: "When it changed last",
    config: "The version of the rules that decided last",
    projectId: "The project whose boards have the user's scores",
    zone: "The time zone of the user's days; null: that of the rules",
    "zone.name": "Name of the zone",
    "zone.from": "Since when it counts",
    "zone.before": "The zone before",
    metrics: "Balances, such as points, by metric",
    lifetime: "What was ever earned and spent, by metric",
    ...below("lifetime", lifetime),
    lots: "Points that become usable or expire together, by metric",
    ...below("lots.*.*", lot),
    inventory: "Ids of the user's items, by set",
    milestones: "The highest level that the user has reached, by set",
    ...below("milestones.*", milestone),
    challenges: "Progress in challenges and their missions, by challenge",
    ...below("challenges.*", challenge),
    coupons: "Coupons of the user",
    ...below("coupons.*", coupon),
    counters: "Counts of actions for the rules of the club, by rule",
    "counters.*.total": "Number or sum of all actions",
    "counters.*.buckets": "Number or sum of the actions of days or other steps of the calendar",
    "counters.*.buckets.*.0": "Number of the step, counted from the first of January 1970",
    "counters.*.buckets.*.1": "Number or sum in the step",
    "counters.*.last": "Number of the last step with an action, in a row without gaps",
    "counters.*.length": "Number of steps in the row",
    "counters.*.earlier": "Rows before it",
    "counters.*.earlier.*.0": "Number of the last step of the row",
    "counters.*.earlier.*.1": "Number of steps in the row",
    "counters.*.values": "Counts by value, such as a shop or a match",
    "counters.*.values.*.*.0": "Number of the step, counted from the first of January 1970",
    "counters.*.values.*.*.1": "Number or sum in the step",
    orphanedCounters: "Since when counts serve no rule any more",
    activeAt: "The last action, purchase or reward, where points expire without activity; null: not known",
    reminded: "Up to which expiry of points the user was reminded, by metric",
    dueAt: "When time alone changes something next; null: never",
    chainedExpiries: "Number of expiries in a row",
    records: "Number of records in the history so far",
    historyParts: "The parts of the history, oldest first",
    "historyParts.*.0": "Number of records in the part",
    "historyParts.*.1": "Size of the part in bytes",
    redemptions: "Purchases with steps to do",
    ...below("redemptions.*", {
      id: "Id of the purchase",
      productId: "Id of the product",
      quantity: "Number of units",
      cost: "What was paid",
      ...below("cost", price),
      status: "How far it is: `reserved`, `pending`, `completed`, `rejected` or `refunded`",
      fault: "Why it was rejected",
      fulfilment: "How the product reaches the user",
      ...below("fulfilment", {
        type: "A coupon, an item, by hand, or by another service",
        couponId: "Id of the coupon in the rules",
        inventorySetId: "Id of the set of the item",
        inventoryItemId: "Id of the item",
      }),
      takesStock: "Whether its units count against a limited stock",
      stockPeriod: "The period in which its units count",
      poolId: "Id of the pool of codes that it takes a code from",
      paid: "The entries of the ledger that paid it",
      ...below("paid.*", entry),
      received: "What the user received",
      "received.items": "Items",
      ...below("received.items.*", item),
      "received.coupons": "Ids of the coupons of the user",
      boughtAt: "When it was bought",
      changedAt: "When it changed last",
      metadata: "Notes of the app or back end",
    }),
    gifts: "Rewards for other users that are under way",
    ...below("gifts.*", {
      id: "Id of the gift",
      ruleId: "Id of the rule that gives it",
      userId: "Id of the other user, as the action named it",
      rewards: "What the other user gets",
      ...below("rewards.*", reward),
    }),
    undelivered: "Scores on their way to boards",
    ...below("undelivered.*", {
      target: "The board, with project, event and season",
      score: "The score",
      at: "When it was reached",
      asOf: "Number of changes of the user until then",
    }),
    sums: "Totals from which boards compute scores, by board",
    "sums.*.0": "The total, in points",
    "sums.*.1": "When it stops changing",
    onceMarks: "How many ids have taken effect, so that none does twice",
    "onceMarks.generation": "Number of the list of ids that is in use",
    "onceMarks.count": "Number of ids in it",
    votes: "Where the votes of the user are kept",
    "votes.*.0": "Number of the list of votes",
    "votes.*.1": "Most votes that the list may have",
    voterOf: "Ids of elements among whose voters the user is about to be listed",
    mergedInto: "The user whom this one was merged into; null: none",
  },
  {
    changedAt: "ms",
    zone: { from: "ms" },
    lots: { "*": { "*": lotTimes } },
    milestones: { "*": { until: "ms" } },
    challenges: { "*": runTimes },
    coupons: { "*": couponTimes },
    orphanedCounters: { "*": "ms" },
    activeAt: "ms",
    reminded: { "*": "ms" },
    dueAt: "ms",
    redemptions: { "*": { boughtAt: "ms", changedAt: "ms", paid: { "*": entryTimes } } },
    undelivered: { "*": { at: "ms" } },
    sums: { "*": { 1: "ms" } },
  },
);

const history = formatOf<RecordPath<HistoryEntry>>(
  {
    id: "Id of the record",
    kind: "What happened; a settlement is what time alone has changed",
    at: "When it was recorded",
    config: "The version of the rules that decided",
    action: "The action of the user",
    ...below("action", {
      ...limited,
      name: "Name of the action",
      data: "Data that the app or back end sent",
      eventId: "Id of the event that the data name",
      id: "Id under which it was reported",
      at: "When it happened, if that is another time than the record's",
      metadata: "Notes of the back end that reported it",
      element: "The element that it answers",
      "element.id": "Id of the element",
      "element.type": "Type of the element, such as a quiz",
      "element.points": "Points that a right answer earns",
      "element.seconds": "Seconds that the user took",
      "element.isRight": "Whether the answer is right, once the user may know",
      isReveal: "True where the answer became known after the action",
      fired: "Ids of the rules that applied",
      advanced: "Missions that it advanced",
      "advanced.*.0": "Id of the mission",
      "advanced.*.1": "The run: its period in the calendar, or its number",
      "advanced.*.2": "Number or sum that it added",
    }),
    grant: "Rewards of a back end, or what a merged user had",
    ...below("grant", {
      ...limited,
      rewards: "The rewards",
      ...below("rewards.*", {
        ...bundle,
        availableAt: "When its points become usable",
        expiresAt: "When its points expire",
      }),
      reason: "Why",
      id: "Id under which it was granted",
      inheritance: "What a merged user had beside points and items",
      "inheritance.from": "Id of the merged user",
      "inheritance.lifetime":
        "What that user had ever earned and spent beyond the points that went over, by metric",
      ...below("inheritance.lifetime", lifetime),
      "inheritance.milestones": "The highest level that the user had reached, by set",
      ...below("inheritance.milestones.*", milestone),
      "inheritance.challenges": "Progress in challenges and their missions, by challenge",
      ...below("inheritance.challenges.*", challenge),
      "inheritance.coupons": "Coupons of the user",
      ...below("inheritance.coupons.*", coupon),
    }),
    adjustment: "A correction of balances by a back end",
    ...below("adjustment", {
      ...limited,
      changes: "The corrections",
      "changes.*.metricId": "Id of the metric, such as points",
      "changes.*.op": "`set`: to the value; `incr`: by the value",
      "changes.*.value": "Number of points",
      reason: "Why",
      id: "Id of the update of the profile that made it",
    }),
    reversalOf: "Id of the transaction that was taken back",
    reversed: "The action of that transaction",
    "reversed.at": "When it happened",
    "reversed.data": "Data that the app or back end sent",
    redemption: "A step of a purchase",
    ...below("redemption", {
      ...limited,
      id: "Id of the purchase",
      step: "The step: `reserved`, `sold`, `confirmed`, `rejected`, `completed` or `refunded`",
      productId: "Id of the product",
      quantity: "Number of units",
      cost: "What was paid",
      ...below("cost", price),
      boughtAt: "When it was bought",
      given: "What the user received",
      ...below("given.*", bundle),
      couponExpiresAt: "When the coupon ends; null: never",
    }),
    profile: "Fields of the profile that the rules have read",
    mergedFrom: "The first time of several settlements in one",
    transactions: "What changed",
    ...below("transactions.*", {
      type: "What it is, such as earned points or a completed challenge",
      at: "When it happened, if that is another time than the record's",
      payload: "What it is about, and what changed",
      ...below("payload", payload),
      entries: "The entries in the ledger",
      ...below("entries.*", entry),
    }),
  },
  {
    at: "ms",
    action: { at: "ms" },
    grant: {
      rewards: { "*": rewardTimes },
      inheritance: {
        milestones: { "*": { until: "ms" } },
        challenges: { "*": runTimes },
        coupons: { "*": couponTimes },
      },
    },
    reversed: { at: "ms" },
    redemption: { boughtAt: "ms", couponExpiresAt: "ms" },
    mergedFrom: "ms",
    transactions: { "*": { at: "ms", entries: { "*": entryTimes } } },
  },
);

type ShownProfile = Omit<ProfileRecord, "preferences"> & { readonly preferences: unknown };

/** What a user record of the sign-up has, while the user exists or after the removal. */
type SignUp = Account & { readonly namedAt: number; readonly removedAt: number | null };

const formats: Readonly<Record<string, RecordFormat>> = {
  account,
  session,
  trail,
  projectTrail: trail,
  loyalty,
  history,
  notification: formatOf<RecordPath<Notification>>({
    type: "What it announces",
    display: "How the app shows it",
    title: "Title",
    message: "Text",
    payload: "What it is about, and what has changed",
    ...below("payload", payload),
  }),
  inbox: formatOf<RecordPath<ReadMarks>>(
    {
      through: "The newest notification up to which all were read; null: none",
      "through.id": "Id of the notification",
      "through.at": "When they were read",
      ids: "When others were read, by their ids",
    },
    { through: { at: "ms" }, ids: { "*": "ms" } },
  ),
  webhooks: formatOf<RecordPath<ProgressByWebhook>>(
    {
      "*": "How far the history was delivered, by webhook",
      "*.from": "Since when records are delivered",
      "*.cursor": "Id of the last record that was delivered; null: none yet",
      "*.records": "Number of records that are done",
      "*.failure": "The failure of the next record",
      "*.failure.attempts": "Number of attempts",
      "*.failure.retryAt": "When it is tried again",
      "*.failure.reason": "Why it failed; null: it was not tried",
    },
    { "*": { from: "ms", failure: { retryAt: "ms" } } },
  ),
  votes: formatOf<RecordPath<Readonly<Record<string, number>>>>({
    "*": "Number of votes, by element and option",
  }),
  profile: formatOf<RecordPath<ShownProfile>>(
    {
      displayName: "Name that others see; null: that of the sign-up",
      preferences: "Settings of the user in the app",
      customFields: "Fields that the club keeps about the user",
      createdAt: "When it was first written",
      updatedAt: "When it was last changed",
      version: "Number of changes",
    },
    { createdAt: "ms", updatedAt: "ms" },
  ),
  signUp: formatOf<RecordPath<SignUp>>(
    {
      projectId: "The project of the sign-up",
      provider: "How the user signs in",
      name: "Name of the sign-up",
      createdAt: "When the user signed up",
      namedAt: "When the name was noted",
      removedAt: "When the user was removed; null: the user was not",
    },
    { createdAt: "ms", namedAt: "ms", removedAt: "ms" },
  ),
  score: formatOf<RecordPath<RecordedStanding>>({
    eventId: "The event of the board; null for a board of the project",
    leaderboardId: "Id of the board",
    season: "The season of the score; empty for boards without seasons",
    score: "The score, in the unit of the board",
  }),
  hidden: formatOf<RecordPath<HiddenUser>>(
    { userId: "Id of the user", since: "When an operator hid the user" },
    { since: "s" },
  ),
  deadAction: formatOf<RecordPath<DeadAction>>(
    {
      id: "Id of the failure",
      action: "The action as the back end reported it",
      ...below("action", {
        organisationId: "Id of the organisation",
        spaceId: "Id of the space",
        userId: "Id of the user",
        action: "Name of the action",
        data: "Data that the back end sent",
        projectId: "The project of the user, as the back end names it",
        actionId: "Id under which it was reported",
        at: "When it happened",
        metadata: "Notes of the back end",
      }),
      reason: "Why it could not take effect",
      "reason.code": "The reason as a word",
      "reason.message": "The reason as a sentence",
      attempts: "Number of attempts",
      at: "When the last attempt failed",
    },
    { action: { at: "ms" }, at: "ms" },
  ),
};

/** Returns the descriptions of the members of a kind; undefined for records that are texts, and for those that no copy has. */
export function membersOf(kind: string): Readonly<Record<string, string>> | undefined {
  return formats[kind]?.members;
}

/** Returns the data of a record with its times as texts. Where a time is stored as 0, there is none: null. */
export function shownData(kind: string, data: unknown): unknown {
  return withTimeTexts(data, formats[kind]?.times);
}

/** The last time that a text can name, in Unix ms. */
const timeMax = 8_640_000_000_000_000;

function withTimeTexts(value: unknown, times: Times | undefined): unknown {
  if (times === "ms" || times === "s") {
    if (typeof value !== "number") return value;
    return value === 0 ? null : isoTime(Math.min(value * (times === "s" ? 1_000 : 1), timeMax));
  }
  if (times === undefined || typeof value !== "object" || value === null) return value;
  const shown = Object.entries(value).map(([name, member]) => {
    const own = Object.hasOwn(times, name) ? times[name] : undefined;
    return [name, withTimeTexts(member, own ?? times["*"])] as const;
  });
  return Array.isArray(value) ? shown.map(([, member]) => member) : Object.fromEntries(shown);
}
