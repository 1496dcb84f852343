/**
 * Exports of users: files that are built in the background, survive crashes, and are downloaded by links that expire.
 *
 * @module
 */

export type { FoundExport } from "./exports.ts";
export { type ExportOptions, Exports, type ExportsOptions, type NewExportRequest } from "./exports.ts";
export type { Hash } from "./file/mod.ts";
export { downloadRoutes } from "./http/download_routes.ts";
export { type ExportRoutesContext, exportRoutes } from "./http/routes.ts";
export type { ExportCaller, UserData } from "./http/user_data_routes.ts";
export type { ExportJob, TrailEntry } from "./jobs/job.ts";
