/**
 * Webhooks in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import { idField, nonEmptyListOf } from "./fields.ts";

/** Longest address of a webhook, in characters. */
export const webhookUrlCharactersMax = 1_024;

/** The names of all events that a webhook can ask for: every type of transaction, and what areas announce. */
export const webhookEvents = [
  "actionRewarded",
  "missionCompleted",
  "challengeStarted",
  "challengeCompleted",
  "challengeFailed",
  "milestoneReached",
  "couponReceived",
  "pointsExpired",
  "pointsActivated",
  "rewardGranted",
  "adjusted",
  "reversed",
  "redeemed",
  "redemptionConfirmed",
  "redemptionRejected",
  "redemptionCompleted",
  "redemptionRefunded",
  "exportCompleted",
  "exportFailed",
] as const;

/** Where transactions are told to another system. What signs the messages is never part of a configuration. */
export interface WebhookDefinition {
  readonly id: string;
  /** `https`, or `http` on the machine itself. */
  readonly url: string;
  /** Some of {@linkcode webhookEvents}. */
  readonly events: readonly string[];
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && loopback.test(hostname));
}

/** A webhook. */
export const WebhookDefinitionSchema: v.GenericSchema<unknown, WebhookDefinition> = v.strictObject({
  id: idField,
  url: v.pipe(
    v.string(),
    v.maxLength(webhookUrlCharactersMax),
    v.check(isAddress, "Expected an https address without credentials, or http on the machine itself"),
  ),
  events: nonEmptyListOf(v.picklist(webhookEvents)),
});
