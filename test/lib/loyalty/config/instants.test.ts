import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { ChallengeSchema } from "../../../../lib/loyalty/config/challenges.ts";
import { ProductSchema } from "../../../../lib/loyalty/config/products.ts";
import { ruleTimeFields } from "../../../../lib/loyalty/config/rule_times.ts";

const ms = 1_760_000_000_000;

describe("an instant of the configuration", () => {
  it("is refused in milliseconds by rules, challenges and products alike", () => {
    const id = "0e000000-0000-4000-8000-000000000021";
    const missions = [{ id, title: "", rule: { action: "buy" } }];
    const challenge = (time: object): object => ({ id, title: "", missions, time });
    const detailsOf = (schema: v.GenericSchema, input: unknown): string[] =>
      v.safeParse(schema, input).issues?.map(({ message }) => message) ?? [];
    const expected = ["Expected Unix seconds, not milliseconds"];
    assert.deepEqual(detailsOf(v.object(ruleTimeFields), { time: { from: ms } }).slice(0, 1), expected);
    assert.deepEqual(detailsOf(ChallengeSchema, challenge({ from: ms })).slice(0, 1), expected);
    assert.ok(detailsOf(ProductSchema, { availableFrom: ms }).includes(expected[0] ?? ""));
    assert.deepEqual(detailsOf(ChallengeSchema, challenge({ from: 20, to: 10 })), [
      "Expected time.from before time.to",
    ]);
    assert.deepEqual(detailsOf(ChallengeSchema, challenge({ from: 10, to: 20 })), []);
  });
});
