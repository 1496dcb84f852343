/**
 * Notifications in a loyalty configuration.
 *
 * @module
 */

import * as v from "valibot";
import type { Duration } from "../../calendar/mod.ts";
import { durationField } from "./fields.ts";

/** How long notifications last. */
export interface NotificationPolicy {
  /** From then on, read or not, a user does not have the notification any more. */
  readonly keepFor: Duration;
}

/** How long a notification lasts where the configuration does not say. */
export const keepForDefault: Duration = { days: 30 };

/** The policy of a space's notifications. */
export const NotificationPolicySchema: v.GenericSchema<unknown, NotificationPolicy> = v.optional(
  v.strictObject({ keepFor: v.optional(durationField, keepForDefault) }),
  { keepFor: keepForDefault },
);
