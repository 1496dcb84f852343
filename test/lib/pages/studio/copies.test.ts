/** Elements made anew in one step: how many there may be, and what becomes of times that have passed. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { additionsOf, withoutPassedTimes } from "../../../../lib/pages/studio/page/plan/copies.ts";
import type { Operation } from "../../../../lib/pages/studio/page/undo.ts";

const elements = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    id: `n${index}`,
    attributes: { content_type: "poll", name: `n${index}` },
    parent: null,
    isPublished: false,
  }));

describe("elements made anew in one step", () => {
  it("are 500 at most, and more are refused before anything is sent", async () => {
    assert.equal((await additionsOf("e", elements(500))).operations.length, 500);
    await assert.rejects(additionsOf("e", elements(501)), /at most 500 changes, and all of them or none/);
  });

  it("are taken by hand where their time has passed meanwhile", () => {
    const at = (id: string, start_offset: number): Operation => ({
      op: "update",
      data: { type: "elements", id, attributes: { start_mode: "timecode", start_offset } },
    });
    const hasPassed = (offset: unknown): boolean => Number(offset) < 60;
    const rundown = {
      byHandIfPassed: <A extends Readonly<Record<string, unknown>>>(attributes: A): A =>
        hasPassed(attributes.start_offset) ? { ...attributes, start_mode: "manual" } : attributes,
    };
    const order: Operation = { op: "update", ref: { type: "events", id: "e" }, data: [] };
    const { operations, note } = withoutPassedTimes(rundown, [at("1", 30), at("2", 90), order]);
    const byHand = { type: "elements", id: "1", attributes: { start_mode: "manual", start_offset: 30 } };
    assert.deepEqual(operations, [{ op: "update", data: byHand }, at("2", 90), order]);
    assert.equal(note, "By hand now, as its time has passed: 1.");
    assert.equal(withoutPassedTimes(rundown, [at("2", 90)]).note, "");
  });
});
