/**
 * Metrics that an organisation has indexed, as its settings declare them.
 *
 * ```json
 * { "audience": { "indexes": ["metrics.points"] } }
 * ```
 *
 * @module
 */

import * as v from "valibot";
import type { Directory, Settings } from "../directory/mod.ts";
import { chain } from "../http/mod.ts";

/** Most metrics that an organisation may have indexed. */
export const metricIndexesMax = 8;
/** Longest name of an index, in characters. */
export const indexNameCharactersMax = 128;

const prefix = "metrics.";
const detail = "Expected metrics. and the id of a metric";

/** The list of indexes in the settings. */
export const MetricIndexesSchema: v.GenericSchema<readonly string[]> = v.pipe(
  v.array(
    v.pipe(
      v.string(),
      v.maxLength(indexNameCharactersMax, detail),
      v.check(name => name.startsWith(prefix) && name.length > prefix.length, detail),
    ),
  ),
  v.maxLength(metricIndexesMax, `Expected at most ${metricIndexesMax} indexes`),
  v.check(names => new Set(names).size === names.length, "Expected each index once"),
);

const SectionSchema = v.object({ audience: v.object({ indexes: MetricIndexesSchema }) });
const none: readonly string[] = [];
const known = new WeakMap<Settings, readonly string[]>();

/** The ids of the metrics that settings declare as indexed; none where the section is not valid. */
export function declaredIndexes(settings: Settings | undefined): readonly string[] {
  if (settings === undefined) return none;
  const found = known.get(settings);
  if (found !== undefined) return found;
  const parsed = v.safeParse(SectionSchema, settings);
  const ids = parsed.success ? parsed.output.audience.indexes.map(name => name.slice(prefix.length)) : none;
  known.set(settings, ids);
  return ids;
}

/** The ids of the metrics that an organisation has indexed; no promise while its settings are fresh. */
export function metricIndexesOf(
  directory: Pick<Directory, "organisation">,
  organisationId: string,
): readonly string[] | Promise<readonly string[]> {
  return chain(directory.organisation(organisationId), found => declaredIndexes(found?.settings));
}
