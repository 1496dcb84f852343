/**
 * Replies with profiles.
 *
 * Stored JSON is copied without parsing it, and the text is kept as long as neither the record nor the loyalty changes: a batch
 * of 100 known profiles builds no JSON of profiles at all.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import * as v from "valibot";
import { base64url, utf8 } from "../../../auth/crypto/mod.ts";
import { isoTime, isoTimeOrNull } from "../../../base/calendar/mod.ts";
import { type Immutable, type JsonText, type JsonTextReply, jsonText, named } from "../../../http/mod.ts";
import type { Version } from "../../../storage/mod.ts";
import type { LoyaltySummary } from "../../loyalty/views/loyalty_reader.ts";
import { parseAccount } from "../../users/mod.ts";
import { challengeEntries, challengeHead, ProgressSchema, TimeSchema } from "../lists/documents.ts";
import { CustomValueSchema } from "../profile/custom_fields.ts";
import type { Profile } from "../profile/profiles.ts";
import { ProfileMembers, type ProfileRecord } from "../profile/record.ts";
import { replySchema } from "./replies.ts";

const number = v.number();
const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

export const ProfileSchema = named(
  "Profile",
  v.object({
    userId: text,
    displayName: v.nullable(text),
    preferences: v.record(text, v.unknown()),
    customFields: named("CustomFields", v.record(text, CustomValueSchema)),
    loyalty: v.object({
      metrics: v.record(text, number),
      balances: v.record(
        text,
        v.object({
          available: number,
          pending: number,
          expiringSoon: v.array(v.object({ amount: number, expiresAt: TimeSchema })),
          lifetimeEarned: number,
          lifetimeSpent: number,
        }),
      ),
      inventory: v.record(text, v.array(text)),
      tier: v.nullable(v.object({ id: text, name: text, progress: v.nullable(ProgressSchema) })),
    }),
    activeChallenges: v.pipe(
      v.array(v.object({ ...challengeEntries, endsAt: v.nullable(TimeSchema) })),
      v.description("Challenges with `showInProfile` that the user has begun and not finished"),
    ),
    unreadNotifications: count,
    createdAt: v.pipe(
      v.nullable(TimeSchema),
      v.description("When the user signed up or was first reported, as searches show it"),
    ),
    updatedAt: v.nullable(TimeSchema),
    version: v.pipe(count, v.description("Number of changes; 0 for a profile that was never stored")),
  }),
);

type ProfileDocument = v.InferOutput<typeof ProfileSchema>;

export const ProfileReplySchema = replySchema("ProfileReply", { data: ProfileSchema });

interface PrintedProfile {
  /** The versions of profile and account; null without one. */
  readonly version: Version | null;
  readonly accountVersion: Version | null;
  readonly createdAt: number | null;
  readonly text: JsonText<ProfileDocument>;
  /** Computed when it is first needed. */
  tag: string | null;
}

/** The last text of each summary: loyalty returns the same object as long as nothing changes. */
const printedProfiles = new WeakMap<LoyaltySummary, PrintedProfile>();

function printed(userId: string, profile: Profile): PrintedProfile {
  const version = profile.record?.version ?? null;
  const accountVersion = profile.account?.version ?? null;
  const cached = printedProfiles.get(profile.loyalty);
  const { createdAt } = profile;
  const isSame = cached?.version === version && cached.accountVersion === accountVersion;
  if (isSame && cached.createdAt === createdAt) return cached;
  const text = printProfile(userId, profile);
  const latest: PrintedProfile = { version, accountVersion, createdAt, text, tag: null };
  printedProfiles.set(profile.loyalty, latest);
  return latest;
}

export function profileJson(userId: string, profile: Profile): JsonText<ProfileDocument> {
  return printed(userId, profile).text;
}

const digestBytes = 12;

/**
 * Returns the entity tag of a profile: its version, which `If-Match` compares, and a digest of all that it shows, which
 * `If-None-Match` compares.
 */
export function profileTag(userId: string, profile: Profile): string {
  const cached = printed(userId, profile);
  if (cached.tag === null) {
    const version = new ProfileMembers(profile.record).text("version");
    cached.tag = `"v${version}-${base64url(sha256(utf8(cached.text)).subarray(0, digestBytes))}"`;
  }
  return cached.tag;
}

export function profileReply(
  userId: string,
  profile: Profile,
): JsonTextReply<200, v.InferOutput<typeof ProfileReplySchema>> {
  const text = `{"message":"OK","data":${profileJson(userId, profile)}}`;
  const etag = profileTag(userId, profile);
  return jsonText(text as JsonText<v.InferOutput<typeof ProfileReplySchema>>, { etag });
}

function printProfile(
  userId: string,
  { record, account, loyalty, createdAt }: Profile,
): JsonText<ProfileDocument> {
  const members = new ProfileMembers(record);
  const note = parseAccount(account);
  const ownName = members.text("displayName");
  const displayName = ownName === "null" ? JSON.stringify(note?.name || null) : ownName;
  const member = (name: keyof ProfileRecord): string => `"${name}":${members.text(name)}`;
  const time = (name: "createdAt" | "updatedAt"): string => {
    const own = members.text(name);
    const at = name === "createdAt" ? String(createdAt ?? note?.createdAt ?? own) : own;
    return `"${name}":${at === "null" ? at : `"${isoTime(Number(at))}"`}`;
  };
  // In the order of the record, in which members are found fastest.
  const text =
    `{"userId":${JSON.stringify(userId)},"displayName":${displayName},${member("preferences")},` +
    `${member("customFields")},${loyaltyMembers(loyalty)},${time("createdAt")},${time("updatedAt")},${member("version")}}`;
  return text as JsonText<ProfileDocument>;
}

function loyaltyMembers(overview: LoyaltySummary): string {
  const { metrics, inventory, tier, activeChallenges, unreadNotifications } = overview;
  const document: Immutable<Pick<ProfileDocument, "loyalty" | "activeChallenges" | "unreadNotifications">> = {
    loyalty: { metrics, balances: balancesOf(overview), inventory, tier },
    activeChallenges: activeChallenges.map(view => ({
      ...challengeHead(view),
      endsAt: isoTimeOrNull(view.endsAt),
    })),
    unreadNotifications,
  };
  return JSON.stringify(document).slice(1, -1);
}

function balancesOf({ balances }: LoyaltySummary): Immutable<ProfileDocument["loyalty"]["balances"]> {
  return Object.fromEntries(
    Object.entries(balances).map(([metricId, { expiringSoon, ...balance }]) => {
      const lots = expiringSoon.map(({ amount, expiresAt }) => ({ amount, expiresAt: isoTime(expiresAt) }));
      const { available, pending, lifetimeEarned, lifetimeSpent } = balance;
      return [metricId, { available, pending, expiringSoon: lots, lifetimeEarned, lifetimeSpent }];
    }),
  );
}
