/** The table of security requirements is whole, and every test that it names exists. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { files, textOf } from "./files.ts";

/** Requirements of ASVS 5.0 by section: their number, and those of level 3. */
const sections: Readonly<Record<string, readonly [count: number, ...levelThree: number[]]>> = {
  ...{ "1.1": [2], "1.2": [10, 10], "1.3": [12, 12], "1.4": [3], "1.5": [3, 3] },
  ...{ "2.1": [3], "2.2": [3], "2.3": [5, 5], "2.4": [2, 2] },
  ...{ "3.1": [1, 1], "3.2": [3, 3], "3.3": [5, 5], "3.4": [8, 7, 8], "3.5": [8, 6, 7, 8] },
  ...{ "3.6": [1, 1], "3.7": [5, 3, 4, 5] },
  ...{ "4.1": [5, 4, 5], "4.2": [5, 2, 3, 4, 5], "4.3": [2], "4.4": [4] },
  ...{ "5.1": [1], "5.2": [6, 4, 5, 6], "5.3": [3, 3], "5.4": [3] },
  ...{ "6.1": [3], "6.2": [12], "6.3": [8, 5, 6, 7, 8], "6.4": [6, 5, 6], "6.5": [8, 6, 7, 8] },
  ...{ "6.6": [4, 4], "6.7": [2, 1, 2], "6.8": [4] },
  ...{ "7.1": [3], "7.2": [4], "7.3": [2], "7.4": [5], "7.5": [3, 3], "7.6": [2] },
  ...{ "8.1": [4, 3, 4], "8.2": [4, 4], "8.3": [3, 2, 3], "8.4": [2, 2] },
  ...{ "9.1": [3], "9.2": [4] },
  ...{ "10.1": [2], "10.2": [3, 3], "10.3": [5, 5], "10.4": [16, 12, 13, 14, 15, 16] },
  ...{ "10.5": [5], "10.6": [2], "10.7": [3] },
  ...{ "11.1": [4, 3, 4], "11.2": [5, 4, 5], "11.3": [5, 4, 5], "11.4": [4], "11.5": [2, 2] },
  ...{ "11.6": [2, 2], "11.7": [2, 1, 2] },
  ...{ "12.1": [5, 4, 5], "12.2": [2], "12.3": [5, 5] },
  ...{ "13.1": [4, 2, 3, 4], "13.2": [6, 6], "13.3": [4, 3, 4], "13.4": [7, 6, 7] },
  ...{ "14.1": [2], "14.2": [8, 5, 6, 7, 8], "14.3": [3] },
  ...{ "15.1": [5, 4, 5], "15.2": [5, 4, 5], "15.3": [7], "15.4": [4, 1, 2, 3, 4] },
  ...{ "16.1": [1], "16.2": [5], "16.3": [4], "16.4": [3], "16.5": [4, 4] },
};

const expectedIds = Object.entries(sections).flatMap(([section, [count, ...levelThree]]) =>
  Array.from({ length: count }, (_, index) => index + 1)
    .filter(number => !levelThree.includes(number))
    .map(number => `${section}.${number}`),
);
const topTen = Array.from({ length: 10 }, (_, index) => `API${index + 1}`);

const rows = textOf(".github/SECURITY_CHECKS.md")
  .split("\n")
  .map(
    line =>
      /^\| (?<ids>(?:API)?\d[^|]*) \|[^|]*\| (?<proof>.*) \|$/.exec(line.replace(/ +\|/g, " |"))?.groups,
  )
  .filter(row => row !== undefined)
  .map(({ ids = "", proof = "" }) => ({ ids: ids.split(", "), proof }));

const references = rows.flatMap(({ ids, proof }) =>
  [...proof.matchAll(/`(test\/[\w/]+\.test\.ts)`: ((?:"[^"]*"(?:, )?)+)/g)].flatMap(
    ([, file = "", names = ""]) =>
      [...names.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => ({ ids, file, name })),
  ),
);

describe("the table of security requirements", () => {
  it("has each requirement of ASVS up to level 2 and each item of the API Top 10 once", () => {
    const sorted = (ids: readonly string[]): readonly string[] => [...ids].sort();
    assert.deepEqual(sorted(rows.flatMap(({ ids }) => ids)), sorted([...expectedIds, ...topTen]));
  });

  it("has a test for each, or the reason why there is none", () => {
    const isExplained = (proof: string): boolean =>
      /^(?:Does not apply|Operator|Document|Deviation): /.test(proof);
    const unproved = rows.filter(
      ({ ids, proof }) => !isExplained(proof) && !references.some(reference => reference.ids === ids),
    );
    assert.deepEqual(unproved, []);
  });

  it("names tests that exist", () => {
    assert.ok(references.length > 150);
    const missing = references.filter(
      ({ file, name }) => name === "" || !files.includes(file) || !textOf(file).includes(name),
    );
    assert.deepEqual(missing, []);
  });
});
