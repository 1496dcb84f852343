/** The capacity plan follows from its own costs. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { needs, profile } from "../bench/capacity/forecast.ts";
import { needsTable, readCosts, withoutPadding } from "../bench/capacity/tables.ts";

const plan = readFileSync(new URL("../../runtime/CAPACITY.md", import.meta.url), "utf8");

describe("the capacity plan", () => {
  it("shows what follows from the costs that it shows", () => {
    assert.ok(withoutPadding(plan).includes(needsTable(readCosts(plan))));
  });

  it("states the formula that is used", () => {
    const { each } = readCosts(plan);
    const { counts, peak, seconds, listeners, utilisation } = profile;
    const perFan = Object.entries(counts).reduce(
      (sum, [name, count]) => sum + count * each[name as keyof typeof counts].serverMs,
      0,
    );
    const fans = 10_000_000;
    const ms = ((fans * peak) / seconds) * perFan + fans * listeners * each.message.serverMs;
    assert.equal(needs(readCosts(plan), fans).serversByProcessor, Math.ceil(ms / 1_000 / utilisation));
  });
});
