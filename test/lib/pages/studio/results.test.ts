/** What the studio says of an element: its choices, its mean, and what nobody has written yet; and what people are called. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogueApp } from "../../../../lib/authoring/table/mod.ts";
import { fanName } from "../../../../lib/pages/studio/page/people/tenants.ts";
import {
  beginningsOf,
  choicesOf,
  meanOf,
  textsOfTemplate,
} from "../../../../lib/pages/studio/page/results.ts";
import { othersOf } from "../../../../lib/pages/studio/page/run/rundown.ts";

const field = (key: string, all: unknown) => ({ key, values: { all } });
const typeOf = (name: string) => {
  const found = catalogueApp("").elements.find(({ content_type: type }) => type === name);
  assert.ok(found);
  return found;
};

describe("fans without a name", () => {
  it("are guests with the beginning of their id", () => {
    assert.deepEqual(
      ["Ann", "", null].map(name => fanName(name, "9e7b1d54-3c28-4b6f-a1d5-70c4e8f2b933")),
      ["Ann", "Guest 9e7b1d54…", "Guest 9e7b1d54…"],
    );
    assert.equal(fanName(undefined, "fan-7"), "Guest fan-7");
  });
});

describe("colleagues", () => {
  it("are others, each once, and no other windows of the author", () => {
    const window = (userId: string, name: string) => ({ userId, name, cued: null });
    const present = [window("1", "Sam"), window("2", "Vi"), window("2", "Vi"), window("1", "Sam")];
    assert.deepEqual(othersOf(present, "1"), ["Vi"]);
    assert.deepEqual(othersOf(present, null), [], "nobody knows yet who the author is");
  });
});

describe("results of elements", () => {
  it("take the marks of a rating for its options, with their labels, and have a mean", () => {
    const rating = { content_type: "rating", custom_fields: [field("scale", 3), field("labels", ["bad"])] };
    assert.deepEqual(choicesOf(rating), ["1, bad", "2", "3"]);
    assert.equal(choicesOf({ content_type: "rating" }).length, 5);
    assert.equal(meanOf(rating, [1, 0, 2]), 2.33);
    assert.equal(meanOf(rating, [0, 0]), null);
    assert.equal(meanOf({ content_type: "poll" }, [1, 2]), null);
  });
});

describe("templates of types", () => {
  it("are all offered where a type has several, and one needs no name", () => {
    const poll = typeOf("poll");
    assert.deepEqual(
      beginningsOf(poll).map(({ label }) => label),
      ["Poll"],
    );
    const more = {
      ...poll,
      templates: [...(poll.templates ?? []), { name: "derby", data: { duration: 60 } }],
    };
    assert.deepEqual(
      beginningsOf(more).map(({ label }) => label),
      ["Poll: Who wins?", "Poll: derby"],
    );
    assert.deepEqual(beginningsOf(more)[1]?.data, { duration: 60 });
    assert.deepEqual(beginningsOf(typeOf("media"))[0]?.data, {});
  });

  it("are noticed in elements until somebody writes another text", () => {
    for (const [name, texts] of [
      ["poll", ["question"]],
      ["cta", ["label", "url"]],
      ["message", ["title", "body"]],
      // What a board shows by default is right most often.
      ["leaderboard", []],
    ] as const) {
      const type = typeOf(name);
      const { data } = type.templates?.[0] ?? { data: {} };
      assert.deepEqual(textsOfTemplate(type, data), texts, name);
    }
    const own = { question: { fields: [field("question", "Who wins tonight?")] } };
    assert.deepEqual(textsOfTemplate(typeOf("poll"), own), []);
    assert.deepEqual(textsOfTemplate(undefined, own), []);
  });
});
