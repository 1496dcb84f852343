import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import {
  formatUuid,
  MemberSlab,
  MemberTable,
  parseUuid,
} from "../../../adapters/memory/board/member_table.ts";
import { Fenwick } from "../../../adapters/memory/board/order.ts";

const words = new Int32Array(4);

describe("packed UUIDs", () => {
  it("come back as the text they were made of", () => {
    const samples = Array.from({ length: 1_000 }, () => randomUUID());
    for (const text of [
      ...samples,
      "00000000-0000-0000-0000-000000000000",
      "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ]) {
      assert.equal(parseUuid(text, words), true);
      const [a = 0, b = 0, c = 0, d = 0] = words;
      assert.equal(formatUuid(a, b, c, d), text);
    }
  });

  it("are only made of the canonical lower-case form", () => {
    const text = "0123abcd-4567-89ef-8123-456789abcdef";
    assert.equal(parseUuid(text, words), true);
    const strange = ["A", "F", "g", "/", ":", "`", " ", "-", "\u0130", "\u00B0", "\u0430", "\uFF11"];
    for (let at = 0; at < text.length; at++) {
      for (const unit of strange.filter(unit => unit !== text[at])) {
        assert.equal(
          parseUuid(text.slice(0, at) + unit + text.slice(at + 1), words),
          false,
          `${unit} at ${at}`,
        );
      }
    }
    for (const other of ["", text.slice(1), `${text}0`, text.replaceAll("-", ""), `{${text}}`]) {
      assert.equal(parseUuid(other, words), false, other);
    }
  });
});

describe("a Fenwick tree", () => {
  it("sums and locates as a plain walk over the counts does", () => {
    const random = createRandom(3);
    for (const size of [1, 2, 3, 7, 8, 9, 100, 129]) {
      const counts = Int32Array.from({ length: size }, () => random.integer(5));
      const tree = new Fenwick();
      tree.rebuild(counts, size);
      for (let round = 0; round < 50; round++) {
        const block = random.integer(size);
        const by = random.integer(4) - Math.min(2, counts[block] ?? 0);
        counts[block] = (counts[block] ?? 0) + by;
        tree.add(block, by);
        assertSame(tree, counts);
      }
    }
  });

  function assertSame(tree: Fenwick, counts: Int32Array): void {
    const place = { block: 0, offset: 0 };
    let sum = 0;
    for (const [block, count] of counts.entries()) {
      assert.equal(tree.before(block), sum);
      for (let offset = 0; offset < count; offset++) {
        tree.locate(sum + offset, place);
        assert.deepEqual(place, { block, offset });
      }
      sum += count;
    }
  }
});

describe("a member table", () => {
  it("finds what is there and nothing else, over thousands of insertions and removals", () => {
    const random = createRandom(9);
    const slab = new MemberSlab();
    const table = new MemberTable(slab, 77);
    const slots = new Map<string, number>();
    const members = Array.from({ length: 12_000 }, (_, index) =>
      index % 3 === 0 ? `m${index}` : randomUUID(),
    );
    for (let step = 0; step < 60_000; step++) {
      const member = random.pick(members);
      const slot = table.find(member);
      assert.equal(slot, slots.get(member) ?? -1);
      if (slot < 0) {
        slots.set(member, table.insert(member));
      } else if (random.chance(0.4)) {
        table.remove(member);
        slots.delete(member);
      }
    }
    assert.equal(new Set(slots.values()).size, slots.size);
    for (const [member, slot] of slots) assert.equal(slab.member(slot), member);
    assert.ok(slab.used <= members.length);
  });
});
