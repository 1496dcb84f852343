/**
 * Warnings about pools that run out of codes: a log line, which counts as a metric, and an event for webhooks. A process repeats each
 * once an hour while codes are asked for.
 *
 * @module
 */

import { jsonPointer } from "../../../base/errors/mod.ts";
import type { Announcer } from "../../../base/outbound/outbound.ts";
import { Cache } from "../../../storage/background/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import type { CodePoolServices } from "./code_pools.ts";

const warned = { entriesMax: 1_000, maxAgeMs: 60 * 60 * 1_000 };

/** Warnings of pools. */
interface FillWarnings {
  readonly onLow: CodePoolServices["onLow"];
  /** Resolves once webhooks know of all warnings. */
  idle(): Promise<void>;
}

/** Creates the warnings of pools. */
export function createFillWarnings({
  logger,
  clock,
  webhooks,
}: Pick<LoyaltyServices, "logger" | "clock"> & { readonly webhooks: Announcer }): FillWarnings {
  const recent = new Cache<true>({ ...warned, clock });
  const announced = new Set<Promise<void>>();
  const onLow: CodePoolServices["onLow"] = ({ organisationId, spaceId, poolId }, fill) => {
    const event = fill.available === 0 ? "codePoolEmpty" : "codePoolLow";
    const name = jsonPointer(spaceId, poolId, event);
    if (recent.get(name) !== undefined) return;
    recent.set(name, true);
    const data = { spaceId, poolId, ...fill };
    logger.log("warn", fill.available === 0 ? "code_pool_empty" : "code_pool_low", data);
    // Receivers know a repetition by its id, which changes when codes are added.
    const id = `${event}:${poolId}:${fill.total}`;
    const announcement = webhooks
      .announce({
        organisationId,
        spaceId,
        area: "loyalty",
        id,
        event,
        at: clock(),
        data: { organisationId, ...data },
      })
      .catch((error: unknown) =>
        logger.log("warn", "code_pool_announcement_failed", { poolId, error: String(error) }),
      )
      .finally(() => announced.delete(announcement));
    announced.add(announcement);
  };
  return { onLow, idle: async () => void (await Promise.all(announced)) };
}
