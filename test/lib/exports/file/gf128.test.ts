/** The field of GHASH. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { it } from "node:test";
import {
  blockOf,
  type Element,
  elementOf,
  inverse,
  one,
  plus,
  power,
  times,
  zero,
} from "../../../../lib/exports/file/gf128.ts";

const random = (): Element => elementOf(randomBytes(16));

it("elements are blocks, and add up to nothing with themselves", () => {
  const block = randomBytes(16);
  assert.deepEqual(Buffer.from(blockOf(elementOf(block))), block);
  assert.deepEqual(plus(elementOf(block), elementOf(block)), zero);
});

it("products are those of the field", () => {
  // Test case 2 of the specification of GCM: H, the ciphertext block, and their product.
  const h = elementOf(Buffer.from("66e94bd4ef8a2c3b884cfa59ca342b2e", "hex"));
  const block = elementOf(Buffer.from("0388dace60b6a392f328c2b971b2fe78", "hex"));
  assert.equal(Buffer.from(blockOf(times(block, h))).toString("hex"), "5e2ec746917062882c85b0685353deb7");
});

it("products have the laws of a field", () => {
  for (let round = 0; round < 200; round++) {
    const [a, b, c] = [random(), random(), random()];
    assert.deepEqual(times(a, b), times(b, a));
    assert.deepEqual(times(times(a, b), c), times(a, times(b, c)));
    assert.deepEqual(times(a, plus(b, c)), plus(times(a, b), times(a, c)));
    assert.deepEqual(times(a, one), a);
    assert.deepEqual(times(a, zero), zero);
  }
});

it("powers are repeated products, and an inverse undoes its element", () => {
  const a = random();
  let product = one;
  for (let exponent = 0n; exponent < 40n; exponent++) {
    assert.deepEqual(power(a, exponent), product);
    product = times(product, a);
  }
  for (let round = 0; round < 5; round++) {
    const b = random();
    assert.deepEqual(times(b, inverse(b)), one);
  }
});
