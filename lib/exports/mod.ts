/**
 * Exports of users: jobs that survive their process, files in parts, links that expire.
 *
 * @module
 */

export { type AttendOptions, exportPauseMs, exportTriesMax } from "./attend.ts";
export { exportPageUsers, exportUsersMax } from "./build.ts";
export { capabilityCharactersMax, downloadMs } from "./capability.ts";
export { downloadLimit, downloadRoutes } from "./download_routes.ts";
export {
  createExports,
  downloadPath,
  type ExportOptions,
  type ExportOrder,
  type Exports,
  type ExportsOptions,
  exportFileMs,
  exportIntervalMsDefault,
  exportTtlMsDefault,
} from "./exports.ts";
export { exportLeaseMs } from "./held_job.ts";
export type { ExportJob, ExportNotice, ExportRequest } from "./job.ts";
export { openExportsMaxDefault } from "./jobs.ts";
export { messagePauseMs, messageTriesMax } from "./messages.ts";
export { partBytesMin } from "./part_writer.ts";
export { type ExportCaller, type ExportRoutesContext, exportRoutes } from "./routes.ts";
export { serviceUrlCharactersMax } from "./service_address.ts";
export { exportFaults } from "./settings.ts";
export type { CompiledSource, ExportCriteria, ExportSource, SourcePage } from "./source.ts";
export { trailEntriesMax } from "./trail.ts";
export { createPause, type Pause } from "./turns.ts";
