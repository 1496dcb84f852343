/**
 * The application profile: an object whose members the client decides, within bounds.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../errors/mod.ts";
import { utf8Length } from "../../text/mod.ts";

/** Largest application profile, in UTF-8 bytes of its JSON text: 16 KiB. */
export const appProfileBytesMax = 16_384;
/** Deepest nesting of an application profile; the profile itself is the first level. */
export const appProfileDepthMax = 8;

/** An application profile. */
export type AppProfile = Readonly<Record<string, unknown>>;

/** Checks that a value is an object of bounded depth. Its size is checked by {@linkcode assertAppProfileFits}. */
export const AppProfileSchema: v.GenericSchema<AppProfile, AppProfile> = v.pipe(
  v.custom<AppProfile>(
    value => typeof value === "object" && value !== null && !Array.isArray(value),
    "Expected an object",
  ),
  v.check(
    profile => isShallow(profile, appProfileDepthMax),
    `Expected at most ${appProfileDepthMax} levels of objects and arrays`,
  ),
);

/** @throws {AppError} `payload_too_large`: the profile has more than {@linkcode appProfileBytesMax}. */
export function assertAppProfileFits(profile: AppProfile): void {
  const bytes = utf8Length(JSON.stringify(profile));
  if (bytes === undefined || bytes > appProfileBytesMax) {
    throw new AppError(
      "payload_too_large",
      `Cannot keep the appProfile as it is too large, at most ${appProfileBytesMax} bytes of JSON are kept`,
    );
  }
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every(member => isShallow(member, levels - 1));
}
