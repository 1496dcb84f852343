/**
 * Exports of users: jobs that survive their process, files in parts, links that expire.
 *
 * @module
 */

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
export { partBytesMin } from "./file/part_writer.ts";
export { capabilityCharactersMax, downloadMs } from "./http/capability.ts";
export { downloadLimit, downloadRoutes } from "./http/download_routes.ts";
export { type ExportCaller, type ExportRoutesContext, exportRoutes } from "./http/routes.ts";
export { exportPageUsers, exportUsersMax } from "./jobs/build.ts";
export { exportLeaseMs } from "./jobs/export_lease.ts";
export type { ExportJob, ExportNotice, ExportRequest } from "./jobs/job.ts";
export { openExportsMaxDefault } from "./jobs/jobs.ts";
export { messagePauseMs, messageTriesMax } from "./jobs/messages.ts";
export { type AttendOptions, exportPauseMs, exportTriesMax } from "./jobs/process_due_job.ts";
export { serviceUrlCharactersMax } from "./jobs/service_address.ts";
export { exportFaults } from "./jobs/settings.ts";
export type { CompiledSource, ExportCriteria, ExportSource, SourcePage } from "./jobs/source.ts";
export { trailEntriesMax } from "./jobs/trail.ts";
export { createPause, type Pause } from "./jobs/turns.ts";
