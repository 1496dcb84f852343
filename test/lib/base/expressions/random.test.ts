/** Random conditions on random scopes, compared with a naive reading of the language. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { compileCondition, compileExplanation, compileNumber } from "../../../../lib/base/expressions/mod.ts";
import { environment } from "./_environment.ts";
import { randomCondition, randomScope } from "./_generator.ts";
import { naiveHolds, naiveValue } from "./_naive.ts";

const seeds = 4_000;
const scopesPerCondition = 5;
const depth = 3;

/** Runs a check on every condition and scope. */
function forRandomCases(check: (source: object, random: Random, message: string) => void): void {
  for (let seed = 1; seed <= seeds; seed++) {
    const random = createRandom(seed);
    const source = randomCondition(random, depth);
    check(source, random, `seed ${seed}: ${JSON.stringify(source)}`);
  }
}

/** Returns the target of a JSON Pointer; undefined where there is nothing. */
function at(document: unknown, pointer: string): unknown {
  const tokens = pointer.split("/").slice(1);
  return tokens.reduce<unknown>((part, token) => {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    return Object.entries(part ?? {}).find(([key]) => key === name)?.[1];
  }, document);
}

describe("random conditions", () => {
  it("hold exactly where a naive reading says so", () => {
    let held = 0;
    forRandomCases((source, random, message) => {
      const condition = compileCondition(source, environment);
      for (let run = 0; run < scopesPerCondition; run++) {
        const scope = randomScope(random);
        const expected = naiveHolds(source, scope);
        assert.equal(condition(scope), expected, `${message} on ${JSON.stringify(scope)}`);
        if (expected) held += 1;
      }
    });
    const share = held / (seeds * scopesPerCondition);
    assert.ok(share > 0.3 && share < 0.7, `${share} of them held, so that one side was hardly tested`);
  });

  it("are explained by nothing exactly where they hold, and otherwise by comparisons that decide them", () => {
    forRandomCases((source, random, message) => {
      const explanation = compileExplanation(source, environment);
      for (let run = 0; run < scopesPerCondition; run++) {
        const scope = randomScope(random);
        const failures = explanation(scope);
        const paths = new Set(failures.map(({ path }) => path));
        const detail = `${message} on ${JSON.stringify(scope)}: ${JSON.stringify(failures)}`;
        assert.equal(failures.length === 0, naiveHolds(source, scope), detail);
        assert.equal(paths.size, failures.length, detail);
        if (failures.length > 0) assert.ok(naiveHolds(source, scope, { flipped: paths }), detail);
      }
    });
  });

  it("are explained by the values that were compared", () => {
    forRandomCases((source, random, message) => {
      const scope = randomScope(random);
      for (const { path, actual, expected } of compileExplanation(source, environment)(scope)) {
        const argument = at(source, path);
        const operands = Array.isArray(argument) ? argument : [argument];
        const values = operands.map(operand => (Array.isArray(operand) ? null : naiveValue(operand, scope)));
        assert.ok(
          values.some(value => Object.is((value ?? null) as unknown, actual)),
          `${message}: ${path}`,
        );
        assert.ok(expected.length > 0);
      }
    });
  });
});

describe("random JSON", () => {
  const operators = ["all", "any", "not", "eq", "gt", "between", "in", "contains", "exists", "var", "add"];
  const others = ["round", "count", "toString", "__proto__", "constructor", "a/b~c", ""];

  function json(random: Random, levels: number): unknown {
    const several = (): unknown[] =>
      Array.from({ length: random.integer(4) }, () => json(random, levels - 1));
    if (levels > 0 && random.chance(0.5)) {
      const operator = random.pick(random.chance(0.8) ? operators : others);
      return Object.fromEntries([[operator, random.chance(0.7) ? several() : json(random, levels - 1)]]);
    }
    if (levels > 0 && random.chance(0.2)) return several();
    return random.pick([null, true, 0, 1.5, "", "points", "data.p", "name", "toString"]);
  }

  it("either compiles to what never throws, or is refused with pointers into it", () => {
    let refused = 0;
    for (let seed = 1; seed <= seeds; seed++) {
      const random = createRandom(seed);
      const source = json(random, 4);
      for (const compile of [compileCondition, compileExplanation, compileNumber]) {
        try {
          const compiled = compile(source, environment, "/part");
          compiled(randomScope(random));
        } catch (error) {
          assert.ok(error instanceof AppError, `seed ${seed}: ${error}`);
          assert.equal(error.code, "validation_failed");
          for (const { pointer } of error.fields ?? []) {
            const isThere = at({ part: source }, pointer) !== undefined;
            assert.ok(isThere, `seed ${seed}: ${pointer} in ${JSON.stringify(source)}`);
          }
          refused += 1;
        }
      }
    }
    assert.ok(refused > seeds);
  });
});
