/**
 * Webhooks in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import { idField, partsOf } from "./config_fields.ts";

/** Longest address of a webhook, in characters. */
export const webhookUrlCharactersMax = 1_024;

/** Where transactions are told to another system. What signs the messages is never part of a configuration. */
export interface Webhook {
  readonly id: string;
  /** `https`, or `http` on the machine itself. */
  readonly url: string;
  /** Types of transactions. */
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
export const WebhookSchema: v.GenericSchema<unknown, Webhook> = v.strictObject({
  id: idField,
  url: v.pipe(
    v.string(),
    v.maxLength(webhookUrlCharactersMax),
    v.check(isAddress, "Expected an https address without credentials, or http on the machine itself"),
  ),
  events: partsOf(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
});
