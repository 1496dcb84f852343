/**
 * The form of the records in a copy of a person's data. Loaded with the first copy.
 */

import * as v from "valibot";
import type { ProfileRecord } from "../fans/audience/profile/record.ts";
import type { DeadAction } from "../fans/audience/worker/dead_letter_queue.ts";
import type { AuditEntry } from "../fans/identity/audit/audit.ts";
import type { Session } from "../fans/identity/sessions/session.ts";
import type { User } from "../fans/identity/users.ts";
import type { HiddenUser } from "../fans/leaderboards/ranking/hidden_users.ts";
import type { RecordedStanding } from "../fans/leaderboards/scores/retention.ts";
import type { Account } from "../fans/users/user_index.ts";
import { loyaltyFormats } from "./loyalty_formats.ts";
import {
  flag,
  formatOf,
  list,
  maybe,
  ms,
  number,
  object,
  type RecordFormat,
  seconds,
  text,
  values,
  withTimeTexts,
} from "./record_format.ts";

const optionalText = (description: string) => maybe(text(description));

const trail = formatOf<AuditEntry>()(
  v.object({
    at: ms("When it happened"),
    event: text("What was done"),
    outcome: text("`ok`, or why it failed"),
    provider: text("How the user signs in"),
    userId: optionalText("Id of the user"),
    sessionId: optionalText("The session of a login"),
    deviceId: optionalText("Id of the device"),
    reason: optionalText("Why an operator did it"),
    actor: optionalText("The key of the back end that did it"),
    addressTag: optionalText(
      "The network of the client: the first three parts of an address (IPv4), or its first half (IPv6)",
    ),
    userAgentTag: optionalText("A digest of the name of the browser, which tells two apart and names none"),
    requestId: text("Id of the request in the log of the server"),
  }),
);

type ShownUser = Omit<User, "registration"> & { readonly registration?: string };

const account = formatOf<ShownUser>()(
  v.object({
    userId: text("Id of the user"),
    sealedId: text("The external id, a credential"),
    provider: text("How the user signs in"),
    username: text("Name that the user chose"),
    signUp: seconds("When the user signed up"),
    loginHistory: list(seconds("When the user logged in"), "The last 50 logins"),
    devices: list(
      v.object({
        deviceId: text("Id of the device, as the app made it; a credential of anonymous users"),
        signUp: seconds("The first login on the device"),
        lastLogin: seconds("The last login on the device"),
      }),
      "The last 20 devices",
    ),
    appProfile: values("What the app keeps about the user"),
    registration: optionalText("The device of an anonymous user, a credential"),
    account: maybe(
      object(
        {
          email: text("The e-mail address"),
          isEmailVerified: flag("Whether the user has proved the address"),
          isContested: flag("Whether somebody else registered the address before it was proved"),
          nickname: text("Name that the user chose"),
          passwordHash: text("The hash of the password, a credential"),
          terms: v.pipe(
            v.tuple([text("Consent to the first set"), text("Consent to the second set")]),
            v.description("Consent to two sets of terms, as the app sent it"),
          ),
          updatedAt: seconds("When the registration was last changed"),
        },
        "The registration with an e-mail address",
      ),
    ),
    origin: maybe(
      object(
        { issuer: text("The address of the provider"), subject: text("Id of the user there") },
        "The identity at another provider",
      ),
    ),
    social: maybe(
      object(
        {
          nickname: text("Name of the user there"),
          email: text("The e-mail address there"),
          isEmailVerified: flag("Whether the provider says that the address is the user's"),
          updatedAt: seconds("When the provider gave it"),
        },
        "The profile that another provider gave last",
      ),
    ),
    ban: maybe(
      object(
        { reason: text("Why"), until: seconds("When it ends; null: it lasts until it is lifted") },
        "A ban by an operator",
      ),
    ),
    mergedInto: optionalText("The user whom this one was merged into"),
    isRetired: maybe(flag("True while the user is being removed")),
  }),
);

