import type { GeoFile } from "../adapters/geo/mod.ts";
import type { Logger } from "../lib/http/mod.ts";
import type { Config } from "./config.ts";

/** Opens the country database that the settings name; the adapter is loaded only where one is named. */
export async function openGeo({ geoip }: Config, logger: Logger): Promise<GeoFile | null> {
  if (geoip === undefined) return null;
  const { openGeoFile } = await import("../adapters/geo/mod.ts");
  return await openGeoFile(geoip, {
    onReload: ({ type, builtAt }) =>
      logger.log("info", "geo_database_reloaded", { type, builtAt: new Date(builtAt).toISOString() }),
    onRefuse: error => logger.log("error", "geo_database_refused", { error: String(error) }),
  });
}
