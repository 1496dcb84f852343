/**
 * Webhooks in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import { isLoopback } from "../../../base/text/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import { idField, nonEmptyListOf } from "./fields.ts";

const urlCharactersMax = 1_024;

/** The types of the transactions in the history of a user. */
export const transactionTypes = [
  "actionRewarded",
  "missionCompleted",
  "challengeStarted",
  "challengeCompleted",
  "challengeFailed",
  "milestoneReached",
  "milestoneLost",
  "couponReceived",
  "pointsExpired",
  "pointsExpiring",
  "pointsActivated",
  "rewardGranted",
  "rewardRefused",
  "adjusted",
  "reversed",
  "redeemed",
  "redemptionConfirmed",
  "redemptionRejected",
  "redemptionCompleted",
  "redemptionRefunded",
] as const;

/** The events that a webhook can subscribe to: every type of transaction, the ends of exports, and pools that run out of codes. */
const webhookEvents = [
  ...transactionTypes,
  "exportCompleted",
  "exportFailed",
  "codePoolLow",
  "codePoolEmpty",
] as const;

function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}

/** Schema of a webhook. The signing secret is never part of a configuration. */
export const WebhookDefinitionSchema = v.strictObject({
  id: idField,
  url: v.pipe(
    v.string(),
    v.maxLength(urlCharactersMax),
    v.check(isWebhookUrl, "Expected an https address without credentials, or http on the machine itself"),
  ),
  events: nonEmptyListOf<string>("WebhookEvents", v.picklist(webhookEvents)),
});

/** A service that receives transactions over HTTP. */
export type WebhookDefinition = Immutable<v.InferOutput<typeof WebhookDefinitionSchema>>;
