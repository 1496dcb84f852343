/**
 * The form of the records in a copy of a person's data: descriptions of their members, and times as texts. Loaded with the first copy.
 *
 * @module
 */

import { isoTime } from "../base/calendar/mod.ts";

/** The unit of a stored time; for objects and lists the members that have times, `*` for each of them. */
type Times = "ms" | "s" | { readonly [member: string]: Times };

interface RecordFormat {
  /** Descriptions of the members by name, `*` for each of them. */
  readonly members: Readonly<Record<string, string>>;
  /** @default no member is a time */
  readonly times?: Times;
}

const trailMembers = {
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

const formats: Readonly<Record<string, RecordFormat>> = {
  account: {
    members: {
      userId: "Id of the user",
      sealedId: "The external id, a credential",
      provider: "How the user signs in",
      username: "Name that the user chose",
      signUp: "When the user signed up",
      loginHistory: "The last 50 logins",
      devices: "The last 20 devices, with the first and the last login of each",
      appProfile: "What the app keeps about the user",
      registration: "The device of an anonymous user, a credential",
      account:
        "E-mail address, whether it is verified, nickname, and consent to two sets of terms as the app sent it",
      origin: "The identity at another provider: its issuer, and the id of the user there",
      social: "The profile that another provider gave last",
      ban: "The reason of a ban, and its end; without an end it lasts until it is lifted",
      mergedInto: "The user whom this one was merged into",
      isRetired: "True while the user is being removed",
    },
    times: {
      signUp: "s",
      loginHistory: { "*": "s" },
      devices: { "*": { signUp: "s", lastLogin: "s" } },
      account: { updatedAt: "s" },
      social: { updatedAt: "s" },
      ban: { until: "s" },
    },
  },
  session: {
    members: {
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
    times: { rotatedAt: "ms", createdAt: "ms", lastSeen: "ms", authenticatedAt: "ms", expiresAt: "ms" },
  },
  trail: { members: trailMembers, times: { at: "ms" } },
  projectTrail: { members: trailMembers, times: { at: "ms" } },
  loyalty: {
    members: {
      revision: "Number of changes",
      changedAt: "When it changed last",
      config: "The version of the rules that decided last",
      projectId: "The project whose boards have the user's scores",
      zone: "The time zone of the user's days, since when, and the one before",
      metrics: "Balances, such as points, by metric",
      lifetime: "What was ever earned, and what was ever spent, by metric",
      lots: "Points that become usable or expire together, by metric",
      inventory: "Items of the user, by set",
      milestones: "Levels that the user has reached, by set",
      challenges: "Progress in challenges and their missions",
      coupons: "Coupons of the user, with their codes",
      counters: "Counts of actions for the rules of the club",
      orphanedCounters: "Since when counts serve no rule any more",
      activeAt: "The last action, purchase or reward, where points expire without activity",
      reminded: "Up to which expiry of points the user was reminded, by metric",
      dueAt: "When time alone changes something next",
      chainedExpiries: "Number of expiries in a row",
      records: "Number of records in the history",
      historyParts: "Records and bytes of each part of the history",
      redemptions: "Purchases with steps to do",
      gifts: "Rewards for other users that are under way",
      undelivered: "Scores on their way to boards",
      sums: "Totals from which boards compute scores, with the time until which they change",
      onceMarks: "Number of ids that have taken effect",
      votes: "Parts of the votes",
      voterOf: "Elements among whose voters the user is about to be listed",
      mergedInto: "The user whom this one was merged into",
    },
    times: {
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
  },
  history: {
    members: {
      id: "Id of the record",
      kind: "What happened; a settlement is what time alone has changed",
      at: "When it was recorded",
      config: "The version of the rules that decided",
      action:
        "The action, with the data and notes of the app, and the time at which it happened if that is another",
      grant: "Rewards of a back end, or what a merged user had",
      adjustment: "A correction of balances",
      reversalOf: "The transaction that was taken back",
      reversed: "The action of that transaction",
      redemption: "A step of a purchase",
      profile: "Fields of the profile that the rules have read",
      mergedFrom: "The first time of several settlements in one",
      transactions: "What changed, with the entries in the ledger",
    },
    times: {
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
  },
  notification: {
    members: {
      type: "What it announces",
      display: "How the app shows it",
      title: "Title",
      message: "Text",
      link: "Where it leads",
      payload: "What has changed",
    },
  },
  inbox: {
    members: {
      through: "The notification up to which all were read, and when",
      ids: "When others were read, by their ids",
    },
    times: { through: { at: "ms" }, ids: { "*": "ms" } },
  },
  webhooks: {
    members: { "*": "Since when, up to which record, and the last failure, by webhook" },
    times: { "*": { from: "ms", failure: { retryAt: "ms" } } },
  },
  votes: { members: { "*": "Number of votes, by element and option" } },
  profile: {
    members: {
      displayName: "Name that others see",
      preferences: "Settings of the user in the app",
      customFields: "Fields that the club keeps about the user",
      createdAt: "When it was first written",
      updatedAt: "When it was last changed",
      version: "Number of changes",
    },
    times: { createdAt: "ms", updatedAt: "ms" },
  },
  signUp: {
    members: {
      projectId: "The project of the sign-up",
      provider: "How the user signs in",
      name: "Name of the sign-up",
      createdAt: "When the user signed up",
      namedAt: "When the name was noted",
      removedAt: "When the user was removed",
    },
    times: { createdAt: "ms", namedAt: "ms", removedAt: "ms" },
  },
  score: {
    members: {
      eventId: "The event of the board; null for a board of the project",
      leaderboardId: "Id of the board",
      season: "The season of the score; empty for boards without seasons",
      score: "The score",
    },
  },
  hidden: {
    members: { userId: "Id of the user", since: "When an operator hid the user" },
    times: { since: "s" },
  },
  deadAction: {
    members: {
      id: "Id of the failure",
      action: "The action as the back end reported it, with its time",
      reason: "Why it could not take effect",
      attempts: "Number of attempts",
      at: "When the last attempt failed",
    },
    times: { action: { at: "ms" }, at: "ms" },
  },
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
