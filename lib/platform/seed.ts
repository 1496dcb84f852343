import { AppError, type FieldError } from "../base/errors/mod.ts";
import { audienceSettingsErrors } from "../fans/audience/profile/custom_fields.ts";
import type { Seed, SeedOptions } from "../fans/directory/mod.ts";
import { checkSeed, seedDirectory } from "../fans/directory/seed.ts";
import { exportFaults } from "../fans/exports/jobs/settings.ts";
import { identityFaults, spaceIssuerFaults } from "../fans/identity/settings.ts";
import { boardFaults } from "../fans/leaderboards/settings/board_settings.ts";
import { locationFaults } from "../fans/location/location.ts";
import { compileConfig } from "../fans/loyalty/mod.ts";
import type { Store } from "../storage/mod.ts";

/**
 * Creates or replaces every record of the document, including loyalty configurations, leaderboards and export settings.
 * Other records stay.
 *
 * @throws {AppError} `validation_failed` with the pointer of every fault: nothing was written. `conflict`: another space has
 * a domain of the document.
 */
export async function seedPlatform(store: Store, document: Seed, options: SeedOptions = {}): Promise<void> {
  checkPlatformSeed(document);
  await seedDirectory(store, document, options);
}

/**
 * Checks a document as far as that goes without the store.
 *
 * @throws {AppError} `validation_failed` with the pointer of every fault.
 */
export function checkPlatformSeed(document: Seed): void {
  // The checks below rely on the shape of the document.
  checkSeed(document);
  for (const [spaceId, loyalty] of Object.entries(document.loyalty ?? {})) checkLoyalty(spaceId, loyalty);
  checkSettings(document);
}

export function settingsFaults(
  kind: "organisation" | "space" | "project" | "event",
  settings: Readonly<Record<string, unknown>>,
  pointer: string,
): readonly FieldError[] {
  switch (kind) {
    case "organisation":
      return [...audienceSettingsErrors(settings, pointer), ...exportFaults(settings, pointer)];
    case "space":
      return spaceIssuerFaults(settings, pointer);
    case "project":
      return [
        ...boardFaults(settings, pointer),
        ...identityFaults(settings, pointer),
        ...locationFaults(settings, pointer),
      ];
    case "event":
      return [...boardFaults(settings, pointer), ...locationFaults(settings, pointer)];
  }
}

function checkSettings({ organisations, spaces, projects, events }: Seed): void {
  const lists = [
    ["organisations", "organisation", organisations],
    ["spaces", "space", spaces],
    ["projects", "project", projects],
    ["events", "event", events],
  ] as const;
  const fields = lists.flatMap(([list, kind, owners]) =>
    owners.flatMap(({ settings = {} }, index) =>
      settingsFaults(kind, settings, `/${list}/${index}/settings`),
    ),
  );
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot seed the directory as its settings are not valid", {
    fields,
  });
}

function checkLoyalty(spaceId: string, loyalty: unknown): void {
  try {
    compileConfig(loyalty);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const fields = (error.fields ?? []).map(({ pointer, detail }) => ({
      pointer: `/loyalty/${spaceId}${pointer}`,
      detail,
    }));
    throw new AppError(error.code, error.message, { cause: error, fields });
  }
}
