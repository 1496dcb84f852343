/**
 * The form of the records in a copy of a person's data: descriptions of their members, and times as texts. Loaded with the
 * first copy.
 */

import type { ProfileRecord } from "../fans/audience/profile/record.ts";
import type { DeadAction } from "../fans/audience/worker/dead_letter_queue.ts";
import type { AuditEntry } from "../fans/identity/audit/audit.ts";
import type { Session } from "../fans/identity/sessions/session.ts";
import type { User } from "../fans/identity/users.ts";
import type { HiddenUser } from "../fans/leaderboards/ranking/hidden_users.ts";
import type { RecordedStanding } from "../fans/leaderboards/scores/retention.ts";
import type { Account } from "../fans/users/user_index.ts";
import { loyaltyFormats } from "./loyalty_formats.ts";
import { below, formatOf, type RecordFormat, type RecordPath, withTimeTexts } from "./record_format.ts";

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

type ShownProfile = Omit<ProfileRecord, "preferences"> & { readonly preferences: unknown };

/** What a user record of the sign-up has, while the user exists or after the removal. */
type SignUp = Account & { readonly namedAt: number; readonly removedAt: number | null };

const formats: Readonly<Record<string, RecordFormat>> = {
  account,
  session,
  trail,
  projectTrail: trail,
  ...loyaltyFormats,
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

export function shownData(kind: string, data: unknown): unknown {
  return withTimeTexts(data, formats[kind]?.times);
}
