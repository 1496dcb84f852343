/** The order of what comes next in a show. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { firstByClock, type Item, inOrderOfTime } from "../../../../lib/pages/studio/page/run/rundown.ts";

function element(id: string, at: number | null, parent: string | null = null): Item {
  const time = at === null ? { start_mode: "manual", start_offset: 0 } : { start_mode: "timecode" };
  return { id, parent, etag: "", attributes: { ...time, ...(at !== null && { start_offset: at }) } };
}
const idsOf = (items: readonly Item[]): string => items.map(({ id }) => id).join(" ");

describe("what comes next", () => {
  it("is in the order of time, then what is taken by hand in the order of the show", () => {
    const items = [element("byHand", null), element("late", 90), element("last", null), element("soon", 0)];
    assert.equal(idsOf(inOrderOfTime(items)), "soon late byHand last");
    assert.equal(firstByClock(items)?.id, "soon");
    assert.equal(firstByClock([element("byHand", null)]), null);
  });

  it("keeps what is inside a wrapper behind it, whatever its own time", () => {
    const items = [
      element("group", null),
      element("inside", 30, "group"),
      element("rail", 60),
      element("first", 90, "rail"),
      element("second", null, "rail"),
      element("same", 60),
      element("alone", 45, "on air"),
    ];
    assert.equal(idsOf(inOrderOfTime(items)), "alone rail first second same group inside");
    assert.equal(firstByClock(items)?.id, "inside", "the clock shows it without its group");
  });
});
