/** Error messages of refused commands. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { reversalCommand } from "../../../../lib/fans/loyalty/corrections.ts";
import { compileConfig } from "../../../../lib/fans/loyalty/mod.ts";
import { requireReportable } from "../../../../lib/fans/loyalty/report.ts";
import { emptyState } from "../../../../lib/fans/loyalty/user/state.ts";
import { base } from "./engine/_player.ts";

const compiled = compileConfig(base);

describe("a report that is refused", () => {
  const report = (action: string, isClientReport: boolean): (() => void) => {
    return () => requireReportable(compiled, { action, data: {}, isClientReport });
  };

  it("names the unknown action to a back end, and not to a fan", () => {
    assert.throws(report("nope", false), { code: "forbidden", message: /does not name it/ });
    assert.throws(report("nope", true), { code: "forbidden", message: /this caller may report/ });
    assert.throws(report("go", true), { code: "forbidden", message: /this caller may report/ });
    report("go", false)();
  });
});

describe("a reversal that is refused", () => {
  it("of a reversal names the alternative", () => {
    const payload = { metricChanges: {}, inventoryChanges: { received: [], lost: [] }, milestoneChanges: {} };
    const entry = { metricId: "points", type: "debit", amount: 1, balanceAfter: 0, status: "completed" };
    const transactions = [{ type: "reversed", payload, entries: [entry] }];
    const record = { kind: "reversal", at: 5, config: "1", reversalOf: "4-1", transactions };
    const { apply } = reversalCommand(compiled, { transactionId: "5-1", of: undefined }, 6);
    const log = [{ id: "5-1", at: 5, value: JSON.stringify(record) }];
    assert.throws(() => apply?.(emptyState(null), [log], {}), {
      code: "conflict",
      message: /give or take what the user is to have instead/,
    });
  });
});