const session = formatOf<Session>()(
  v.object({
    sid: text("Id of the session"),
    userId: text("Id of the user"),
    deviceId: text("Id of the device"),
    counter: number("Number of renewals"),
    rotatedAt: ms("When it was renewed last"),
    isConfirmed: flag("Whether the app has used the last renewal"),
    createdAt: ms("When the user logged in"),
    lastSeen: ms("When it was last used"),
    authenticatedAt: ms("When the user last proved who they are"),
    expiresAt: ms("When it ends in any case"),
    userAgent: text("The browser or app, as it names itself"),
    addressTag: text(
      "The network of the login: the first three parts of an address (IPv4), or its first half (IPv6)",
    ),
  }),
);

type ShownProfile = Omit<ProfileRecord, "customFields"> & {
  readonly customFields: Readonly<Record<string, unknown>>;
};

/** What a user record of the sign-up has, while the user exists or after the removal. */
type SignUp = Partial<Account> & {
  readonly projectId: string;
  readonly namedAt?: number;
  readonly removedAt: number | null;
};

const formats: Readonly<Record<string, RecordFormat>> = {
  account,
  session,
  trail,
  projectTrail: trail,
  mergedInto: formatOf<string>()(text("Id of the user")),
  mergedUser: formatOf<string>()(text("Id of the user")),
  ...loyaltyFormats,
  profile: formatOf<ShownProfile>()(
    v.object({
      displayName: v.nullable(text("Name that others see; null: that of the sign-up")),
      preferences: values("Settings of the user in the app"),
      customFields: values("Fields that the club keeps about the user"),
      createdAt: ms("When it was first written"),
      updatedAt: ms("When it was last changed"),
      version: number("Number of changes"),
    }),
  ),
  signUp: formatOf<SignUp>()(
    v.object({
      projectId: text("The project of the sign-up"),
      provider: optionalText("How the user signs in"),
      name: optionalText("Name of the sign-up"),
      createdAt: maybe(ms("When the user signed up")),
      namedAt: maybe(ms("When the name was noted")),
      removedAt: ms("When the user was removed; null: the user was not"),
    }),
  ),
  score: formatOf<RecordedStanding>()(
    v.object({
      eventId: v.nullable(text("The event of the board; null for a board of the project")),
      leaderboardId: text("Id of the board"),
      season: text("The season of the score; empty for boards without seasons"),
      score: number("The score, in the unit of the board"),
    }),
  ),
  hidden: formatOf<HiddenUser>()(
    v.object({ userId: text("Id of the user"), since: seconds("When an operator hid the user") }),
  ),
  deadAction: formatOf<DeadAction>()(
    v.object({
      id: text("Id of the failure"),
      action: object(
        {
          organisationId: text("Id of the organisation"),
          spaceId: text("Id of the space"),
          userId: text("Id of the user"),
          action: text("Name of the action"),
          data: values("Data that the back end sent"),
          projectId: optionalText("The project of the user, as the back end names it"),
          actionId: text("Id under which it was reported"),
          at: ms("When it happened"),
          metadata: maybe(values("Notes of the back end")),
        },
        "The action as the back end reported it",
      ),
      reason: object(
        { code: text("The reason as a word"), message: text("The reason as a sentence") },
        "Why it could not take effect",
      ),
      attempts: number("Number of attempts"),
      at: ms("When the last attempt failed"),
    }),
  ),
};

/** Returns the descriptions of the members of a kind; undefined for records that are texts, and for those that no copy has. */
export function membersOf(kind: string): Readonly<Record<string, string>> | undefined {
  return formats[kind]?.members;
}

/** Returns the data of a record with its times as texts. */
export function shownData(kind: string, data: unknown): unknown {
  return withTimeTexts(data, formats[kind]?.times);
}

/** Returns the schemas of the data by kind of record. */
export function dataSchemas(): Readonly<Record<string, v.GenericSchema>> {
  return Object.fromEntries(Object.entries(formats).map(([kind, { schema }]) => [kind, schema]));
}
