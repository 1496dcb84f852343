/**
 * Rate limits: named policies, the header fields that tell of them, and counting that survives an outage of its counters.
 *
 * @module
 */

export { lateGraceMs, type Timer } from "./deadlines.ts";
export * from "./failover.ts";
export * from "./fields.ts";
export * from "./policies.ts";
