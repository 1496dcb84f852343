/**
 * The audience API: what users see of themselves, and what back ends read and change of many at once.
 *
 * @module
 */

export type { AudienceContext } from "./context.ts";
export {
  type AudienceGuardOptions,
  type AudienceGuards,
  type AudienceUser,
  audienceGuards,
  type BackEnd,
  type BatchDemand,
  organisationHeader,
} from "./guards.ts";
export type { AudienceLoyalty, NotificationItem } from "./loyalty.ts";
export type { AudienceMember } from "./member.ts";
export { audienceRoutes } from "./routes.ts";
