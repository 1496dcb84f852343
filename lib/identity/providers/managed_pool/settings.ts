/**
 * How a project sets up its managed pool: members of the section `identity` of its settings.
 *
 * @module
 */

import * as v from "valibot";
import type { Project, Settings } from "../../../directory/mod.ts";
import { AppError } from "../../../errors/mod.ts";

const SettingsSchema = v.object({
  registration: v.optional(v.picklist(["open", "closed"]), "open"),
  recoveryAuth: v.optional(v.picklist(["bearer", "optional"]), "bearer"),
  deviceCheck: v.optional(v.picklist(["any", "session"]), "any"),
});

/** The settings of a managed pool. */
export interface PoolSettings {
  /** Whether new users may register. @default "open" */
  readonly registration: "open" | "closed";
  /** Whether asking for a new password needs a client token or an access token. @default "bearer" */
  readonly recoveryAuth: "bearer" | "optional";
  /** Whether the check of a user must name the device of the session, or may name any. @default "any" */
  readonly deviceCheck: "any" | "session";
}

const parsed = new WeakMap<Settings, PoolSettings>();

/**
 * The settings of a project's pool, parsed once: the directory keeps the settings object for as long as it is unchanged.
 *
 * @throws {AppError} `internal_error`: the section is not valid.
 */
export function poolSettings({ settings }: Project): PoolSettings {
  const known = parsed.get(settings);
  if (known !== undefined) return known;
  const result = v.safeParse(SettingsSchema, settings.identity ?? {});
  if (!result.success) {
    throw new AppError("internal_error", "Cannot use the settings section identity as it is not valid", {
      cause: v.flatten(result.issues),
    });
  }
  parsed.set(settings, result.output);
  return result.output;
}
