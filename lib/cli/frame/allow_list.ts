/** The allow-list of a profile: what its commands may change. It is a seat belt; the role decides. */

import { CliError, exits } from "./errors.ts";
import { kindOf, type Target } from "./kinds.ts";
import type { AllowEntry, Profile, Settings } from "./profile.ts";

/** Returns the entry that has one of some resources; null: none has. */
export function entryFor({ allow = [] }: Profile, targets: readonly Target[]): AllowEntry | null {
  const has = (entry: AllowEntry): boolean =>
    targets.some(({ kind, id }) => id === entry.id && kindOf(entry.kind) === kind);
  return allow.find(has) ?? null;
}

/** Creates the error for a change that the allow-list does not have; `target` is null where it names no resource. */
export function notAllowed({ profile, profileName }: Settings, target: Target | null): CliError {
  const isReadOnly = profile.allow?.length === 0;
  const named = target === null ? "what it is about" : `${target.kind} ${target.id}`;
  const entry =
    target === null
      ? "Name the space with --space"
      : `Its allow-list needs the entry {"kind": "${target.kind}", "id": "${target.id}"}, or one above it`;
  const message = isReadOnly ? "is read-only" : `may not change ${named}`;
  return new CliError(exits.forbidden, `Profile ${profileName} ${message}`, {
    code: "not_in_allow_list",
    hint: entry,
    next: `grandstand scope show --profile ${profileName}`,
  });
}
