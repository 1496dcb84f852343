/**
 * Actions that tell whether they took effect exactly once and in order: each user's are numbered, every one adds one to
 * `count`, and one that finds as many before it as its number says adds one to `ordered`.
 */

import type { Seed } from "../../../../../lib/fans/directory/mod.ts";
import { ids, seed } from "../../../../support/platform.ts";

const one = (metricId: string): readonly object[] => [{ type: "metric", metricId, metricQuantity: 1 }];

/** The rules. */
export const orderedLoyalty: object = {
  metrics: [
    { id: "count", title: "All" },
    { id: "ordered", title: "In order" },
  ],
  actions: [{ name: "step", data: { n: "number" } }],
  rules: [
    { id: "count", trigger: { action: "step" }, effects: one("count") },
    {
      id: "ordered",
      trigger: { action: "step" },
      when: { eq: [{ var: "data.n" }, { var: "user.metrics.count" }] },
      effects: one("ordered"),
    },
  ],
};

/** A directory whose space has these rules. */
export const orderedSeed: Seed = { ...seed, loyalty: { [ids.space]: orderedLoyalty } };
