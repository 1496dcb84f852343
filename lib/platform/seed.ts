import { audienceSettingsErrors } from "../audience/mod.ts";
import { checkSeed, type Seed, type SeedOptions, seedDirectory } from "../directory/mod.ts";
import { AppError, type FieldError } from "../errors/mod.ts";
import { exportFaults } from "../exports/mod.ts";
import { identityFaults, spaceIssuerFaults } from "../identity/mod.ts";
import { boardFaults } from "../leaderboards/mod.ts";
import { locationFaults } from "../location/mod.ts";
import { compileConfig } from "../loyalty/mod.ts";
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
  checkBoards(document);
  checkCustomFields(document);
  checkExports(document);
  checkIdentity(document);
}

/** Returns the faults of the settings of areas in a record of the directory, with their pointers. */
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

function checkBoards({ projects, events }: Seed): void {
  const lists = { projects, events };
  const fields = Object.entries(lists).flatMap(([list, owners]) =>
    owners.flatMap(({ settings = {} }, index) => boardFaults(settings, `/${list}/${index}/settings`)),
  );
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot seed the leaderboards as they are not valid", { fields });
}

function checkCustomFields({ organisations }: Seed): void {
  const fields = organisations.flatMap(({ settings = {} }, index) =>
    audienceSettingsErrors(settings, `/organisations/${index}/settings`),
  );
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot seed the custom fields as they are not valid", { fields });
}

function checkExports({ organisations }: Seed): void {
  const fields = organisations.flatMap(({ settings }, index) =>
    exportFaults(settings, `/organisations/${index}/settings`),
  );
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot seed the settings of exports as they are not valid", {
    fields,
  });
}

function checkIdentity({ projects, spaces }: Seed): void {
  const fields = [
    ...projects.flatMap(({ settings = {} }, index) =>
      identityFaults(settings, `/projects/${index}/settings`),
    ),
    ...spaces.flatMap(({ settings = {} }, index) => spaceIssuerFaults(settings, `/spaces/${index}/settings`)),
  ];
  if (fields.length === 0) return;
  throw new AppError("validation_failed", "Cannot seed the identity settings as they are not valid", {
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
