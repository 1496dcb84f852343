/**
 * Reads addresses that callers name: specifications of apps, files.
 *
 * ```ts
 * const platform = await createPlatform({ store, secret, outbound: createOutbound() });
 * ```
 *
 * @module
 */

export {
  type Outbound,
  type OutboundAnswer,
  OutboundError,
  type OutboundFault,
  type OutboundPost,
  type OutboundReply,
  type OutboundRequest,
} from "../../lib/base/outbound/outbound.ts";
export { createOutbound, type OutboundOptions } from "./outbound.ts";
export type { HostAddress, Resolve } from "./targets.ts";
