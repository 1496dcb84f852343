/** Two producers who change one element. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Path } from "../../../../lib/base/json/mod.ts";
import {
  type Attributes,
  merge,
  takeBack,
  valueAt,
  withValue,
} from "../../../../lib/pages/studio/page/editor/merge.ts";

const field = (key: string, values: object) => ({ key, values });
const option = (all: string, more: object = {}) => ({ fields: [field("text", { all, ...more })] });
const base: Attributes = {
  name: "year",
  duration: 30,
  correct_option: 1,
  custom_fields: [field("points", { all: 20 }), field("explanation", { all: "Because", de: "Darum" })],
  question: {
    fields: [field("question", { all: "When?" })],
    options: [option("1999"), option("2004"), option("2010")],
  },
  annotations: { notes: "smile" },
};
const text = (index: number, locale = "all"): Path => ["question", "options", index, "text", locale];
const moved = (...order: readonly number[]): Attributes => {
  const options = valueAt(base, ["question", "options"]) as readonly unknown[];
  return withValue(
    base,
    ["question", "options"],
    order.map(index => options[index]),
  );
};

describe("changes of two producers", () => {
  it("join where they are of other attributes, keys and languages, in any order", () => {
    const edits: readonly (readonly [Path, unknown])[] = [
      [["name"], "the year"],
      [["duration"], 45],
      [["custom_fields", "points", "all"], 30],
      [["custom_fields", "explanation", "de"], "Deshalb"],
      [["custom_fields", "explanation", "fr"], "Parce que"],
      [["custom_fields", "hint", "all"], "Think"],
      [["question", "fields", "question", "de"], "Wann?"],
      [text(1), "2005"],
      [text(2, "de"), "2010 n. Chr."],
      [["annotations", "notes"], "wait"],
      [["annotations", "camera"], "2"],
      [["correct_option"], 2],
    ];
    for (const [mineFirst, mine] of edits) {
      for (const [theirsFirst, theirs] of edits) {
        if (mineFirst === theirsFirst) continue;
        const merged = merge(base, withValue(base, mineFirst, mine), withValue(base, theirsFirst, theirs));
        assert.deepEqual(merged.conflicts, []);
        assert.deepEqual(merged.taken, [theirsFirst]);
        assert.deepEqual(valueAt(merged.attributes, mineFirst), mine, String(mineFirst));
        assert.deepEqual(valueAt(merged.attributes, theirsFirst), theirs, String(theirsFirst));
      }
      const alone = merge(base, withValue(base, mineFirst, mine), base);
      assert.deepEqual(alone, { attributes: withValue(base, mineFirst, mine), conflicts: [], taken: [] });
      const both = withValue(base, mineFirst, mine);
      assert.deepEqual(merge(base, both, both).conflicts, [], "the same change is no conflict");
      const rival = merge(base, withValue(base, mineFirst, mine), withValue(base, mineFirst, "theirs"));
      assert.deepEqual(rival.conflicts, [{ path: mineFirst, mine, theirs: "theirs" }]);
      assert.deepEqual(valueAt(rival.attributes, mineFirst), mine);
    }
  });

  it("remove a language that one removed and the other left alone", () => {
    const removed = withValue(base, ["custom_fields", "explanation", "de"], undefined);
    for (const merged of [merge(base, removed, base), merge(base, base, removed)])
      assert.deepEqual(merged.attributes, removed);
  });

  it("keep an order of options, and ask where the other changed options or the right one", () => {
    const order = moved(1, 0, 2);
    assert.deepEqual(merge(base, base, order).attributes, order);
    assert.deepEqual(merge(base, withValue(base, ["name"], "a"), order).conflicts, []);
    const edited = withValue(base, text(2), "2011");
    const conflict = merge(base, order, edited);
    assert.deepEqual(
      conflict.conflicts.map(({ path }) => path),
      [["question", "options"]],
    );
    const [{ theirs } = assert.fail()] = conflict.conflicts;
    assert.deepEqual(withValue(conflict.attributes, ["question", "options"], theirs), edited);
    const answered = withValue(base, ["correct_option"], 2);
    for (const [mine, others] of [
      [order, answered],
      [answered, order],
    ] as const) {
      const { conflicts, attributes } = merge(base, mine, others);
      assert.deepEqual(
        conflicts.map(({ path }) => path),
        [["correct_option"]],
      );
      assert.equal(attributes.correct_option, mine.correct_option);
    }
    assert.deepEqual(merge(base, base, withValue(order, ["correct_option"], 2)).conflicts, []);
  });

  it("add and remove options", () => {
    const options = valueAt(base, ["question", "options"]) as readonly unknown[];
    const more = withValue(base, ["question", "options"], [...options, option("2020")]);
    const fewer = moved(0, 1);
    assert.deepEqual(merge(base, base, more).attributes, more);
    assert.equal(merge(base, fewer, more).conflicts.length, 1);
  });

  it("hold for elements without a question", () => {
    const plain: Attributes = { name: "a", question: null, custom_fields: [field("body", { all: "x" })] };
    const asked = { ...plain, question: { fields: [], options: [] } };
    assert.deepEqual(merge(plain, plain, asked).attributes, asked);
    const begun = withValue(plain, ["question", "fields", "question", "all"], "Who?");
    assert.equal(valueAt(begun, ["question", "fields", "question", "all"]), "Who?");
    assert.deepEqual(merge(plain, begun, plain).attributes, begun);
    assert.deepEqual(merge(plain, { ...plain, name: "b" }, plain).attributes, { ...plain, name: "b" });
  });

  it("are taken back where nobody has changed the same since, and the rest is named", () => {
    const after = withValue(withValue(withValue(base, ["name"], "mine"), text(0), "1998"), ["duration"], 45);
    const now = withValue(withValue(after, ["name"], "theirs"), text(1), "2005");
    const { attributes, paths, overwritten } = takeBack(base, after, now);
    assert.deepEqual(attributes, withValue(withValue(base, ["name"], "theirs"), text(1), "2005"));
    assert.deepEqual(paths.map(String).toSorted(), ["duration", "question,options,0,text,all"]);
    assert.deepEqual(overwritten, [["name"]]);
    const longer = moved(0, 1, 2, 1);
    const again = takeBack(base, longer, withValue(longer, text(0), "1998"));
    assert.deepEqual([again.paths, again.overwritten], [[], [["question", "options"]]], "a list is one");
  });
});
