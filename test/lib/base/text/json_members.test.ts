import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import { JsonMembers } from "../../../../lib/base/text/mod.ts";

const runs = 5_000;
const names = [
  "a",
  "ab",
  "b",
  "",
  "1",
  "metrics",
  '"',
  "\\",
  '\\"',
  "a:",
  "},",
  "～😀",
  "__proto__",
  "toString",
];
const texts = ["", '"', "\\", '\\"', '\\\\"', "{", "]", ",", ":", '","a":1,"', "\n", "～😀", "\ud800"];

function value(random: Random, depth: number): unknown {
  const kind = random.integer(depth === 0 ? 4 : 6);
  if (kind === 0) return random.pick(texts) + random.pick(texts);
  if (kind === 1) return random.pick([0, -1, 1.5, 1e21, 1e-7, 1_700_000_000_000]);
  if (kind === 2) return random.pick([true, false]);
  if (kind === 3) return null;
  if (kind === 4) return Array.from({ length: random.integer(4) }, () => value(random, depth - 1));
  return object(random, depth - 1);
}

function object(random: Random, depth: number): Record<string, unknown> {
  // From entries, because an assignment to `__proto__` is none of a member.
  return Object.fromEntries(
    Array.from({ length: random.integer(5) }, () => [random.pick(names), value(random, depth)]),
  );
}

function memberText(text: string, name: string): string | undefined {
  return new JsonMembers(text).text(name);
}

function memberValue(text: string, name: string): unknown {
  return new JsonMembers(text).value(name);
}

function own(from: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(from, name)?.value;
}

describe("members of stored objects", () => {
  it("are what parsing the whole text finds, however deep and awkward it is", () => {
    const random = createRandom(7);
    for (let run = 0; run < runs; run++) {
      const whole = object(random, 3);
      const text = JSON.stringify(whole);
      // Names that a text spells in another way than they are stand for themselves alone.
      for (const name of names.filter(one => JSON.stringify(one) === `"${one}"`)) {
        const expected = own(JSON.parse(text), name);
        assert.deepEqual(memberValue(text, name), expected, `${name} of ${text}`);
        assert.equal(memberText(text, name), JSON.stringify(expected), `${name} of ${text}`);
      }
    }
  });

  it("are found in texts with white space too", () => {
    const random = createRandom(8);
    for (let run = 0; run < runs / 10; run++) {
      const whole = object(random, 2);
      const text = JSON.stringify(whole, null, 2);
      for (const name of ["a", "ab", "metrics"]) {
        assert.deepEqual(memberValue(text, name), own(JSON.parse(text), name), `${name} of ${text}`);
      }
    }
    assert.equal(memberValue(' {"a" :1}', "a"), 1);
    assert.equal(memberValue('{"a": 1 ,"b":2}', "b"), 2);
    assert.equal(memberValue('{"a":1 }', "a"), 1);
  });

  it("are never found in a text that is cut off before they end", () => {
    const text = JSON.stringify({ first: '"', nested: { list: [1, { deep: "}" }] }, last: 17 });
    for (let length = 0; length < text.length; length++) {
      assert.throws(() => memberText(text.slice(0, length), "last"), SyntaxError, text.slice(0, length));
    }
  });

  it("are found in whatever order they are asked for, also again and again", () => {
    const random = createRandom(9);
    for (let run = 0; run < runs / 10; run++) {
      const text = JSON.stringify(object(random, 2));
      const members = new JsonMembers(text);
      for (let ask = 0; ask < 10; ask++) {
        const name = random.pick(["a", "ab", "b", "", "1", "metrics", "absent"]);
        assert.deepEqual(members.value(name), own(JSON.parse(text), name), `${name} of ${text}`);
      }
    }
  });

  it("do not ask what comes behind them", () => {
    assert.equal(memberText('{"first":1,"second":', "first"), "1");
  });
});
