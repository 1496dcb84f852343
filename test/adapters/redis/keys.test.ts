import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { awkwardNames } from "../../../adapters/conformance/limits.ts";
import { KeySpace, keyOf } from "../../../adapters/redis/keys.ts";
import { createRedisStore } from "../../../adapters/redis/mod.ts";

/** The hash tag as Redis finds it: between the first `{` and the next `}`. */
function tagOf(key: string): string | undefined {
  return /^[^{]*\{([^}]+)\}/.exec(key)?.[1];
}

describe("the keys of a partition", () => {
  it("have the escaped partition as their hash tag, whatever the key is called", () => {
    const space = new KeySpace();
    const tags = awkwardNames.map(partition => {
      const root = space.root(partition);
      const found = new Set(awkwardNames.map(name => tagOf(keyOf(root, "r", name))));
      assert.equal(found.size, 1, partition);
      return [...found][0];
    });
    assert.ok(tags.every(tag => tag !== undefined && !/[{}]/.test(tag)));
    assert.equal(new Set(tags).size, awkwardNames.length, "two partitions share a tag");
  });

  it("differ between the kinds of state", () => {
    const root = new KeySpace("app:").root("a{b}%");
    assert.equal(keyOf(root, "r", "k"), "app:{a%7Bb%7D%25}rk");
    assert.notEqual(keyOf(root, "b", "k"), keyOf(root, "m", "k"));
  });

  it("cannot have a prefix that would move the tag", () => {
    assert.throws(() => new KeySpace("a{b}"), TypeError);
    assert.throws(() => createRedisStore({ server: "redis://127.0.0.1:1", prefix: "}" }), TypeError);
  });

  it("cannot be asked of anything but Redis", () => {
    for (const server of ["http://127.0.0.1", "127.0.0.1:6379", "", "redis://a,http://b"]) {
      assert.throws(() => createRedisStore({ server }), TypeError, server);
    }
  });
});
